//! The nodes that work with this database, and the shares of each. A node counts as long as its time lasts, by the
//! database's own clock; whose time is over is `gone`, and its leases are given back in the same transaction.
//!
//! A file has one node, whose time does not end by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::Store;
use super::database::transfer::marks;
use super::database::{
    Row, Sql, Tx, args, column, either, inconsistent, inserts, moment, needed, parsed, sql, word,
};
use super::recover_leases::recover;
use crate::clock::Timestamp;
use crate::id::NodeId;
use crate::nodes::{Epoch, HeldShares, Placed, SHARES, Share};
use crate::store::StoreError;
use crate::store::records::{Interrupted, Lane, Settlement};

/// How long a node is shown that is gone.
const SHOWN_FOR: Duration = Duration::from_hours(24);
/// The time of a node that is alone: it ends by no clock.
const WITHOUT_END: Duration = Duration::from_hours(24 * 36_500);

const CLOCK: Sql = either(
    "-- database_clock
    SELECT CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER) AS now",
    "-- postgres: database_clock
    SELECT CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT) AS now",
);
const HELD: Sql = either(
    "-- lease: shares
    SELECT s.share, s.epoch FROM nodes n JOIN shares s ON s.node = n.id
    WHERE n.id = $1 AND n.seen_until > CAST(round(unixepoch('now', 'subsec') * 1000) AS INTEGER)",
    "-- postgres: lease: shares
    SELECT s.share, s.epoch FROM nodes n JOIN shares s ON s.node = n.id
    WHERE n.id = $1 AND n.seen_until > CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT)",
);

/// A server, from its start to its end.
#[derive(Debug, Clone)]
pub struct NodeRecord {
    pub id: NodeId,
    /// What people call it.
    pub name: String,
    /// What tells its data directory from every other one.
    pub directory: String,
    pub version: &'static str,
}

/// For how long the database counts on a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeTime {
    /// Until it leaves, or another one registers: there is one at a time.
    Alone,
    /// So long from each renewal.
    Renewed(Duration),
}

/// What a node says of itself when it renews its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Renewal {
    pub time: Duration,
    pub phase: NodePhase,
    /// How many milliseconds its clock is ahead of the database's.
    pub skew_ms: i64,
}

/// How far a node is between its start and its end. A node has shares while it is live; the last one that is left keeps
/// them in every phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodePhase {
    /// It has not loaded all that it needs yet.
    Starting,
    Live,
    /// Its master key does not open what the database has sealed.
    Keyless,
    /// It stops.
    Draining,
}

/// How a node stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeState {
    /// It loads what it needs, and has no shares yet.
    Starting,
    Live,
    /// Its master key is another one: it has given its shares away, until it has the right key.
    Keyless,
    /// It stops, and finishes what it has begun.
    Draining,
    /// Its time is over, and no other node has noticed yet.
    Late,
    Gone,
}

/// What came of a registration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registered {
    /// Messages that were under way on nodes which are gone, such as an earlier start of this one.
    pub recovered: usize,
    /// Other nodes that live.
    pub others: usize,
}

/// What came of a renewal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Renewed {
    pub shares: Vec<(Share, Epoch)>,
    /// Nodes that are not gone, also those that start or stop: each has its part of every limit.
    pub lasting: u32,
    /// Whether each of them has renewed its time since this one registered, and so leaves it its part.
    pub is_known: bool,
    /// The names of nodes whose time was over, and how many messages they had under way.
    pub ended: Vec<String>,
    pub recovered: usize,
    /// When the node had renewed its time before, as the database has it; none where the database does not know the node.
    pub seen_before: Option<Timestamp>,
    /// When the node has renewed its time now, by the database's clock.
    pub seen_at: Timestamp,
}

/// A node as it is shown.
#[derive(Debug, Clone)]
pub struct NodeRow {
    pub id: NodeId,
    pub name: String,
    /// What tells its data directory from every other one.
    pub directory: String,
    pub version: String,
    /// The newest migration that the node's version has.
    pub migration: i64,
    pub state: NodeState,
    pub started_at: Timestamp,
    pub seen_at: Timestamp,
    pub skew_ms: i64,
    pub shares: i64,
    /// Messages that it has under way.
    pub leases: i64,
}

impl Store {
    /// What the database's clock shows.
    pub async fn database_clock(&self) -> Result<Timestamp, StoreError> {
        moment(&sql(CLOCK).one(&self.db.readers).await?, "now")
    }

    /// Makes a node known. What an earlier start of it had under way is given back: the same name on the same data
    /// directory, whose lock the node holds, or any where there is one node at a time. `settle` says what is written of
    /// each attempt. Where no other node is in time, nodes that are late get a further time: after the database was away for
    /// longer than that time, the node that starts first must not take the work of the others.
    ///
    /// # Errors
    /// A newer version has changed the tables so that this one cannot work with them, or the database failed; nothing was
    /// written.
    pub async fn register_node(
        &self,
        node: &NodeRecord,
        time: NodeTime,
        now: Timestamp,
        settle: impl Fn(Interrupted, Timestamp) -> Settlement,
    ) -> Result<Registered, StoreError> {
        let mut tx = self.db.begin("register_node").await?;
        marks::refuse(&mut tx).await?;
        refuse_newer_tables(&mut tx, self.db.migration).await?;
        let clock = clock(&mut tx).await?;
        sql("-- register_node: earlier starts
             UPDATE nodes SET state = 'gone', seen_until = $1
             WHERE state <> 'gone' AND ($4 = TRUE OR (name = $2 AND directory = $3))")
        .bind(clock.millis())
        .bind(&node.name)
        .bind(&node.directory)
        .bind(time == NodeTime::Alone)
        .run(&mut tx)
        .await?;
        if let NodeTime::Renewed(time) = time
            && !is_anybody_in_time(&mut tx, clock).await?
        {
            give_further_time(&mut tx, clock, time).await?;
        }
        end_late_nodes(&mut tx, clock).await?;
        let others = sql("-- register_node: others
             SELECT id FROM nodes WHERE state <> 'gone'")
        .all(&mut tx)
        .await?;
        sql("-- register_node: forget
             DELETE FROM nodes
             WHERE state = 'gone' AND (seen_until < $1 OR (name = $2 AND directory = $3))")
        .bind(clock.before(SHOWN_FOR).millis())
        .bind(&node.name)
        .bind(&node.directory)
        .run(&mut tx)
        .await?;
        let (time, phase) = match time {
            NodeTime::Alone => (WITHOUT_END, NodePhase::Live),
            NodeTime::Renewed(time) => (time, NodePhase::Starting),
        };
        put(&mut tx, node, self.db.migration, Renewal { time, phase, skew_ms: 0 }, clock).await?;
        let recovered = recover(&mut tx, (now, clock), &settle).await?;
        tx.commit().await?;
        Ok(Registered { recovered, others: others.len() })
    }

    /// Renews a node's time, ends the nodes whose time is over, and moves the shares that `moves` says, of the nodes that
    /// live and of who has what.
    ///
    /// # Errors
    /// A newer version has changed the tables so that this one cannot work with them, while this node was late; or the
    /// database failed, and nobody knows whether the time was renewed.
    pub async fn renew_node(
        &self,
        node: &NodeRecord,
        renewal: Renewal,
        now: Timestamp,
        settle: impl Fn(Interrupted, Timestamp) -> Settlement,
        moves: impl Fn(&[NodeId], &[Placed]) -> Vec<Placed>,
    ) -> Result<Renewed, StoreError> {
        let mut tx = self.db.begin("renew_node").await?;
        // A node that stood still while its database was moved, or its tables changed, must not go on with what was left
        // behind.
        marks::refuse(&mut tx).await?;
        refuse_newer_tables(&mut tx, self.db.migration).await?;
        let clock = clock(&mut tx).await?;
        let own = own_time(&mut tx, node.id).await?;
        if own.is_some_and(|(_, until)| until <= clock) {
            // The database stood still, or this node did.
            give_further_time(&mut tx, clock, renewal.time).await?;
        }
        put(&mut tx, node, self.db.migration, renewal, clock).await?;
        let ended = end_late_nodes(&mut tx, clock).await?;
        let recovered =
            if ended.is_empty() { 0 } else { recover(&mut tx, (now, clock), &settle).await? };
        let lasting = sql("-- renew_node: lasting
             SELECT id, state, started_at, seen_at FROM nodes WHERE state <> 'gone'")
        .all(&mut tx)
        .await?;
        let (mut live, mut registered_at) = (Vec::<NodeId>::new(), clock);
        let mut others_seen_at = Vec::<Timestamp>::new();
        for row in &lasting {
            let id: NodeId = parsed(row, "nodes", "id")?;
            if word(row, "nodes", "state", NodeState::from_name)? == NodeState::Live {
                live.push(id);
            }
            if id == node.id {
                registered_at = moment(row, "started_at")?;
            } else {
                others_seen_at.push(moment(row, "seen_at")?);
            }
        }
        let rows =
            sql("-- renew_node: shares\nSELECT share, node, epoch FROM shares ORDER BY share")
                .all(&mut tx)
                .await?;
        let mut placed: BTreeMap<Share, Placed> = BTreeMap::new();
        for row in &rows {
            let it = Placed {
                share: share(row)?,
                node: parsed(row, "shares", "node")?,
                epoch: column(row, "epoch")?,
            };
            placed.insert(it.share, it);
        }
        let changed = moves(&live, &placed.values().copied().collect::<Vec<_>>());
        inserts(
            "-- renew_node: moves
             INSERT INTO shares (share, node, epoch)",
            changed.iter().map(|it| args![it.share.number(), it.node.to_string(), it.epoch]),
            " ON CONFLICT (share) DO UPDATE SET node = excluded.node, epoch = excluded.epoch",
        )
        .run(&mut tx)
        .await?;
        tx.commit().await?;
        placed.extend(changed.into_iter().map(|it| (it.share, it)));
        let held = placed.into_values().filter(|it| it.node == node.id);
        Ok(Renewed {
            shares: held.map(|it| (it.share, it.epoch)).collect(),
            lasting: u32::try_from(lasting.len()).unwrap_or(u32::MAX),
            is_known: others_seen_at.iter().all(|it| *it > registered_at),
            ended,
            recovered,
            seen_before: own.map(|(seen_at, _)| seen_at),
            seen_at: clock,
        })
    }

    /// Ends a node that stops: what it could not finish is given back. Answers how many messages that is.
    ///
    /// # Errors
    /// The database failed; a node that is not alone is then ended when its time is over.
    pub async fn leave_node(
        &self,
        id: NodeId,
        now: Timestamp,
        settle: impl Fn(Interrupted, Timestamp) -> Settlement,
    ) -> Result<usize, StoreError> {
        let mut tx = self.db.begin("leave_node").await?;
        let clock = clock(&mut tx).await?;
        sql("-- leave_node\nUPDATE nodes SET state = 'gone', seen_at = $2, seen_until = $2 WHERE id = $1")
            .bind(id.to_string())
            .bind(clock.millis())
            .run(&mut tx)
            .await?;
        let recovered = recover(&mut tx, (now, clock), &settle).await?;
        tx.commit().await?;
        Ok(recovered)
    }

    /// All nodes, and for a day those that are gone, by their start.
    pub async fn nodes(&self) -> Result<Vec<NodeRow>, StoreError> {
        let clock = self.database_clock().await?;
        let rows = sql("-- nodes
             SELECT id, name, directory, version, migration, started_at, seen_at, seen_until, skew_ms,
                    CASE WHEN state = 'draining' THEN COALESCE(phase, state) ELSE state END AS state,
                    (SELECT count(*) FROM shares s WHERE s.node = n.id) AS shares,
                    (SELECT count(*) FROM queue q WHERE q.lease_owner = n.id) AS leases
             FROM nodes n ORDER BY started_at, id")
        .all(&self.db.readers)
        .await?;
        rows.iter().map(|row| self.node_row(row, clock)).collect()
    }

    fn node_row(&self, row: &Row, clock: Timestamp) -> Result<NodeRow, StoreError> {
        let told = word(row, "nodes", "state", NodeState::from_name)?;
        let is_late = told != NodeState::Gone && moment(row, "seen_until")? <= clock;
        let state = if is_late { NodeState::Late } else { told };
        // With a file nobody counts.
        let has_all = self.has_file() && state == NodeState::Live;
        Ok(NodeRow {
            id: parsed(row, "nodes", "id")?,
            name: column(row, "name")?,
            directory: column(row, "directory")?,
            version: column(row, "version")?,
            migration: column(row, "migration")?,
            state,
            started_at: moment(row, "started_at")?,
            seen_at: if has_all { clock } else { moment(row, "seen_at")? },
            skew_ms: column(row, "skew_ms")?,
            shares: if has_all { i64::from(SHARES) } else { column(row, "shares")? },
            leases: column(row, "leases")?,
        })
    }
}

/// Whether nodes of several versions work beside each other: an upgrade goes from one to the next.
#[must_use]
pub fn is_rolling(nodes: &[NodeRow]) -> bool {
    let lasting = nodes.iter().filter(|it| it.state != NodeState::Gone);
    lasting.map(|it| (&it.version, it.migration)).collect::<BTreeSet<_>>().len() > 1
}

/// Whether the shares of all these lanes are the owner's, in the epochs that the owner knows, and its time lasts: the
/// fence of a lease.
pub(super) async fn are_held(
    tx: &mut Tx,
    owner: &str,
    believed: &HeldShares,
    lanes: &BTreeSet<Lane>,
) -> Result<bool, StoreError> {
    let rows = sql(HELD).bind(owner).all(&mut *tx).await?;
    let mut held: BTreeMap<Share, Epoch> = BTreeMap::new();
    for row in &rows {
        held.insert(share(row)?, column(row, "epoch")?);
    }
    let is_held =
        |share: Share| believed.epoch(share).is_some_and(|epoch| held.get(&share) == Some(&epoch));
    Ok(lanes.iter().all(|lane| is_held(lane.share())))
}

async fn clock(tx: &mut Tx) -> Result<Timestamp, StoreError> {
    moment(&sql(CLOCK).one(tx).await?, "now")
}

/// Refuses where the database has run a migration after which a program with this newest migration cannot work with the
/// tables. The tables do not change meanwhile: a migration is alone (`database/postgres/upgrade`), as this transaction is.
async fn refuse_newer_tables(tx: &mut Tx, newest: i64) -> Result<(), StoreError> {
    let later = sql("-- refuse_newer_tables
         SELECT version, description FROM _sqlx_migrations WHERE version > $1 ORDER BY version")
    .bind(newest)
    .all(tx)
    .await?;
    for row in &later {
        let migration = column(row, "version")?;
        let description: String = column(row, "description")?;
        if needed(migration, &description) > newest {
            return Err(StoreError::Newer { migration });
        }
    }
    Ok(())
}

async fn put(
    tx: &mut Tx,
    node: &NodeRecord,
    migration: i64,
    renewal: Renewal,
    clock: Timestamp,
) -> Result<(), StoreError> {
    // Older versions know live, draining and gone alone, so the finer phase has a column of its own.
    let (state, phase) = match renewal.phase {
        NodePhase::Live => (NodeState::Live, None),
        NodePhase::Starting => (NodeState::Draining, Some(NodeState::Starting)),
        NodePhase::Keyless => (NodeState::Draining, Some(NodeState::Keyless)),
        NodePhase::Draining => (NodeState::Draining, Some(NodeState::Draining)),
    };
    sql("-- put_node
         INSERT INTO nodes (id, name, directory, version, migration, started_at, seen_at, seen_until, skew_ms, state, phase)
         VALUES ($1, $2, $3, $4, $5, $6, $6, $7, $8, $9, $10)
         ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, seen_until = excluded.seen_until,
                                        skew_ms = excluded.skew_ms, state = excluded.state, phase = excluded.phase")
    .bind(node.id.to_string())
    .bind(&node.name)
    .bind(&node.directory)
    .bind(node.version)
    .bind(migration)
    .bind(clock.millis())
    .bind(clock.after(renewal.time).millis())
    .bind(renewal.skew_ms)
    .bind(state.as_str())
    .bind(phase.map(NodeState::as_str))
    .run(tx)
    .await
    .map(|_| ())
}

/// When a node last renewed its time, and until when; none where there is no such node.
async fn own_time(tx: &mut Tx, id: NodeId) -> Result<Option<(Timestamp, Timestamp)>, StoreError> {
    let row = sql("-- own_time\nSELECT seen_at, seen_until FROM nodes WHERE id = $1")
        .bind(id.to_string())
        .optional(tx)
        .await?;
    row.map(|row| Ok((moment(&row, "seen_at")?, moment(&row, "seen_until")?))).transpose()
}

async fn is_anybody_in_time(tx: &mut Tx, clock: Timestamp) -> Result<bool, StoreError> {
    let in_time = sql("-- is_anybody_in_time
         SELECT id FROM nodes WHERE state <> 'gone' AND seen_until > $1 LIMIT 1")
    .bind(clock.millis())
    .optional(tx)
    .await?;
    Ok(in_time.is_some())
}

/// Gives every node that is late a further time to renew. Until a late node has renewed it begins nothing: it knows by its
/// own clock that its time has ended.
async fn give_further_time(
    tx: &mut Tx,
    clock: Timestamp,
    time: Duration,
) -> Result<(), StoreError> {
    sql("-- give_further_time
         UPDATE nodes SET seen_until = $1
         WHERE state <> 'gone' AND seen_until <= $2")
    .bind(clock.after(time).millis())
    .bind(clock.millis())
    .run(tx)
    .await
    .map(|_| ())
}

/// Ends the nodes whose time is over; answers their names.
async fn end_late_nodes(tx: &mut Tx, clock: Timestamp) -> Result<Vec<String>, StoreError> {
    let ended = sql(
        "-- end_late_nodes
         UPDATE nodes SET state = 'gone' WHERE state <> 'gone' AND seen_until <= $1 RETURNING name",
    )
    .bind(clock.millis())
    .all(tx)
    .await?;
    ended.iter().map(|row| column(row, "name")).collect()
}

fn share(row: &Row) -> Result<Share, StoreError> {
    let number: i64 = column(row, "share")?;
    Share::from_number(number).ok_or_else(|| inconsistent("shares", "share", &number.to_string()))
}

impl NodeState {
    /// The word in the database and in answers.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Live => "live",
            Self::Keyless => "keyless",
            Self::Draining => "draining",
            Self::Late => "late",
            Self::Gone => "gone",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        let all = [Self::Starting, Self::Live, Self::Keyless, Self::Draining, Self::Gone];
        all.into_iter().find(|it| it.as_str() == name)
    }
}
