//! The load generator: starts the release server on loopback, drives it over HTTP or SMTP, and prints
//! one line of JSON. It is bounded in count and in time, and ends only what it started.

mod accounts;
mod args;
mod churn;
mod claims;
mod client;
mod deliver;
mod domains;
mod drive;
mod figures;
mod growth;
mod history;
mod metrics;
mod neighbours;
mod nodes;
mod pages;
mod peers;
mod postgres;
mod process;
mod queue;
mod requests;
mod round;
mod server;
mod smtp;
mod start;
mod swap;
mod transit;
mod waxwing;

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use args::{Args, CommandLine, Protocol};
use figures::Summary;
use peers::accept::Backend;
use peers::floor;
use round::Burst;
use swap::Swapper;
use waxwing::Waxwing;

/// What a swap left to do is done before the next round.
const SETTLE: Duration = Duration::from_secs(2);

fn main() -> ExitCode {
    let command_line = CommandLine::parse();
    let done = match &command_line.protocol {
        Some(Protocol::Floor(args)) => floor::serve(args),
        Some(_) | None => measured(&command_line).map(|line| print(&line)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            explain(&error);
            ExitCode::FAILURE
        }
    }
}

// One thread: the generator shares two cores with the server, and must not take both.
#[tokio::main(flavor = "current_thread")]
async fn measured(command_line: &CommandLine) -> io::Result<Value> {
    bounded(command_line).await
}

/// Measures until it is done, the time is up, or somebody stops it. What was started ends with it.
async fn bounded(command_line: &CommandLine) -> io::Result<Value> {
    let mut terminate = signal(SignalKind::terminate())?;
    let setup = command_line.setup();
    let measuring = async {
        match &command_line.protocol {
            Some(Protocol::Smtp(args)) => Box::pin(smtp::measure(args)).await,
            Some(Protocol::Domains(args)) => Box::pin(domains::measure(args)).await,
            Some(Protocol::Deliver(args)) => Box::pin(deliver::measure(args)).await,
            Some(Protocol::Queue(args)) => Box::pin(queue::measure(args)).await,
            Some(Protocol::Neighbours(args)) => Box::pin(neighbours::measure(args)).await,
            Some(Protocol::Accounts(args)) => Box::pin(accounts::measure(args)).await,
            Some(Protocol::Pages(args)) => Box::pin(pages::measure(args)).await,
            Some(Protocol::Transit(args)) => Box::pin(transit::measure(args)).await,
            Some(Protocol::Growth(args)) => Box::pin(growth::measure(args)).await,
            Some(Protocol::Nodes(args)) => Box::pin(nodes::measure(args)).await,
            Some(Protocol::Claims(args)) => Box::pin(claims::measure(args)).await,
            Some(Protocol::Churn(args)) => Box::pin(churn::measure(args)).await,
            Some(Protocol::Floor(_)) | None => Box::pin(measure(&command_line.http)).await,
        }
    };
    tokio::select! {
        measured = measuring => measured,
        () = tokio::time::sleep(setup.time()) => {
            Err(io::Error::other(format!("not done after {} s; see --seconds", setup.seconds)))
        }
        _ = tokio::signal::ctrl_c() => Err(io::ErrorKind::Interrupted.into()),
        _ = terminate.recv() => Err(io::ErrorKind::Interrupted.into()),
    }
}

async fn measure(args: &Args) -> io::Result<Value> {
    let waxwing = Waxwing::start(&args.setup).await?;
    let idle = process::memory(waxwing.pid())?;
    let peer = match args.against {
        Some(kind) => Some(Backend::start(kind, args).await?),
        None => None,
    };
    let burst = Burst::new(args);
    burst.warm_up(&waxwing.subject()).await?;
    round::drained(args.mode(), waxwing.subject().address).await?;
    if let Some(peer) = &peer {
        burst.warm_up(&peer.subject()).await?;
    }
    // The key stays the same; the time to which sends are held back is an hour from here.
    let requests = burst.requests(&waxwing.subject()).await?;
    process::tell(waxwing.pid(), args.pid_file.as_deref())?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut swapped = Vec::new();
    let mut swapping = match args.swap {
        Some(pause) => Some((Swapper::new(waxwing.data())?, Duration::from_millis(pause))),
        None => None,
    };
    for _ in 0..args.rounds {
        ours.push(round::waxwing(&burst, &waxwing, &requests).await?);
        if let Some((swapper, pause)) = &mut swapping {
            tokio::select! {
                round = round::waxwing(&burst, &waxwing, &requests) => swapped.push(round?),
                ended = swapper.run(*pause) => ended?,
            }
            tokio::time::sleep(SETTLE).await;
        }
        if let Some(peer) = &peer {
            theirs.push(round::peer(&burst, peer).await?);
        }
    }
    let ours_at_peak = process::memory(waxwing.pid())?;
    let mut report = json!({
        "template": args.template.as_str(),
        "mode": args.mode().as_str(),
        "connections": args.connections,
        "ratePerSecond": args.rate,
        "sends": args.sends,
        "rounds": args.rounds,
        "waxwing": Summary::of(&ours).to_json(),
    });
    report["waxwing"]["firstStartMs"] = figures::millis(waxwing.first_start).into();
    report["waxwing"]["startMs"] = figures::millis(waxwing.start).into();
    report["waxwing"]["idleMemoryMb"] = figures::mebibytes(idle.resident_kib).into();
    report["waxwing"]["idleMemoryWithoutFilesMb"] =
        figures::mebibytes(idle.kib_without_files).into();
    report["waxwing"]["peakMemoryMb"] = figures::mebibytes(ours_at_peak.peak_kib).into();
    report["waxwing"]["memoryWithoutFilesMb"] =
        figures::mebibytes(ours_at_peak.kib_without_files).into();
    if let Some((swapper, _)) = &swapping {
        report["swapping"] = Summary::of(&swapped).to_json();
        report["swapping"]["swaps"] = swapper.count().into();
        report["ratios"] = figures::ratios(&swapped, &ours);
    }
    if let Some(peer) = peer {
        let (name, peak_kib) = (peer.kind.as_str(), peer.peak_kib()?);
        report[name] = Summary::of(&theirs).to_json();
        report[name]["peakMemoryMb"] = figures::mebibytes(peak_kib).into();
        report["ratios"] = figures::ratios(&ours, &theirs);
        report["ratios"]["peakMemory"] = figures::ratio(ours_at_peak.peak_kib, peak_kib).into();
        peer.stop().await?;
    }
    waxwing.stop().await?;
    Ok(report)
}

#[expect(clippy::print_stdout, reason = "the line is what the program is for")]
fn print(line: &Value) {
    println!("{line}");
}

#[expect(clippy::print_stderr, reason = "a command tells its user why it failed")]
fn explain(error: &io::Error) {
    eprintln!("waxwing-load: {error}");
}
