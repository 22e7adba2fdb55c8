//! One round: a burst of sends at one server, and what it cost.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::args::{AcceptPeer, Args, Mode, Template};
use crate::drive::drive;
use crate::peers::accept::Backend;
use crate::requests::Requests;
use crate::waxwing::Waxwing;
use crate::{figures, metrics, process};

/// Sends before the first round: templates get compiled, JavaScript gets hot.
const WARM_UP: u32 = 8_000;
const POLL: Duration = Duration::from_millis(50);

/// A server under load.
pub struct Subject<'a> {
    pub address: SocketAddr,
    pub api_key: &'a str,
    /// Its processes, without their children.
    pub pids: Vec<u32>,
}

/// What one round did.
#[derive(Debug)]
pub struct Round {
    pub per_second: u64,
    pub p50_micros: u64,
    pub p99_micros: u64,
    /// CPU of the whole process tree, for each send.
    pub cpu_nanos: u64,
    pub generator_cpu_nanos: u64,
    /// Bytes that the whole process tree writes, for each send.
    pub written: u64,
    /// CPU of what a server measures itself, in nanoseconds for each send.
    pub parts: BTreeMap<&'static str, u64>,
    pub statuses: BTreeMap<u16, u64>,
    /// Only Waxwing counts these.
    pub journey: Option<Journey>,
}

/// What became of the messages of one round.
#[derive(Debug, Clone, Copy)]
pub struct Journey {
    pub commits_in_1000_sends: u64,
    pub delivered: u64,
    /// From the first send to the last delivery.
    pub delivered_per_second: u64,
}

/// What a round sends.
pub struct Burst {
    template: Template,
    mode: Mode,
    connections: u32,
    rate: Option<u32>,
    sends: u32,
}

impl Burst {
    pub fn new(args: &Args) -> Self {
        Self {
            template: args.template,
            mode: args.mode(),
            connections: args.connections,
            rate: args.rate,
            sends: args.sends,
        }
    }

    /// Sends that are held back, as many as are answered.
    pub fn held(template: Template, connections: u32, sends: u32) -> Self {
        Self { template, mode: Mode::Hold, connections, rate: None, sends }
    }

    /// Sends that are not measured.
    pub async fn warm_up(&self, subject: &Subject<'_>) -> io::Result<()> {
        let requests = self.requests(subject).await?;
        let answers = drive(subject.address, &requests, self.connections, None, WARM_UP).await?;
        match answers.statuses.get(&201) {
            Some(&count) if count == u64::from(WARM_UP) => Ok(()),
            Some(_) | None => {
                let message = format!("not every send is accepted: {:?}", answers.statuses);
                Err(io::Error::other(message))
            }
        }
    }

    pub async fn requests(&self, subject: &Subject<'_>) -> io::Result<Arc<Requests>> {
        Requests::new(self.template, self.mode, subject.api_key).await.map(Arc::new)
    }

    /// The sends, and then what `afterwards` waits for; CPU is counted to its end.
    async fn run(
        &self,
        subject: &Subject<'_>,
        requests: &Arc<Requests>,
        afterwards: impl Future<Output = io::Result<()>>,
    ) -> io::Result<Round> {
        let written_before = process::written(&subject.pids)?;
        let (before, own_before) = (process::cpu(&subject.pids)?, process::own_cpu()?);
        let answers =
            drive(subject.address, requests, self.connections, self.rate, self.sends).await?;
        let own_after = process::own_cpu()?;
        afterwards.await?;
        let after = process::cpu(&subject.pids)?;
        let written = process::written(&subject.pids)?.saturating_sub(written_before);
        let sends = u64::from(self.sends);
        Ok(Round {
            per_second: figures::per_second(sends, answers.wall),
            p50_micros: figures::percentile(&answers.latencies, 50),
            p99_micros: figures::percentile(&answers.latencies, 99),
            cpu_nanos: figures::share(after.saturating_sub(before), sends),
            generator_cpu_nanos: figures::share(own_after.saturating_sub(own_before), sends),
            written: written / sends,
            parts: BTreeMap::new(),
            statuses: answers.statuses,
            journey: None,
        })
    }
}

pub async fn waxwing(
    burst: &Burst,
    server: &Waxwing,
    requests: &Arc<Requests>,
) -> io::Result<Round> {
    let subject = server.subject();
    let before = metrics::read(subject.address).await?;
    let start = Instant::now();
    let mut round = burst.run(&subject, requests, drained(burst.mode, subject.address)).await?;
    let wall = start.elapsed();
    let after = metrics::read(subject.address).await?;
    let delivered = after.delivered - before.delivered;
    let each = |before: u64, after: u64| (after - before) * 1_000 / u64::from(burst.sends);
    round.parts = BTreeMap::from([
        ("plan", each(before.plan_micros, after.plan_micros)),
        ("render", each(before.render_micros, after.render_micros)),
    ]);
    round.journey = Some(Journey {
        commits_in_1000_sends: each(before.commits, after.commits),
        delivered,
        delivered_per_second: figures::per_second(delivered, wall),
    });
    Ok(round)
}

pub async fn peer(burst: &Burst, peer: &Backend) -> io::Result<Round> {
    let subject = peer.subject();
    let requests = burst.requests(&subject).await?;
    let run = burst.run(&subject, &requests, std::future::ready(Ok(())));
    match peer.kind {
        AcceptPeer::Node => run.await,
        AcceptPeer::Floor => {
            let before = metrics::read_floor(subject.address).await?;
            let mut round = run.await?;
            let after = metrics::read_floor(subject.address).await?;
            let each = |before: u64, after: u64| (after - before) / u64::from(burst.sends);
            round.parts = BTreeMap::from([
                ("data", each(before.data, after.data)),
                ("render", each(before.render, after.render)),
            ]);
            Ok(round)
        }
    }
}

/// Waits for the queue to be empty, where messages leave it at all.
pub async fn drained(mode: Mode, address: SocketAddr) -> io::Result<()> {
    match mode {
        Mode::Hold => {}
        Mode::Deliver => {
            while metrics::read(address).await?.waiting > 0 {
                tokio::time::sleep(POLL).await;
            }
        }
    }
    Ok(())
}
