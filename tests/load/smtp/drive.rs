//! Many clients that share one count of messages.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::session::Session;
use super::target::Target;
use crate::args::Shape;
use crate::drive::Answers;

/// What a client has before it sends.
enum Client {
    /// A session for all its messages.
    Reused(Box<Session>),
    /// Nothing: each message has a session of its own.
    Fresh,
}

/// Clients that are ready to send.
pub struct Clients {
    target: Arc<Target>,
    clients: Vec<Client>,
}

impl Clients {
    /// Opens and logs in what is used more than once.
    pub async fn ready(target: &Arc<Target>, shape: Shape, count: u32) -> io::Result<Self> {
        let mut clients = Vec::new();
        for _ in 0..count {
            clients.push(match shape {
                Shape::Reused => Client::Reused(Box::new(Session::open(target).await?)),
                Shape::Fresh => Client::Fresh,
            });
        }
        Ok(Self { target: Arc::clone(target), clients })
    }

    /// Sends so many messages. Every one is accepted, or this is an error.
    ///
    /// The latency of a message begins with MAIL, or with the connection where it has its own, and
    /// ends with the reply to the end of data.
    pub async fn send(self, messages: u32) -> io::Result<Answers> {
        let next = Arc::new(AtomicU32::new(0));
        let start = Instant::now();
        let mut running = JoinSet::new();
        for client in self.clients {
            let (target, next) = (Arc::clone(&self.target), Arc::clone(&next));
            running.spawn(work(client, target, next, messages));
        }
        let mut latencies = Vec::new();
        let mut idle = Vec::new();
        while let Some(done) = running.join_next().await {
            let (own, client) = done??;
            latencies.extend(own);
            idle.push(client);
        }
        let wall = start.elapsed();
        latencies.sort_unstable();
        for client in idle {
            client.end().await?;
        }
        let statuses = BTreeMap::from([(250, latencies.len() as u64)]);
        Ok(Answers { wall, latencies, ended: Vec::new(), statuses })
    }
}

impl Client {
    async fn end(self) -> io::Result<()> {
        match self {
            Self::Reused(session) => session.quit().await,
            Self::Fresh => Ok(()),
        }
    }
}

async fn work(
    mut client: Client,
    target: Arc<Target>,
    next: Arc<AtomicU32>,
    messages: u32,
) -> io::Result<(Vec<u64>, Client)> {
    let mut letter = target.letter.clone();
    let mut latencies = Vec::new();
    loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= messages {
            return Ok((latencies, client));
        }
        letter.number(number);
        let start = Instant::now();
        match &mut client {
            Client::Reused(session) => {
                session.send(&letter).await?;
                latencies.push(micros(start.elapsed()));
            }
            Client::Fresh => {
                let mut session = Session::open(&target).await?;
                session.send(&letter).await?;
                latencies.push(micros(start.elapsed()));
                session.quit().await?;
            }
        }
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
