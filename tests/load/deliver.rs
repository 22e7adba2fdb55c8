//! `waxwing-load deliver`: a queue of messages of 2 KiB is emptied into a sink on loopback; in turn with
//! Postfix, which empties its own into the same kind of sink.
//!
//! The clock starts when the messages are released, and stops when the sink has them all. CPU is that of
//! the whole process tree until the queue is empty. Waxwing signs each message with two keys, Postfix none.

pub mod filling;
mod peer;
pub mod plant;
mod settings;

use std::io;
use std::time::Duration;

use serde_json::{Value, json};

use crate::args::{DeliverArgs, Dkim, Relay};
use crate::figures::{self, median};
use crate::{process, smtp};
use filling::{Bodies, Filling, Waiting};
use peer::Postfix;
use plant::{DOMAIN, Plant, taken, written_down};

/// Domains are never looked up: all mail goes to one smarthost.
const NO_NAME_SERVER: &str = "127.0.0.1:9";

/// What one round did.
#[derive(Debug, Clone, Copy)]
pub struct Round {
    pub per_second: u64,
    /// CPU of the whole process tree, for each message.
    pub cpu_nanos: u64,
    /// Connections that the sink saw.
    pub connections: u64,
    pub peak_kib: u64,
}

/// Measures what the arguments ask for.
pub async fn measure(args: &DeliverArgs) -> io::Result<Value> {
    let plant = Plant::new(&args.setup).await?;
    let mut filling = plant.filling().await?;
    if args.dkim == Dkim::Ed25519 {
        filling.drop_rsa_key(DOMAIN).await?;
    }
    let postfix = match args.against {
        Some(Relay::Postfix) => Some(Postfix::start(args, plant.data()).await?),
        None => None,
    };
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..args.rounds {
        ours.push(waxwing(args, &plant, &mut filling).await?);
        if let Some(postfix) = &postfix {
            theirs.push(postfix.round(args.messages).await?);
        }
    }
    let mut report = json!({
        "protocol": "deliver",
        "messages": args.messages,
        "messageBytes": smtp::BYTES,
        "rounds": args.rounds,
        "waxwing": summary(&ours),
    });
    if let Some(postfix) = postfix {
        report["postfix"] = summary(&theirs);
        let ratio = |of: fn(&Round) -> u64| {
            let pairs = ours.iter().zip(&theirs);
            median(pairs.map(|(a, b)| figures::ratio(of(a), of(b))).collect())
        };
        report["ratios"] = json!({
            "messagesPerSecond": ratio(|it| it.per_second),
            "cpu": ratio(|it| it.cpu_nanos),
        });
        postfix.stop().await?;
    }
    Ok(report)
}

async fn waxwing(args: &DeliverArgs, plant: &Plant, filling: &mut Filling) -> io::Result<Round> {
    let messages = args.messages;
    let begun = plant.begin(filling, &[Waiting::for_one_domain(messages)], Bodies::Own).await?;
    process::tell(begun.server.pid, args.pid_file.as_deref())?;
    let end = taken(&plant.sink, messages)
        .await
        .map_err(|error| io::Error::other(format!("{error}\n{}", plant.log())))?;
    written_down(&begun.server).await?;
    let cpu = process::cpu(&[begun.server.pid])?.saturating_sub(begun.cpu);
    let peak_kib = process::memory(begun.server.pid)?.peak_kib;
    let connections = plant.sink.connections();
    begun.server.stop().await?;
    let (waiting, _) = filling.counts().await?;
    if waiting > 0 {
        return Err(io::Error::other(format!("{waiting} messages are left in the queue")));
    }
    Ok(round(messages, end.duration_since(begun.begin), cpu, connections, peak_kib))
}

fn round(messages: u32, wall: Duration, cpu: Duration, connections: usize, peak_kib: u64) -> Round {
    let messages = u64::from(messages);
    Round {
        per_second: figures::per_second(messages, wall),
        cpu_nanos: figures::share(cpu, messages),
        connections: connections as u64,
        peak_kib,
    }
}

fn summary(rounds: &[Round]) -> Value {
    let all = |of: fn(&Round) -> u64| rounds.iter().map(of).collect::<Vec<u64>>();
    json!({
        "messagesPerSecond": median(all(|it| it.per_second)),
        "cpuMicrosPerMessage": median(all(|it| it.cpu_nanos)) / 1_000,
        "connections": median(all(|it| it.connections)),
        "peakMemoryMb": figures::mebibytes(all(|it| it.peak_kib).into_iter().max().unwrap_or(0)),
        "messagesPerSecondOfRounds": all(|it| it.per_second),
    })
}
