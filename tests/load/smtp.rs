//! `waxwing-load smtp`: the relay, and another mail server beside it, under the same clients.
//!
//! All servers show the same certificate, sync what they take before they say 250, and hold it back.

mod drive;
mod idle;
mod letter;
mod reply;
mod round;
mod session;
mod target;

use std::io;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::args::{Mode, Pipelining, Resumption, SmtpArgs};
use crate::figures::{self, Summary};
use crate::peers::{Peer, PeerSetup};
use crate::process;
use crate::requests::in_an_hour;
use crate::waxwing::Waxwing;
use round::Burst;

pub use drive::Clients;
pub use letter::{BYTES, Letter};
pub use target::{Login, Spool, Target, tls};

/// Measures what the arguments ask for.
pub async fn measure(args: &SmtpArgs) -> io::Result<Value> {
    let waxwing = Waxwing::start(&args.setup).await?;
    let ours = Arc::new(own_target(args, &waxwing).await?);
    let peer = match args.against {
        Some(kind) => Some(Peer::start(kind, &peer_setup(args, &waxwing)?).await?),
        None => None,
    };
    let theirs = match &peer {
        Some(peer) => Some(Arc::new(peer_target(args, &waxwing, peer)?)),
        None => None,
    };
    let report = match args.idle {
        Some(sessions) => measure_idle(args, sessions, &ours, theirs.as_deref()).await?,
        None => measure_bursts(args, &waxwing, &ours, theirs.as_ref()).await?,
    };
    if let Some(peer) = peer {
        peer.stop().await?;
    }
    waxwing.stop().await?;
    Ok(report)
}

async fn measure_idle(
    args: &SmtpArgs,
    sessions: u32,
    ours: &Target,
    theirs: Option<&Target>,
) -> io::Result<Value> {
    let mut report = json!({"protocol": "smtp", "mode": "idle", "sessions": sessions});
    report["waxwing"] = idle::measure(ours, sessions).await?;
    if let (Some(kind), Some(theirs)) = (args.against, theirs) {
        report[kind.as_str()] = idle::measure(theirs, sessions).await?;
    }
    Ok(report)
}

async fn measure_bursts(
    args: &SmtpArgs,
    waxwing: &Waxwing,
    ours: &Arc<Target>,
    theirs: Option<&Arc<Target>>,
) -> io::Result<Value> {
    let burst = Burst::new(args);
    burst.warm_up(ours).await?;
    if let Some(theirs) = theirs {
        burst.warm_up(theirs).await?;
    }
    let (mut our_rounds, mut their_rounds) = (Vec::new(), Vec::new());
    for _ in 0..args.rounds {
        our_rounds.push(burst.run(ours).await?);
        if let Some(theirs) = theirs {
            their_rounds.push(burst.run(theirs).await?);
        }
    }
    let mut report = json!({
        "protocol": "smtp",
        "mode": Mode::Hold.as_str(),
        "shape": args.shape.as_str(),
        "connections": args.connections,
        "messages": args.messages(),
        "messageBytes": letter::BYTES,
        "pipelining": args.pipelining() == Pipelining::On,
        "resumption": args.resumption() == Resumption::On,
        "rounds": args.rounds,
        "waxwing": Summary::of(&our_rounds).to_json(),
    });
    let peak = process::memory(waxwing.pid())?.peak_kib;
    report["waxwing"]["peakMemoryMb"] = figures::mebibytes(peak).into();
    if let (Some(kind), Some(theirs)) = (args.against, theirs) {
        report[kind.as_str()] = Summary::of(&their_rounds).to_json();
        let divided = process::resident(&theirs.pids)?.divided_kib;
        report[kind.as_str()]["memoryMb"] = figures::mebibytes(divided).into();
        report["ratios"] = figures::ratios(&our_rounds, &their_rounds);
    }
    Ok(report)
}

/// What a peer is started with.
fn peer_setup<'a>(args: &'a SmtpArgs, waxwing: &'a Waxwing) -> io::Result<PeerSetup<'a>> {
    let relay = waxwing.relay()?;
    Ok(PeerSetup {
        setup: &args.setup,
        sessions: args.idle.unwrap_or(args.connections),
        authority: &relay.authority,
        login: Login { user: relay.from.clone(), password: "load".to_owned() },
        relays_to: None,
    })
}

async fn own_target(args: &SmtpArgs, waxwing: &Waxwing) -> io::Result<Target> {
    let (subject, relay) = (waxwing.subject(), waxwing.relay()?);
    let key = subject.api_key.to_owned();
    let hold = format!("X-Waxwing-Send-At: {}\r\n", in_an_hour().await?);
    Ok(Target {
        address: relay.address,
        login: Login { user: key.clone(), password: key }.line(),
        tls: tls(&relay.authority, args.resumption())?,
        pipelining: args.pipelining(),
        letter: Letter::new(&relay.from, &hold),
        pids: subject.pids,
        spool: Spool::Database(subject.address),
    })
}

fn peer_target(args: &SmtpArgs, waxwing: &Waxwing, peer: &Peer) -> io::Result<Target> {
    let relay = waxwing.relay()?;
    Ok(Target {
        address: peer.address(),
        login: peer_setup(args, waxwing)?.login.line(),
        tls: tls(&relay.authority, args.resumption())?,
        pipelining: args.pipelining(),
        letter: Letter::new(&relay.from, ""),
        pids: peer.pids(),
        spool: peer.spool(),
    })
}
