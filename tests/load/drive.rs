//! Many connections that share one count of sends.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::client::Connection;
use crate::requests::Requests;

/// What came back.
pub struct Answers {
    /// From the first request to the last answer.
    pub wall: Duration,
    /// Of every request, in microseconds, ascending.
    pub latencies: Vec<u64>,
    /// When the answer to each send had come, by the send's number; nothing over SMTP.
    pub ended: Vec<(u32, Instant)>,
    /// How many of each status.
    pub statuses: BTreeMap<u16, u64>,
}

/// Sends `sends` requests over `connections` connections, which are opened first; `rate` in a second, or as
/// many as are answered.
pub async fn drive(
    address: SocketAddr,
    requests: &Arc<Requests>,
    connections: u32,
    rate: Option<u32>,
    sends: u32,
) -> io::Result<Answers> {
    let mut open = Vec::new();
    for _ in 0..connections.min(sends) {
        open.push(Connection::open(address).await?);
    }
    let start = Instant::now();
    let pace = Arc::new(Pace { start, rate, sends, next: AtomicU32::new(0) });
    let mut running = JoinSet::new();
    for connection in open {
        running.spawn(work(connection, Arc::clone(requests), Arc::clone(&pace)));
    }
    let (latencies, ended, statuses) = (Vec::new(), Vec::new(), BTreeMap::new());
    let mut answers = Answers { wall: Duration::ZERO, latencies, ended, statuses };
    while let Some(done) = running.join_next().await {
        for Answered { number, status, micros, at } in done?? {
            answers.latencies.push(micros);
            answers.ended.push((number, at));
            *answers.statuses.entry(status).or_default() += 1;
        }
    }
    answers.wall = start.elapsed();
    answers.latencies.sort_unstable();
    Ok(answers)
}

/// One send with its answer.
struct Answered {
    number: u32,
    status: u16,
    micros: u64,
    at: Instant,
}

/// Which send is the next one, and when.
struct Pace {
    start: Instant,
    rate: Option<u32>,
    sends: u32,
    next: AtomicU32,
}

impl Pace {
    /// Waits for the time of the next send; none is left after the last one.
    async fn next(&self) -> Option<u32> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        if number >= self.sends {
            return None;
        }
        if let Some(rate) = self.rate {
            tokio::time::sleep_until((self.start + due(number, rate)).into()).await;
        }
        Some(number)
    }
}

/// When a send of so many a second begins, since the first one.
fn due(number: u32, rate: u32) -> Duration {
    Duration::from_secs(1) * number / rate
}

async fn work(
    mut connection: Connection,
    requests: Arc<Requests>,
    pace: Arc<Pace>,
) -> io::Result<Vec<Answered>> {
    let mut request = Vec::new();
    let mut answers = Vec::new();
    while let Some(number) = pace.next().await {
        requests.write(number, &mut request);
        let start = Instant::now();
        let answer = connection.exchange(&request).await?;
        let at = Instant::now();
        let micros = u64::try_from((at - start).as_micros()).unwrap_or(u64::MAX);
        answers.push(Answered { number, status: answer.status, micros, at });
    }
    Ok(answers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sends_at_a_rate_have_their_time() {
        let due = |number| due(number, 4).as_millis();
        assert_eq!([0, 1, 2, 4_000].map(due), [0, 250, 500, 1_000_000]);
    }
}
