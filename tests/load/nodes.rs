//! `waxwing-load nodes`: what sends cost on one, two and three servers over one PostgreSQL, in turn with a server on a
//! file of SQLite, and with the best transactions of the same rows by `pgbench`.
//!
//! All servers run from the first round to the last, and some of them are sent to. A transaction of `pgbench` has as many
//! sends as a commit of the servers had just before, and as many sessions commit as servers did.

mod group;
mod servers;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::accounts::{Opening, slug};
use crate::args::{Mode, NodesArgs};
use crate::figures::{self, Summary, median};
use crate::postgres::{Bench, Database};
use crate::requests::Requests;
use crate::round::{self, Burst, Round};
use crate::waxwing::Waxwing;
use group::Sample;
pub use servers::{OnPostgres, Servers};

/// Sends before the first round.
const WARM_UP: u32 = 8_000;
/// Servers are idle when they have had that long to themselves.
const SETTLE: Duration = Duration::from_secs(1);

/// What was measured with one number of servers.
#[derive(Default)]
struct Step {
    servers: u32,
    ours: Vec<Round>,
    peer: Vec<Peer>,
}

/// A round of `pgbench`.
struct Peer {
    group: u64,
    sends_per_second: u64,
    /// CPU of the database for each send, in nanoseconds.
    cpu_nanos: u64,
}

pub async fn measure(args: &NodesArgs) -> io::Result<Value> {
    let most = args.nodes.iter().copied().max().unwrap_or(1);
    let database = Database::start(&args.setup)?;
    let servers = Servers::start(&args.setup, &database, most).await?;
    let file = Waxwing::start(&args.setup).await?;
    let subject = file.subject();
    let file_requests = requests(args, subject.address, subject.api_key).await?;
    let first = servers.first()?;
    let server_requests = requests(args, first.address, &first.api_key).await?;
    tokio::time::sleep(SETTLE).await;
    let burst = Burst::held(args.template, args.connections, args.sends);
    let warm_up = Burst::held(args.template, args.connections, WARM_UP);
    round::waxwing(&warm_up, &file, &file_requests).await?;
    servers.round(most, &server_requests, (args.connections, WARM_UP)).await?;
    let sample = Sample::take(&database).await?;
    let mut on_file = Vec::new();
    let step = |servers: &u32| Step { servers: *servers, ..Step::default() };
    let mut steps: Vec<Step> = args.nodes.iter().map(step).collect();
    for _ in 0..args.rounds {
        on_file.push(round::waxwing(&burst, &file, &file_requests).await?);
        for step in &mut steps {
            let load = (args.connections, args.sends);
            let round = servers.round(step.servers, &server_requests, load).await?;
            let group = args.group.map_or_else(|| sends_per_commit(&round), u64::from);
            step.ours.push(round);
            step.peer.push(bench(args, &database, &sample, (step.servers, group)).await?);
        }
    }
    let settings = database.settings().await?;
    servers.stop().await?;
    file.stop().await?;
    let report: Vec<Value> = steps.iter().map(|it| it.to_json(&steps, &on_file)).collect();
    Ok(json!({
        "protocol": "nodes",
        "template": args.template.as_str(),
        "connectionsOfEach": args.connections,
        "sends": args.sends,
        "rounds": args.rounds,
        "postgres": settings,
        "sample": sample.to_json(),
        "file": Summary::of(&on_file).to_json(),
        "nodes": report,
    }))
}

/// Opens the accounts at a server; the requests to send for them.
async fn requests(
    args: &NodesArgs,
    address: SocketAddr,
    operator: &str,
) -> io::Result<Arc<Requests>> {
    let (accounts, template) = (args.accounts, args.template);
    let opened = Opening { address, operator, accounts, templates: 1, template }.open_all().await?;
    let all: Vec<(&str, String)> = opened.iter().map(|it| (it.key.as_str(), slug(0))).collect();
    Requests::of_templates(template, Mode::Hold, &all).await.map(Arc::new)
}

/// How many sends one commit had in the middle, at least one.
fn sends_per_commit(round: &Round) -> u64 {
    let commits = round.journey.map_or(1_000, |it| it.commits_in_1000_sends);
    (1_000 / commits.max(1)).max(1)
}

/// Runs as many sends by `pgbench`, with as many sessions as there were servers.
async fn bench(
    args: &NodesArgs,
    database: &Database,
    sample: &Sample,
    (clients, group): (u32, u64),
) -> io::Result<Peer> {
    let each = u64::from(args.sends) / (group * u64::from(clients));
    let transactions = u32::try_from(each.max(1)).map_err(io::Error::other)?;
    let script = sample.script(group);
    let benched = database.bench(&Bench { script: &script, clients, transactions }).await?;
    let sends = group * u64::from(clients) * u64::from(transactions);
    Ok(Peer {
        group,
        sends_per_second: benched.transactions_in_1000_s * group / 1_000,
        cpu_nanos: figures::share(benched.cpu, sends),
    })
}

impl Step {
    /// `all` begins with the fewest servers.
    fn to_json(&self, all: &[Step], on_file: &[Round]) -> Value {
        let sends = |rounds: &[Round]| rounds.iter().map(|it| it.per_second).collect::<Vec<_>>();
        let database =
            |rounds: &[Round]| rounds.iter().map(servers::database_nanos).collect::<Vec<_>>();
        let of_peer = |value: fn(&Peer) -> u64| self.peer.iter().map(value).collect::<Vec<_>>();
        let first = all.first().map_or(&[][..], |it| it.ours.as_slice());
        json!({
            "servers": self.servers,
            "waxwing": Summary::of(&self.ours).to_json(),
            "pgbench": {
                "sendsPerTransaction": median(of_peer(|it| it.group)),
                "sendsPerSecond": median(of_peer(|it| it.sends_per_second)),
                "databaseCpuMicrosPerSend": figures::micros(median(of_peer(|it| it.cpu_nanos))),
                "sendsPerSecondOfRounds": of_peer(|it| it.sends_per_second),
            },
            "ratios": {
                "sendsPerSecondOfPgbench": ratio(&sends(&self.ours), &of_peer(|it| it.sends_per_second)),
                "databaseCpuOfPgbench": ratio(&database(&self.ours), &of_peer(|it| it.cpu_nanos)),
                "sendsPerSecondOfFile": ratio(&sends(&self.ours), &sends(on_file)),
                "sendsPerSecondOfFirst": ratio(&sends(&self.ours), &sends(first)),
                "databaseCpuOfFirst": ratio(&database(&self.ours), &database(first)),
            },
        })
    }
}

/// Each round against the one beside it; the median.
fn ratio(ours: &[u64], theirs: &[u64]) -> f64 {
    median(ours.iter().zip(theirs).map(|(a, b)| figures::ratio(*a, *b)).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::round::Journey;

    fn round(per_second: u64, database: u64, commits_in_1000_sends: u64) -> Round {
        Round {
            per_second,
            p50_micros: 1,
            p99_micros: 1,
            cpu_nanos: 2 * database,
            generator_cpu_nanos: 0,
            written: 1,
            parts: BTreeMap::from([(servers::DATABASE, database)]),
            statuses: BTreeMap::from([(201, 1)]),
            journey: Some(Journey { commits_in_1000_sends, delivered: 0, delivered_per_second: 0 }),
        }
    }

    #[test]
    fn a_step_is_held_against_pgbench_the_file_and_the_first_step() {
        let peer = || vec![Peer { group: 25, sends_per_second: 5_000, cpu_nanos: 50 }];
        let one = Step { servers: 1, ours: vec![round(2_000, 100, 40)], peer: peer() };
        let two = Step { servers: 2, ours: vec![round(4_000, 150, 40)], peer: peer() };
        let all = [one, two];
        let line = all[1].to_json(&all, &[round(8_000, 0, 40)]);
        let expected = json!({
            "sendsPerSecondOfPgbench": 0.8,
            "databaseCpuOfPgbench": 3.0,
            "sendsPerSecondOfFile": 0.5,
            "sendsPerSecondOfFirst": 2.0,
            "databaseCpuOfFirst": 1.5,
        });
        assert_eq!(line["ratios"], expected);
    }

    #[test]
    fn a_group_has_as_many_sends_as_a_commit_had() {
        assert_eq!(sends_per_commit(&round(1, 1, 40)), 25);
        assert_eq!(sends_per_commit(&round(1, 1, 0)), 1_000);
        assert_eq!(sends_per_commit(&round(1, 1, 2_000)), 1);
    }
}
