//! Servers on one PostgreSQL, each with a data directory of its own.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::args::Setup;
use crate::drive::drive;
use crate::postgres::Database;
use crate::requests::Requests;
use crate::round::{Journey, Round};
use crate::server::{Installation, Server, Settings};
use crate::waxwing::{STORE_URL, binary};
use crate::{figures, metrics, process};

/// What of a round's CPU is whose.
pub const DATABASE: &str = "database";
const SERVERS: &str = "servers";
/// Without it no further server opens the database.
const MASTER_KEY: &str = "master.key";

/// Servers that run.
pub struct Servers {
    running: Vec<Server>,
    /// The first process of the database.
    database: u32,
    _data: Vec<TempDir>,
}

/// What each of them is started with.
pub struct OnPostgres {
    url: String,
    name: String,
    log: String,
}

impl OnPostgres {
    pub fn new(setup: &Setup, database: &Database, number: u32) -> Self {
        Self {
            url: database.url().to_owned(),
            name: format!("load-{number}"),
            log: setup.log.clone(),
        }
    }
}

impl Settings for OnPostgres {
    fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            (STORE_URL, self.url.clone()),
            ("WAXWING_NODE__NAME", self.name.clone()),
            ("WAXWING_LOG__FILTER", self.log.clone()),
        ]
    }
}

impl Servers {
    /// Starts so many.
    pub async fn start(setup: &Setup, database: &Database, count: u32) -> io::Result<Self> {
        let binary = binary(setup).await?;
        let (mut running, mut data) = (Vec::new(), Vec::<TempDir>::new());
        for number in 1..=count {
            let directory = setup.work_dir()?;
            if let Some(first) = data.first() {
                fs::copy(first.path().join(MASTER_KEY), directory.path().join(MASTER_KEY))?;
            }
            let settings = OnPostgres::new(setup, database, number);
            let installation = Installation { binary: &binary, data: directory.path() };
            running.push(installation.start(&settings).await?);
            data.push(directory);
        }
        Ok(Self { running, database: database.pid(), _data: data })
    }

    pub fn first(&self) -> io::Result<&Server> {
        self.running.first().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Sends to the first so many of them at one time, each over so many connections; the messages are counted over all.
    pub async fn round(
        &self,
        servers: u32,
        requests: &Arc<Requests>,
        (connections, sends): (u32, u32),
    ) -> io::Result<Round> {
        let of_round = || self.running.iter().take(servers as usize);
        let pids: Vec<u32> = of_round().map(|it| it.pid).collect();
        let all: Vec<u32> = pids.iter().copied().chain([self.database]).collect();
        let each = sends / servers;
        let sends = u64::from(each) * u64::from(servers);
        let before = [process::cpu(&pids)?, process::cpu(&[self.database])?, process::own_cpu()?];
        let (written_before, commits_before) =
            (process::written(&all)?, self.commits(servers).await?);
        let mut running = JoinSet::new();
        for server in of_round() {
            let (address, requests) = (server.address, Arc::clone(requests));
            running.spawn(async move { drive(address, &requests, connections, None, each).await });
        }
        let (mut wall, mut latencies) = (Duration::ZERO, Vec::new());
        let mut statuses: BTreeMap<u16, u64> = BTreeMap::new();
        while let Some(done) = running.join_next().await {
            let answers = done??;
            wall = wall.max(answers.wall);
            latencies.extend(answers.latencies);
            for (status, count) in answers.statuses {
                *statuses.entry(status).or_default() += count;
            }
        }
        latencies.sort_unstable();
        let own = figures::share(process::own_cpu()?.saturating_sub(before[2]), sends);
        let of_servers = figures::share(process::cpu(&pids)?.saturating_sub(before[0]), sends);
        let of_database =
            figures::share(process::cpu(&[self.database])?.saturating_sub(before[1]), sends);
        let written = process::written(&all)?.saturating_sub(written_before);
        let commits = self.commits(servers).await? - commits_before;
        if statuses.keys().any(|it| *it != 201) {
            return Err(io::Error::other(format!("not every send is accepted: {statuses:?}")));
        }
        Ok(Round {
            per_second: figures::per_second(sends, wall),
            p50_micros: figures::percentile(&latencies, 50),
            p99_micros: figures::percentile(&latencies, 99),
            cpu_nanos: of_servers + of_database,
            generator_cpu_nanos: own,
            written: written / sends.max(1),
            parts: BTreeMap::from([(SERVERS, of_servers), (DATABASE, of_database)]),
            statuses,
            journey: Some(Journey {
                commits_in_1000_sends: commits * 1_000 / sends.max(1),
                delivered: 0,
                delivered_per_second: 0,
            }),
        })
    }

    /// Transactions that stored sends, of the first so many.
    async fn commits(&self, servers: u32) -> io::Result<u64> {
        let mut commits = 0;
        for server in self.running.iter().take(servers as usize) {
            commits += metrics::read(server.address).await?.commits;
        }
        Ok(commits)
    }

    /// Lets them finish what they do.
    pub async fn stop(self) -> io::Result<()> {
        for server in self.running {
            server.stop().await?;
        }
        Ok(())
    }
}

/// CPU of the database for each send of a round, in nanoseconds.
pub fn database_nanos(round: &Round) -> u64 {
    round.parts.get(DATABASE).copied().unwrap_or_default()
}
