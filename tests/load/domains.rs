//! `waxwing-load domains`: many sender domains are due for a check at one time.
//!
//! A name server in this process says the right thing of every domain. In turn with the server's
//! checks, a plain resolver in this process makes the same queries, as many at one time.

mod bounded;
mod by_hand;
mod counters;
mod database;
mod round;
mod settings;
mod watch;
mod zone;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use waxwing_dns::DnsServer;

use crate::args::DomainsArgs;
use crate::figures::{mebibytes, median};
use crate::server::Installation;
use crate::{process, waxwing};
use by_hand::{ByHand, HandRound};
use database::Database;
use round::{Course, Round};
use settings::Settings;
use zone::{ORIGINAL, Publication, Question};

/// The server is idle when it has had that long to itself.
const SETTLE: Duration = Duration::from_secs(1);

/// Measures what the arguments ask for.
pub async fn measure(args: &DomainsArgs) -> io::Result<Value> {
    let binary = waxwing::binary(&args.setup).await?;
    let directory = args.setup.work_dir()?;
    let installation = Installation { binary: &binary, data: directory.path() };
    let dns = DnsServer::start().await;
    let settings = Settings {
        name_server: dns.address(),
        concurrent: args.concurrent,
        queries_per_second: args.per_second,
        checks: args.checks.unwrap_or(args.concurrent),
        log: args.setup.log.clone(),
    };
    let (mut database, questions) = prepare(installation, &settings, &dns, args.domains).await?;
    let server = installation.start(&settings).await?;
    tokio::time::sleep(SETTLE).await;
    let start = process::memory(server.pid)?;
    let course = Course { dns: &dns, server: &server, domains: args.domains };
    let by_hand = Arc::new(ByHand::new(dns.address(), &questions, args.concurrent)?);
    let first = course.round(&mut database, 1).await?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..args.rounds {
        ours.push(course.round(&mut database, round + 2).await?);
        theirs.push(by_hand.round(&dns, args.domains).await?);
    }
    let end = process::memory(server.pid)?;
    server.stop().await?;
    let mut report = json!({
        "protocol": "dns",
        "domains": args.domains,
        "concurrent": args.concurrent,
        "checksAtOnce": settings.checks,
        "rounds": args.rounds,
        "questionsPerCheck": questions.len(),
        "becomeVerified": summary(std::slice::from_ref(&first), args.domains),
        "waxwing": summary(&ours, args.domains),
        "byHand": hand_summary(&theirs),
        "percentOfByHand": percent(&ours, &theirs),
    });
    let samples = std::iter::once(&first).chain(&ours).flat_map(|it| &it.resident_kib);
    report["memoryMb"] = json!({
        "start": mebibytes(start.resident_kib),
        "everyFiveSeconds": samples.copied().map(mebibytes).collect::<Vec<_>>(),
        "end": mebibytes(end.resident_kib),
        "highest": mebibytes(end.peak_kib),
    });
    report["bounded"] = bounded::measure(installation, args, &dns, &mut database).await?;
    Ok(report)
}

/// A data directory with so many domains, none of which is due; and what a check asks for.
async fn prepare(
    installation: Installation<'_>,
    settings: &Settings,
    dns: &DnsServer,
    domains: u32,
) -> io::Result<(Database, Vec<Question>)> {
    let server = installation.start(settings).await?;
    let account = server.account.clone();
    server.stop().await?;
    let of_original = async |word| {
        let arguments = ["domain", word, "--account", &account, ORIGINAL];
        installation.command(settings, &arguments).await
    };
    of_original("add").await?;
    Publication::of(&of_original("records").await?)?.serve(dns);
    let mut database = Database::open(installation.data).await?;
    database.copy_original(domains).await?;
    dns.forget_queries();
    let checked = of_original("check").await?;
    if checked["progress"] != 100 {
        return Err(io::Error::other(format!("the original is not verified: {checked}")));
    }
    let questions = Question::all(&dns.queries())?;
    database.remove_original().await?;
    Ok((database, questions))
}

/// Medians, and the highest of what is bounded.
fn summary(rounds: &[Round], domains: u32) -> Value {
    let all = |of: fn(&Round) -> u64| rounds.iter().map(of).collect::<Vec<u64>>();
    let highest = |of: fn(&Round) -> u64| rounds.iter().map(of).max();
    let queries = median(all(|it| it.queries));
    json!({
        "checksPerSecond": median(all(|it| it.checks_per_second)),
        "cpuMicrosPerCheck": median(all(|it| it.cpu_nanos)) / 1_000,
        "lookUpsIn1000Checks": queries * 1_000 / u64::from(domains),
        "lookUpsPerSecond": median(all(|it| it.queries_per_second)),
        "mostQueriesInASecond": highest(|it| it.most_queries_in_a_second),
        "mostQueriesAtOnce": highest(|it| it.most_queries_at_once),
        "timedOut": all(|it| it.timed_out).iter().sum::<u64>(),
        "checksPerSecondOfRounds": all(|it| it.checks_per_second),
    })
}

fn hand_summary(rounds: &[HandRound]) -> Value {
    let all = |of: fn(&HandRound) -> u64| rounds.iter().map(of).collect::<Vec<u64>>();
    json!({
        "checksPerSecond": median(all(|it| it.checks_per_second)),
        "cpuMicrosPerCheck": median(all(|it| it.cpu_nanos)) / 1_000,
        "lookUpsPerSecond": median(all(|it| it.queries_per_second)),
        "checksPerSecondOfRounds": all(|it| it.checks_per_second),
    })
}

/// Each round against the round beside it; medians.
fn percent(ours: &[Round], theirs: &[HandRound]) -> Value {
    let pairs = || ours.iter().zip(theirs);
    let percent = |a: u64, b: u64| 100 * a / b.max(1);
    let speed = pairs().map(|(a, b)| percent(a.checks_per_second, b.checks_per_second));
    let cpu = pairs().map(|(a, b)| percent(a.cpu_nanos, b.cpu_nanos));
    json!({"checksPerSecond": median(speed.collect()), "cpu": median(cpu.collect())})
}
