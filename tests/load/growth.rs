//! `waxwing-load growth`: what a send and a look at `/metrics` cost beside messages that were sent long ago, in turn with
//! a server that has none; and how much the database's file grows with each send.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::args::{GrowthArgs, Mode};
use crate::figures::{Summary, median, millis, ratios};
use crate::round::{self, Burst, Round};
use crate::waxwing::Waxwing;
use crate::{history, metrics};

/// Looks at `/metrics`, of which the median counts.
const LOOKS: usize = 30;

pub async fn measure(args: &GrowthArgs) -> io::Result<Value> {
    let mut steps = Vec::new();
    for &messages in &args.messages {
        steps.push(step(args, messages).await?);
    }
    Ok(json!({
        "protocol": "growth",
        "template": args.template.as_str(),
        "connections": args.connections,
        "sends": args.sends,
        "rounds": args.rounds,
        "steps": steps,
    }))
}

/// Beside so many messages.
async fn step(args: &GrowthArgs, messages: u32) -> io::Result<Value> {
    let with_history = async |data: &Path| history::fill(data, messages).await;
    let empty = Waxwing::start(&args.setup).await?;
    let full = Waxwing::start(&args.setup).await?.changed(with_history).await?;
    let burst = Burst::held(args.template, args.connections, args.sends);
    let (mut with, mut without) = (Vec::<Round>::new(), Vec::<Round>::new());
    let (mut looks, mut looks_without) = (Vec::new(), Vec::new());
    let (ours, theirs) =
        (burst.requests(&full.subject()).await?, burst.requests(&empty.subject()).await?);
    burst.warm_up(&full.subject()).await?;
    burst.warm_up(&empty.subject()).await?;
    let size_before = file_bytes(full.data());
    for _ in 0..args.rounds {
        with.push(round::waxwing(&burst, &full, &ours).await?);
        without.push(round::waxwing(&burst, &empty, &theirs).await?);
    }
    let grown = file_bytes(full.data()).saturating_sub(size_before);
    for _ in 0..LOOKS {
        looks.push(look(&full).await?);
        looks_without.push(look(&empty).await?);
    }
    full.stop().await?;
    empty.stop().await?;
    let sent = u64::from(args.sends) * u64::from(args.rounds);
    Ok(json!({
        "messages": messages,
        "mode": Mode::Hold.as_str(),
        "with": Summary::of(&with).to_json(),
        "without": Summary::of(&without).to_json(),
        "ratios": ratios(&with, &without),
        "metricsMillis": millis(median(looks)),
        "metricsMillisWithout": millis(median(looks_without)),
        "fileBytesPerSend": grown / sent,
    }))
}

async fn look(waxwing: &Waxwing) -> io::Result<Duration> {
    let begin = Instant::now();
    metrics::read(waxwing.subject().address).await?;
    Ok(begin.elapsed())
}

/// The database with what has not been folded into it yet.
fn file_bytes(data: &Path) -> u64 {
    let mut bytes = 0;
    for name in ["waxwing.db", "waxwing.db-wal"] {
        bytes += std::fs::metadata(data.join(name)).map_or(0, |it| it.len());
    }
    bytes
}
