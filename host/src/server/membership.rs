//! This server as one of the nodes that share a database: it registers, renews its time, and leaves. With a file there
//! is one node, and it registers and leaves only.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use super::data_dir::{DataDir, DataDirError};
use super::master_key::{self, MasterKeyError};
use super::tasks::Tasks;
use crate::clock::{Clock, Timestamp};
use crate::config;
use crate::delivery::queue::retry_schedule::interrupted;
use crate::id::NodeId;
use crate::nodes::{LARGE_SKEW_MS, Membership, Placed, moves};
use crate::store::{
    NodePhase, NodeRecord, NodeTime, Registered, Renewal, Renewed, Store, StoreError,
};

/// The pause after a renewal that failed.
const RETRY: Duration = Duration::from_secs(1);
/// A request for the database's clock that took longer tells no clock skew: the last skew stays.
const CLOCK_WAIT: Duration = Duration::from_secs(1);
/// How often a node that starts looks whether the others know of it.
const LOOK: Duration = Duration::from_millis(250);
/// How long the last word of a node that stops may take.
const LEAVE_TIME: Duration = Duration::from_secs(5);

/// Why this server is no node.
#[derive(Debug, thiserror::Error)]
pub enum MembershipError {
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Renewal(#[from] RenewalError),
}

/// Why the time of this node was not renewed.
#[derive(Debug, thiserror::Error)]
pub enum RenewalError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the database did not answer within {} s", .0.as_secs())]
    Late(Duration),
}

/// This server, from its start to its end.
#[derive(Debug)]
pub struct Node {
    record: NodeRecord,
    data: DataDir,
    store: Store,
    clock: Clock,
    registered_at: Instant,
    /// None where the node is alone.
    times: Option<Times>,
    membership: Arc<Membership>,
    started: CancellationToken,
    draining: CancellationToken,
    /// One renewal at a time: the last one that began is the last one that counts.
    renewing: Mutex<LastRenewal>,
}

/// A node that renews its time by itself, and follows the primary of its database.
#[derive(Debug, Clone)]
pub struct RunningNode {
    pub node: Arc<Node>,
    tasks: Tasks,
    stop: CancellationToken,
    watch: Tasks,
    stop_watch: CancellationToken,
}

#[derive(Debug, Clone, Copy)]
struct Times {
    every: Duration,
    hold: Duration,
}

/// What the last renewal has shown, and what was logged of it.
#[derive(Debug, Default)]
struct LastRenewal {
    /// When the node has renewed its time, by the database's clock; none before the first renewal.
    seen_at: Option<Timestamp>,
    /// How many milliseconds this node's clock was ahead.
    skew_ms: i64,
    has_skew: bool,
    /// Renewals that have failed since the last one that succeeded.
    failures: u32,
    /// Whether the loss of the database was logged since then.
    has_lost: bool,
    is_keyless: bool,
}

/// What a node learns with its renewal.
#[derive(Debug)]
struct Learned {
    renewed: Renewed,
    /// How many milliseconds this node's clock is ahead.
    skew_ms: i64,
    /// Why the node cannot open what the database has sealed.
    keyless: Option<MasterKeyError>,
}

impl Node {
    /// Registers this server, which gets its shares when it [goes live](Self::go_live). What an earlier start of it had
    /// under way is given back.
    pub async fn join(
        config: &config::Node,
        data: &DataDir,
        store: &Store,
        clock: &Clock,
    ) -> Result<(Arc<Self>, Registered), MembershipError> {
        let now = clock.now();
        let times = (!store.has_file()).then(|| Times {
            every: Duration::from_secs(config.renew_s),
            hold: Duration::from_secs(config.hold_s),
        });
        let node = Self {
            record: NodeRecord {
                id: NodeId::new(now),
                name: config.name.clone().unwrap_or_else(machine),
                directory: data.identity()?,
                version: env!("CARGO_PKG_VERSION"),
            },
            data: data.clone(),
            store: store.clone(),
            clock: clock.clone(),
            registered_at: Instant::now(),
            times,
            membership: Arc::new(times.map_or_else(Membership::default, |_| Membership::joining())),
            started: CancellationToken::new(),
            draining: CancellationToken::new(),
            renewing: Mutex::default(),
        };
        let time = times.map_or(NodeTime::Alone, |it| NodeTime::Renewed(it.hold));
        let registered = store.register_node(&node.record, time, now, interrupted).await?;
        if let Some(times) = times
            && let Err(error) = node.renew(times).await
        {
            node.leave().await;
            return Err(error.into());
        }
        if times.is_some() {
            tracing::info!(
                node = node.record.name, node_id = %node.record.id, others = registered.others,
                "registered as a node of the database"
            );
        }
        Ok((Arc::new(node), registered))
    }

    #[must_use]
    pub fn id(&self) -> NodeId {
        self.record.id
    }

    /// What people call it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.record.name
    }

    #[must_use]
    pub fn membership(&self) -> &Arc<Membership> {
        &self.membership
    }

    /// Takes this node's shares. The others first leave it its part of every limit; one that has not renewed its time within
    /// twice the time that it has for that is not waited for.
    pub async fn go_live(&self) -> Result<(), RenewalError> {
        let Some(times) = self.times else { return Ok(()) };
        while !self.renew(times).await?.is_known && self.registered_at.elapsed() < 2 * times.every {
            tokio::time::sleep(LOOK).await;
        }
        self.started.cancel();
        self.renew(times).await.map(drop)
    }

    /// Renews the node's time until `stop`. Cancels `broken` where the database was moved elsewhere (what this node would
    /// accept from then on would be lost), and where a newer version has taken away tables or columns that this one needs.
    async fn run(self: Arc<Self>, stop: CancellationToken, broken: CancellationToken) {
        let Some(times) = self.times else { return };
        let mut pause = times.every;
        while !stop.is_cancelled() {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(pause) => {
                    let renewed = self.renew(times).await;
                    if let Err(RenewalError::Store(error)) = &renewed
                        && (error.is_moved() || error.is_newer())
                    {
                        tracing::error!(%error, "this node stops: its database was moved elsewhere, or a newer version has changed the tables in a way that this version does not support");
                        broken.cancel();
                        return;
                    }
                    pause = if renewed.is_ok() { times.every } else { RETRY };
                }
            }
        }
    }

    /// Gives this node's shares to others, where there are some; it goes on renewing for what it has begun.
    pub async fn drain(&self) {
        self.draining.cancel();
        if let Some(times) = self.times {
            // A failure is in the log, and the next renewal says the same.
            drop(self.renew(times).await);
        }
    }

    /// Leaves: what could not be finished is given back to whoever is there, or comes next.
    pub async fn leave(&self) {
        let left = self.store.leave_node(self.record.id, self.clock.now(), interrupted);
        match tokio::time::timeout(LEAVE_TIME, left).await {
            Ok(Ok(0)) => {}
            Ok(Ok(unfinished)) => {
                tracing::warn!(
                    count = unfinished,
                    "deliveries were interrupted by the stop; they are due again"
                );
            }
            Ok(Err(error)) => {
                tracing::error!(%error, "this node could not leave the database; others count on it until its time is over");
            }
            Err(_) => {
                tracing::error!(
                    "this node could not leave the database in time; others count on it until its time is over"
                );
            }
        }
    }

    async fn renew(&self, times: Times) -> Result<Renewed, RenewalError> {
        let mut last = self.renewing.lock().await;
        // Before the database looks at its own clock: this node's time ends no later than the database says.
        let begun = Instant::now();
        let renewed =
            tokio::time::timeout(times.hold, self.try_to_renew(times, last.skew_ms)).await;
        let learned = match renewed.map_err(|_| RenewalError::Late(times.hold)) {
            Ok(Ok(learned)) => learned,
            Ok(Err(error)) | Err(error) => {
                if !self.membership.is_in_time() && !last.has_lost {
                    last.has_lost = true;
                    metrics::gauge!("waxwing_nodes").set(0);
                    metrics::gauge!("waxwing_node_shares").set(0);
                    tracing::error!(%error, "this node has lost the database: it begins no delivery and is not ready until it has the database again");
                } else if last.failures == 0 {
                    tracing::warn!(%error, "this node could not renew its lease in the database; retrying every second");
                }
                last.failures += 1;
                return Err(error);
            }
        };
        last.log(&learned);
        let Learned { renewed, keyless, .. } = learned;
        // What is sealed opens on other nodes only.
        let until = if keyless.is_some() { begun } else { begun + times.hold };
        self.membership.renewed(&renewed.shares, renewed.lasting, until);
        let shares = u32::try_from(renewed.shares.len()).unwrap_or(u32::MAX);
        metrics::gauge!("waxwing_nodes").set(f64::from(renewed.lasting));
        metrics::gauge!("waxwing_node_shares").set(f64::from(shares));
        Ok(renewed)
    }

    async fn try_to_renew(&self, times: Times, last_skew: i64) -> Result<Learned, RenewalError> {
        let (before, begun) = (self.clock.now(), Instant::now());
        let theirs = self.store.database_clock().await?;
        let now = self.clock.now();
        let middle = before.millis().midpoint(now.millis());
        let is_sharp = begun.elapsed() < CLOCK_WAIT;
        let skew_ms = if is_sharp { middle.saturating_sub(theirs.millis()) } else { last_skew };
        let keyless = self.keyless().await?;
        let phase = if self.draining.is_cancelled() {
            NodePhase::Draining
        } else if !self.started.is_cancelled() {
            NodePhase::Starting
        } else if keyless.is_some() {
            NodePhase::Keyless
        } else {
            NodePhase::Live
        };
        let renewal = Renewal { time: times.hold, phase, skew_ms };
        let own = self.record.id;
        let moves = |live: &[NodeId], placed: &[Placed]| moves(own, live, placed);
        let renewed = self.store.renew_node(&self.record, renewal, now, interrupted, moves);
        Ok(Learned { renewed: renewed.await?, skew_ms, keyless })
    }

    /// Why the master keys of this node do not open what the database has sealed; none where they do. Another node may have
    /// rotated them.
    async fn keyless(&self) -> Result<Option<MasterKeyError>, StoreError> {
        let noted = self.store.noted(master_key::PROOF).await?;
        Ok(noted.and_then(|noted| master_key::check(&self.data, &noted).err()))
    }
}

impl RunningNode {
    /// Starts to renew the node's time. Cancels `broken` when the renewing task panics, and when this node can no longer work
    /// with its database.
    #[must_use]
    pub fn start(node: Arc<Node>, broken: CancellationToken) -> Self {
        let [tasks, watch] = [(); 2].map(|()| Tasks::critical(broken.clone()));
        let [stop, stop_watch] = [(); 2].map(|()| CancellationToken::new());
        let (store, until) = (node.store.clone(), stop_watch.clone());
        watch.start("database", async move {
            tokio::select! {
                () = until.cancelled() => {}
                () = store.watch_primary() => {}
            }
        });
        tasks.start("node", Arc::clone(&node).run(stop.clone(), broken));
        Self { node, tasks, stop, watch, stop_watch }
    }

    /// Renews no more, and leaves. The primary is followed until then: a fail-over may come while the server stops.
    pub async fn end(&self) {
        self.stop.cancel();
        self.tasks.finish().await;
        self.node.leave().await;
        self.stop_watch.cancel();
        self.watch.finish().await;
    }
}

impl LastRenewal {
    fn log(&mut self, Learned { renewed, skew_ms, keyless }: &Learned) {
        let was_keyless = std::mem::replace(&mut self.is_keyless, keyless.is_some());
        match keyless {
            Some(error) if !was_keyless => {
                tracing::error!(%error, "the master.key of this node cannot decrypt the secrets in the database, for example because the key was rotated on another node; this node gives up its shares and answers 503 at /readyz until its master.key is replaced");
            }
            None if was_keyless => {
                tracing::info!(
                    "this node has the master key of the database again, and takes its shares back"
                );
            }
            Some(_) | None => {}
        }
        if std::mem::take(&mut self.failures) > 0 {
            tracing::info!("this node has the database again");
        }
        self.has_lost = false;
        self.skew_ms = *skew_ms;
        // A renewal without an answer may have been written all the same.
        let last = self.seen_at.replace(renewed.seen_at);
        if last.is_some_and(|last| renewed.seen_before.is_none_or(|before| before < last)) {
            tracing::error!(
                "the database does not have what this node wrote last: another server has started with the name of this one and a \
                 copy of its data directory, an earlier state of the database was restored, or a standby was promoted that had \
                 not followed to the end; give each server a directory of its own, and restart all servers after a restore"
            );
        }
        for node in &renewed.ended {
            tracing::warn!(
                node,
                released = renewed.recovered,
                "a node was not seen for as long as it may be silent; its shares go to other nodes, and what it had under \
                 way is due again"
            );
        }
        let has_skew = skew_ms.abs() >= LARGE_SKEW_MS;
        if has_skew && !self.has_skew {
            tracing::warn!(
                skew_ms = *skew_ms,
                "the clock of this machine differs from that of the database; let both follow the same time servers"
            );
        }
        self.has_skew = has_skew;
    }
}

/// The name of this machine.
fn machine() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Node as Setting;
    use crate::store::NodeState;

    #[tokio::test]
    async fn the_server_of_a_file_is_a_node_that_has_everything() {
        let directory = tempfile::tempdir().expect("a directory");
        let data = DataDir::open(directory.path()).expect("opened");
        let store = Store::open(&data.database().expect("made")).await.expect("opens");
        let setting = Setting { name: Some("mx-1".to_owned()), ..Setting::default() };
        for _ in 0..2 {
            let joined = Node::join(&setting, &data, &store, &Clock::system()).await;
            let (node, registered) = joined.expect("registered");
            assert_eq!(registered.others, 0);
            assert!(node.membership().is_in_time() && node.membership().held().shares().is_none());
            let rows = store.nodes().await.expect("readable");
            let [row] = rows.as_slice() else { panic!("{rows:?}") };
            assert_eq!((row.id, row.name.as_str(), row.shares), (node.id(), "mx-1", 64));
            assert_eq!(row.state, NodeState::Live);
        }
        let (node, _) =
            Node::join(&setting, &data, &store, &Clock::system()).await.expect("registered");
        node.drain().await;
        node.leave().await;
        let rows = store.nodes().await.expect("readable");
        assert_eq!(rows.iter().map(|it| it.state).collect::<Vec<_>>(), [NodeState::Gone]);
    }
}
