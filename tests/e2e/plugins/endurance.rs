//! A thousand reloads leave nothing behind: no memory, no files.

use std::fs;
use std::path::Path;
use std::time::Instant;

use futures_util::future::join_all;
use waxwing_tests::Server;

use super::measure::tell;
use super::{Component, PLAN, of_kind, sent, server};

/// Slots that reload at the same time: the server waits for files to stand still, not for slots.
const SLOTS: [(&str, &str); 4] = [
    (PLAN, ""),
    ("pro-prices", "[binding]\nplan = \"pro\"\n"),
    ("free-prices", "[binding]\nplan = \"free\"\n"),
    ("starter-prices", "[binding]\nplan = \"starter\"\n"),
];
const ROUNDS: usize = 250;
/// From here on memory must stand still: every pool and every table has had its fill.
const WARM: usize = 75;
/// Rounds between two looks at the memory.
const MEASURED: usize = 25;
/// Of each three rounds one brings the first slot a component that was never seen before.
const NEW: usize = 3;
/// What one reload may leave on average. A generation of these is some hundreds of KiB.
const LEFT_BYTES: u64 = 16 << 10;

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_reloads_leave_no_memory_and_no_files_behind() {
    let server = server();
    let guests = [Component::guest("price-one"), Component::guest("price-two")];
    for (slot, config) in SLOTS {
        server.place(&format!("{slot}.toml"), config);
    }
    let start = Instant::now();
    let mut resident = Vec::new();
    for round in 0..ROUNDS {
        let guest = &guests[round % 2];
        let new = guest.marked(&format!("round {round}"));
        let first = if round % NEW == 0 { &new } else { guest };
        join_all(SLOTS.iter().enumerate().map(|(index, (slot, _))| {
            let component = if index == 0 { first } else { guest };
            server.swap(slot, &component.bytes, &component.digest)
        }))
        .await;
        if round % 10 == 0 {
            let decision = sent(&server, round).await;
            let policy = of_kind(&decision, "plan");
            assert_eq!(policy["digest"], guest.digest, "{policy}");
            assert_eq!(policy["slot"], "pro-prices", "{policy}");
        }
        if (round + 1) % MEASURED == 0 {
            resident.push(resident_bytes(&server));
        }
    }
    let took = start.elapsed();
    let (warm, end) = (resident[WARM / MEASURED - 1], resident[ROUNDS / MEASURED - 1]);
    let reloads = u64::try_from((ROUNDS - WARM) * SLOTS.len()).expect("small");
    let compiled = names(&server.data_dir().join("compiled-plugins"));
    let kept = names(&server.data_dir().join("plugin-state/components"));
    let state = names(&server.data_dir().join("plugin-state"));
    let shown: Vec<u64> = resident.iter().map(|bytes| bytes >> 10).collect();
    tell(&format!(
        "{} reloads in {took:?}; KiB resident after each {}: {shown:?}; {} compiled files and {} \
         components kept",
        ROUNDS * SLOTS.len(),
        MEASURED * SLOTS.len(),
        compiled.len(),
        kept.len(),
    ));
    assert!(end.saturating_sub(warm) < reloads * LEFT_BYTES, "{warm} bytes became {end}");
    // More were compiled than are kept.
    assert!(compiled.len() <= 64 && ROUNDS / NEW > 64, "{compiled:?}");
    // Two a slot at most, and the spare ones.
    assert!(kept.len() <= 2 * SLOTS.len() + 8, "{kept:?}");
    assert!(state.len() <= SLOTS.len() + 1 + 2, "a file a slot: {state:?}");
}

fn resident_bytes(server: &Server) -> u64 {
    let id = server.process_id().expect("the server runs");
    let status =
        fs::read_to_string(format!("/proc/{id}/status")).expect("Linux tells of its processes");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a size");
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kib << 10
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a folder");
    entries.map(|it| it.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}
