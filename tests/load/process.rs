//! What processes use, from `/proc`.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::time::Duration;

/// `sysconf(_SC_CLK_TCK)` is 100 on every Linux that runs this.
const TICK: Duration = Duration::from_millis(10);

/// Memory of one process.
#[derive(Debug, Clone, Copy, Default)]
pub struct Memory {
    /// In memory now.
    pub resident_kib: u64,
    /// In memory at most, so far.
    pub peak_kib: u64,
}

/// One line of `/proc/<pid>/stat`.
struct Stat {
    pid: u32,
    parent: u32,
    ticks: u32,
}

/// CPU time, user and system, of these processes and all that descend from them.
pub fn cpu(roots: &[u32]) -> io::Result<Duration> {
    let stats = stats()?;
    let tree = tree(&stats, roots);
    Ok(stats.iter().filter(|it| tree.contains(&it.pid)).map(|it| TICK * it.ticks).sum())
}

/// CPU time of this process alone.
pub fn own_cpu() -> io::Result<Duration> {
    let stat = parse(std::process::id(), &fs::read_to_string("/proc/self/stat")?);
    Ok(stat.map_or(Duration::ZERO, |stat| TICK * stat.ticks))
}

/// Peak memory of these processes and all that descend from them, added up.
pub fn peak_kib(roots: &[u32]) -> io::Result<u64> {
    let tree = tree(&stats()?, roots);
    tree.into_iter().map(|pid| memory(pid).map(|it| it.peak_kib)).sum()
}

/// Memory of one process.
pub fn memory(pid: u32) -> io::Result<Memory> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let kib = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
    };
    Ok(Memory { resident_kib: kib("VmRSS:"), peak_kib: kib("VmHWM:") })
}

fn tree(stats: &[Stat], roots: &[u32]) -> BTreeSet<u32> {
    let mut tree: BTreeSet<u32> = roots.iter().copied().collect();
    loop {
        let before = tree.len();
        let children = stats.iter().filter(|it| tree.contains(&it.parent)).map(|it| it.pid);
        let children: Vec<u32> = children.collect();
        tree.extend(children);
        if tree.len() == before {
            return tree;
        }
    }
}

fn stats() -> io::Result<Vec<Stat>> {
    let mut stats = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        // A process may have ended since the directory was read.
        let Ok(line) = fs::read_to_string(format!("/proc/{pid}/stat")) else { continue };
        stats.extend(parse(pid, &line));
    }
    Ok(stats)
}

/// proc(5): fields 4, 14 and 15; the name in field 2 may hold spaces and brackets.
fn parse(pid: u32, line: &str) -> Option<Stat> {
    let fields: Vec<&str> = line.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u32>().ok();
    Some(Stat { pid, parent: field(4)?, ticks: field(14)?.checked_add(field(15)?)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_shift_the_fields() {
        let line = "7 (a) b) S 3 7 7 0 -1 4194560 1 2 3 4 50 6 0 0 20 0";
        let stat = parse(7, line).expect("parsed");
        assert_eq!((stat.parent, stat.ticks), (3, 56));
    }

    #[test]
    fn this_process_uses_memory() {
        assert!(memory(std::process::id()).expect("readable").peak_kib > 0);
    }
}
