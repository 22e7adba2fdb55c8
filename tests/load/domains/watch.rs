//! Looks on while a server works: what comes to the name server, and the memory of the process.

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use waxwing_dns::DnsServer;

use crate::process;

const EVERY: Duration = Duration::from_millis(5);
const MEMORY_EVERY: Duration = Duration::from_secs(5);
const SECOND: Duration = Duration::from_secs(1);

/// What was seen so far.
#[derive(Debug, Default)]
pub struct Watch {
    /// The most queries within one second.
    pub most_in_a_second: u64,
    /// Resident memory, every few seconds.
    pub resident_kib: Vec<u64>,
    /// How many queries had come when, for a second back.
    counts: VecDeque<(Instant, u64)>,
}

impl Watch {
    /// Looks on while `work` is done.
    pub async fn during<T>(
        &mut self,
        dns: &DnsServer,
        pid: u32,
        work: impl Future<Output = io::Result<T>>,
    ) -> io::Result<T> {
        tokio::select! {
            done = work => done,
            failed = self.look_on(dns, pid) => Err(failed),
        }
    }

    /// Until the process is gone.
    async fn look_on(&mut self, dns: &DnsServer, pid: u32) -> io::Error {
        let mut memory_at = Instant::now();
        loop {
            let now = Instant::now();
            self.count(now, dns.query_count() as u64);
            if now >= memory_at {
                match process::memory(pid) {
                    Ok(memory) => self.resident_kib.push(memory.resident_kib),
                    Err(error) => return error,
                }
                memory_at = now + MEMORY_EVERY;
            }
            tokio::time::sleep(EVERY).await;
        }
    }

    fn count(&mut self, now: Instant, count: u64) {
        while self.counts.front().is_some_and(|(at, _)| now.duration_since(*at) > SECOND) {
            self.counts.pop_front();
        }
        let before = self.counts.front().map_or(count, |(_, count)| *count);
        self.most_in_a_second = self.most_in_a_second.max(count.saturating_sub(before));
        self.counts.push_back((now, count));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_second_counts_wherever_it_begins() {
        let (mut watch, start) = (Watch::default(), Instant::now());
        for (millis, count) in [(0, 0), (900, 10), (1_100, 30), (1_800, 35), (2_300, 36)] {
            watch.count(start + Duration::from_millis(millis), count);
        }
        assert_eq!(watch.most_in_a_second, 25);
    }
}
