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
    /// How many of each status.
    pub statuses: BTreeMap<u16, u64>,
}

/// Sends `sends` requests over `connections` connections, which are opened first.
pub async fn drive(
    address: SocketAddr,
    requests: &Arc<Requests>,
    connections: u32,
    sends: u32,
) -> io::Result<Answers> {
    let mut open = Vec::new();
    for _ in 0..connections.min(sends) {
        open.push(Connection::open(address).await?);
    }
    let next = Arc::new(AtomicU32::new(0));
    let start = Instant::now();
    let mut running = JoinSet::new();
    for connection in open {
        running.spawn(work(connection, Arc::clone(requests), Arc::clone(&next), sends));
    }
    let mut answers =
        Answers { wall: Duration::ZERO, latencies: Vec::new(), statuses: BTreeMap::new() };
    while let Some(done) = running.join_next().await {
        for (status, micros) in done?? {
            answers.latencies.push(micros);
            *answers.statuses.entry(status).or_default() += 1;
        }
    }
    answers.wall = start.elapsed();
    answers.latencies.sort_unstable();
    Ok(answers)
}

async fn work(
    mut connection: Connection,
    requests: Arc<Requests>,
    next: Arc<AtomicU32>,
    sends: u32,
) -> io::Result<Vec<(u16, u64)>> {
    let mut request = requests.copy();
    let mut answers = Vec::new();
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= sends {
            return Ok(answers);
        }
        requests.number(&mut request, number);
        let start = Instant::now();
        let answer = connection.exchange(&request).await?;
        let micros = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
        answers.push((answer.status, micros));
    }
}
