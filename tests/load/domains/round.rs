//! One round: every domain is due at one time, and is checked.

use std::io;
use std::time::{Duration, Instant};

use waxwing_dns::DnsServer;

use super::counters;
use super::database::Database;
use super::watch::Watch;
use crate::server::Server;
use crate::{figures, process};

const POLL: Duration = Duration::from_millis(50);
/// A server that has written no check down for so long is stuck.
const STUCK: Duration = Duration::from_secs(20);
/// The server notices within seconds that domains are due.
const FIRST_POLL: Duration = Duration::from_millis(1);

/// What one round did.
#[derive(Debug)]
pub struct Round {
    pub checks_per_second: u64,
    /// CPU of the server, for each check.
    pub cpu_nanos: u64,
    /// Queries that came to the name server.
    pub queries: u64,
    pub queries_per_second: u64,
    pub most_queries_in_a_second: u64,
    pub most_queries_at_once: u64,
    pub timed_out: u64,
    pub resident_kib: Vec<u64>,
}

/// Where rounds take place.
pub struct Course<'a> {
    pub dns: &'a DnsServer,
    pub server: &'a Server,
    pub domains: u32,
}

impl Course<'_> {
    /// One round. Every domain is verified after its check, or this is an error. `checks` is how often
    /// each will have been checked.
    pub async fn round(&self, database: &mut Database, checks: u32) -> io::Result<Round> {
        let Self { dns, server, domains } = self;
        let (domains, pids) = (u64::from(*domains), [server.pid]);
        dns.forget_queries();
        let (before, cpu_before) = (counters::read(server.address).await?, process::cpu(&pids)?);
        database.make_due().await?;
        let mut watch = Watch::default();
        let working = async {
            begun(dns).await;
            let start = Instant::now();
            let (mut done, mut moved) = (0, start);
            loop {
                let now = counters::read(server.address).await?;
                let checks = now.checks.saturating_sub(before.checks);
                if checks >= domains {
                    return Ok((start.elapsed(), now));
                }
                if checks > done {
                    (done, moved) = (checks, Instant::now());
                } else if moved.elapsed() > STUCK {
                    let message = format!("stuck after {done} of {domains} checks");
                    return Err(io::Error::other(message));
                }
                tokio::time::sleep(POLL).await;
            }
        };
        let (wall, after) = watch.during(dns, server.pid, working).await?;
        let cpu = process::cpu(&pids)?.saturating_sub(cpu_before);
        let verified = database.verified(checks).await?;
        if verified != domains {
            let message = format!("{verified} of {domains} domains are verified");
            return Err(io::Error::other(message));
        }
        let queries = dns.query_count() as u64;
        Ok(Round {
            checks_per_second: figures::per_second(domains, wall),
            cpu_nanos: figures::share(cpu, domains),
            queries,
            queries_per_second: figures::per_second(queries, wall),
            most_queries_in_a_second: watch.most_in_a_second,
            most_queries_at_once: dns.most_at_once() as u64,
            timed_out: after.timed_out.saturating_sub(before.timed_out),
            resident_kib: watch.resident_kib,
        })
    }
}

/// Waits for the first query.
pub async fn begun(dns: &DnsServer) {
    while dns.query_count() == 0 {
        tokio::time::sleep(FIRST_POLL).await;
    }
}
