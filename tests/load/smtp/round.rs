//! One round: a burst of messages at one server, what it cost, and whether all of them are there.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use super::drive::Clients;
use super::target::{Spool, Target};
use crate::args::{Shape, SmtpArgs};
use crate::round::{Journey, Round};
use crate::{figures, metrics, process};

/// What a round sends.
pub struct Burst {
    shape: Shape,
    connections: u32,
    messages: u32,
}

impl Burst {
    pub fn new(args: &SmtpArgs) -> Self {
        let messages = args.messages();
        Self { shape: args.shape, connections: args.connections.min(messages), messages }
    }

    /// Messages that are not measured: buffers grow, JavaScript gets hot, processes are forked.
    pub async fn warm_up(&self, target: &Arc<Target>) -> io::Result<()> {
        let messages = match self.shape {
            Shape::Reused => 4_000,
            Shape::Fresh => 1_000,
        };
        let clients = Clients::ready(target, self.shape, self.connections).await?;
        clients.send(messages).await.map(|_| ())
    }

    /// One round. The server has stored every message, or this is an error.
    pub async fn run(&self, target: &Arc<Target>) -> io::Result<Round> {
        let stored_before = target.spool.count().await?;
        let commits_before = commits(&target.spool).await?;
        let clients = Clients::ready(target, self.shape, self.connections).await?;
        let written_before = process::written(&target.pids)?;
        let (before, own_before) = (process::cpu(&target.pids)?, process::own_cpu()?);
        let answers = clients.send(self.messages).await?;
        let (after, own_after) = (process::cpu(&target.pids)?, process::own_cpu()?);
        let written = process::written(&target.pids)?.saturating_sub(written_before);
        let messages = u64::from(self.messages);
        let stored = target.spool.count().await?.saturating_sub(stored_before);
        if stored != messages {
            let message = format!("{messages} messages were accepted and {stored} are stored");
            return Err(io::Error::other(message));
        }
        let journey = match (commits_before, commits(&target.spool).await?) {
            (Some(before), Some(after)) => Some(Journey {
                commits_in_1000_sends: after.saturating_sub(before) * 1_000 / messages,
                delivered: 0,
                delivered_per_second: 0,
            }),
            (None, _) | (_, None) => None,
        };
        Ok(Round {
            per_second: figures::per_second(messages, answers.wall),
            p50_micros: figures::percentile(&answers.latencies, 50),
            p99_micros: figures::percentile(&answers.latencies, 99),
            cpu_nanos: figures::share(after.saturating_sub(before), messages),
            generator_cpu_nanos: figures::share(own_after.saturating_sub(own_before), messages),
            written: written / messages,
            parts: BTreeMap::new(),
            statuses: answers.statuses,
            journey,
        })
    }
}

/// Transactions since its start, of a server that counts them.
async fn commits(spool: &Spool) -> io::Result<Option<u64>> {
    match spool {
        Spool::Database(http) => metrics::read(*http).await.map(|it| Some(it.commits)),
        Spool::Directory(_) => Ok(None),
    }
}
