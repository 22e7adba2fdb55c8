//! The limits of the resolver, seen from the name server: many domains are due, and no more comes than
//! the settings allow.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use waxwing_dns::{DnsServer, Fault};

use super::database::Database;
use super::round::begun;
use super::settings::Settings;
use super::watch::Watch;
use crate::args::DomainsArgs;
use crate::server::Installation;
use crate::{figures, process};

/// `[dns] queries_per_second`, and the tenth of them that may go out at once.
const QUERIES: u32 = 200;
const BURST: u32 = QUERIES / 10;
/// `[dns] concurrent`.
const LOOK_UPS: u32 = 16;
/// `[domains] concurrent_checks`, as it is by default.
const CHECKS: u32 = 32;
/// How long each limit is looked at.
const TIME: Duration = Duration::from_secs(10);
/// An answer that takes as long lets look-ups pile up, up to their limit and not to the other one.
const SLOW: Duration = Duration::from_millis(200);
/// What may come a little later than it was sent: a twentieth of a second's queries.
const LATE: u32 = QUERIES / 20;

/// Lets all domains be due, first with a name server that answers at once, then with a slow one. More
/// than is allowed is an error.
pub async fn measure(
    installation: Installation<'_>,
    args: &DomainsArgs,
    dns: &DnsServer,
    database: &mut Database,
) -> io::Result<Value> {
    let settings = Settings {
        name_server: dns.address(),
        concurrent: LOOK_UPS,
        queries_per_second: QUERIES,
        checks: args.checks.unwrap_or(CHECKS),
        log: args.setup.log.clone(),
    };
    database.make_due().await?;
    dns.forget_queries();
    let server = installation.start(&settings).await?;
    begun(dns).await;
    let quick = look_on(dns, server.pid).await?;
    let queries = dns.query_count() as u64;
    dns.fault_everything(Some(Fault::Slow(SLOW)));
    dns.forget_queries();
    let slow = look_on(dns, server.pid).await?;
    let at_once = dns.most_at_once() as u64;
    let peak = process::memory(server.pid)?.peak_kib;
    server.stop().await?;
    dns.fault_everything(None);
    let in_a_second = quick.most_in_a_second.max(slow.most_in_a_second);
    if in_a_second > u64::from(QUERIES + BURST + LATE) || at_once > u64::from(LOOK_UPS) {
        let message = format!("{in_a_second} queries in a second, {at_once} at one time");
        return Err(io::Error::other(message));
    }
    Ok(json!({
        "queriesPerSecondAllowed": QUERIES,
        "atOnceAllowedInThem": BURST,
        "queriesPerSecond": figures::per_second(queries, TIME),
        "mostQueriesInASecond": in_a_second,
        "lookUpsAtOnceAllowed": LOOK_UPS,
        "mostQueriesAtOnce": at_once,
        "peakMemoryMb": figures::mebibytes(peak),
    }))
}

async fn look_on(dns: &DnsServer, pid: u32) -> io::Result<Watch> {
    let mut watch = Watch::default();
    let time = async {
        tokio::time::sleep(TIME).await;
        Ok(())
    };
    watch.during(dns, pid, time).await?;
    Ok(watch)
}
