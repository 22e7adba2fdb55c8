//! The queue of messages that are still to be delivered: found lane by lane, claimed in batches, with a
//! lease.
//!
//! A message that is leased is in no lane. When its lease is over, [`Store::recover_ended_leases`] gives
//! it back. A worker may only settle what it still holds.

use std::collections::{BTreeSet, HashSet};

use serde_json::{Value, json};

use super::Store;
use super::database::{
    Row, Sql, Tx, args, column, digits, each, either, inconsistent, parsed, sql,
};
use super::events::StateChange;
use super::lock_rows::{lock_accounts, lock_lanes};
use super::message_details::unpacked;
use super::nodes::are_held;
use super::outcome::LEASE_OUTCOME_WAIT;
use super::recheck_at_lease::{lease_facts, return_to_queue};
use super::settle::{end, write_states};
use super::tries::repeated;
use crate::clock::Timestamp;
use crate::id::{AccountId, Identifier, MessageId};
use crate::message::state::MessageState;
use crate::store::StoreError;
use crate::store::records::{
    Due, DueLane, Lane, LaneKind, LaneStart, Lease, LeaseFacts, LeaseVerdict, Lessee, RouteChoice,
};

const DUE_LANES: &str = "-- due_lanes
    SELECT due_at, lane, account_id FROM lanes INDEXED BY lanes_by_due
    WHERE lane <> 'sandbox' AND due_at <= $1 AND (due_at, lane, account_id) > ($2, $3, $4)
    ORDER BY due_at, lane, account_id LIMIT $5";
const DUE_SANDBOX_LANES: &str = "-- due_lanes: of the sandbox
    SELECT due_at, lane, account_id FROM lanes INDEXED BY lanes_of_sandbox
    WHERE lane = 'sandbox' AND due_at <= $1 AND (due_at, lane, account_id) > ($2, $3, $4)
    ORDER BY due_at, lane, account_id LIMIT $5";
const DUE_IN: Sql = either(
    "-- due_in
    SELECT l.key AS lane_number, q.message_id, q.account_id, q.is_wanted, q.octets, q.lane, q.due_at,
           q.attempts, q.first_at
    FROM json_each($1) l
    CROSS JOIN queue q ON q.message_id IN (
        SELECT message_id FROM queue INDEXED BY queue_of_lane
        WHERE lane = l.value ->> 0 AND account_id = unhex(l.value ->> 1) AND lease_owner IS NULL
          AND due_at <= $2 AND (due_at, message_id) > (l.value ->> 2, unhex(l.value ->> 3))
        ORDER BY due_at, message_id LIMIT $3)",
    "-- postgres: due_in
    SELECT l.number - 1 AS lane_number, q.message_id, q.account_id, q.is_wanted, q.octets, q.lane, q.due_at,
           q.attempts, q.first_at
    FROM json_array_elements(CAST(CAST($1 AS TEXT) AS JSON)) WITH ORDINALITY AS l (value, number)
    JOIN LATERAL (
        SELECT message_id, account_id, is_wanted, octets, lane, due_at, attempts, first_at FROM queue
        WHERE lane = l.value ->> 0 AND account_id = decode(l.value ->> 1, 'hex') AND lease_owner IS NULL
          AND due_at <= $2
          AND (due_at, message_id) > (CAST(l.value ->> 2 AS BIGINT), decode(l.value ->> 3, 'hex'))
        ORDER BY due_at, message_id LIMIT $3) q ON TRUE",
);
/// A row that another worker has in its hands is passed over.
const LEASE: Sql = either(
    "-- lease
    UPDATE queue SET lease_owner = $1, lease_until = $2,
                     attempts = attempts + 1, first_at = coalesce(first_at, $3),
                     waits_for = NULL, is_wanted = FALSE
    WHERE message_id IN (SELECT unhex(value) FROM json_each($4))
      AND due_at <= $3 AND lease_owner IS NULL
    RETURNING message_id, account_id, lane, attempts, first_at",
    "-- postgres: lease
    UPDATE queue SET lease_owner = $1, lease_until = $2,
                     attempts = attempts + 1, first_at = coalesce(first_at, $3),
                     waits_for = NULL, is_wanted = FALSE
    WHERE message_id IN (SELECT message_id FROM queue
                         WHERE message_id IN (SELECT unhex(value) FROM json_each($4))
                           AND due_at <= $3 AND lease_owner IS NULL
                         ORDER BY message_id FOR UPDATE SKIP LOCKED)
      AND due_at <= $3 AND lease_owner IS NULL
    RETURNING message_id, account_id, lane, attempts, first_at",
);
const NEXT_DUE: &str = "-- next_due
    SELECT min(due_at) AS due FROM (
        SELECT min(due_at) AS due_at FROM lanes INDEXED BY lanes_by_due
        WHERE lane <> 'sandbox' AND due_at > $1
        UNION ALL
        SELECT min(due_at) FROM lanes INDEXED BY lanes_of_sandbox
        WHERE lane = 'sandbox' AND due_at > $1) AS next";
const BODY: &str = "-- body
    SELECT b.bytes, d.bytes AS dictionary
    FROM messages m JOIN bodies b ON b.message_id = coalesce(m.body_of, m.id)
    LEFT JOIN dictionaries d ON d.id = b.dictionary
    WHERE m.id = $1";
const REMOVE_EMPTY_LANE: &str = "-- correct_lanes: empty
    DELETE FROM lanes
    WHERE lane = $1 AND account_id = $2
      AND NOT EXISTS (SELECT 1 FROM queue q
                      WHERE q.lane = $1 AND q.account_id = $2 AND q.lease_owner IS NULL)";
const RAISE_LANE: &str = "-- correct_lanes: due later
    UPDATE lanes SET due_at = n.due_at
    FROM (SELECT q.due_at FROM queue q
          WHERE q.lane = $1 AND q.account_id = $2 AND q.lease_owner IS NULL
          ORDER BY q.due_at LIMIT 1) AS n
    WHERE lane = $1 AND account_id = $2 AND n.due_at > lanes.due_at";

impl Store {
    /// Lanes of that kind that may have due messages, the longest waiting first, behind `after`.
    pub async fn due_lanes(
        &self,
        kind: LaneKind,
        now: Timestamp,
        after: Option<&DueLane>,
        limit: u32,
    ) -> Result<Vec<DueLane>, StoreError> {
        let statement = match kind {
            LaneKind::Sandbox => DUE_SANDBOX_LANES,
            LaneKind::Domains => DUE_LANES,
        };
        let rows = sql(statement)
            .bind(now.millis())
            .bind(after.map_or(i64::MIN, |it| it.due_at.millis()))
            .bind(after.map_or("", |it| it.lane.name.as_str()))
            .bind(after.map_or(Identifier::MIN, |it| it.lane.account_id))
            .bind(limit)
            .all(&self.db.deliveries)
            .await?;
        rows.iter()
            .map(|row| {
                Ok(DueLane {
                    due_at: Timestamp::from_millis(column(row, "due_at")?),
                    lane: Lane {
                        name: column(row, "lane")?,
                        account_id: column(row, "account_id")?,
                    },
                })
            })
            .collect()
    }

    /// The due messages of each of these lanes that nobody has leased, the longest waiting first, at most
    /// `each` of one lane.
    pub async fn due_in(
        &self,
        lanes: &[LaneStart],
        now: Timestamp,
        each: u32,
    ) -> Result<Vec<Vec<Due>>, StoreError> {
        let starts: Vec<Value> = lanes
            .iter()
            .map(|it| {
                let after = it.after.as_ref();
                json!([
                    it.lane.name,
                    digits(it.lane.account_id),
                    after.map_or(i64::MIN, |it| it.due_at.millis()),
                    digits(after.map_or(MessageId::MIN, |it| it.message_id)),
                ])
            })
            .collect();
        let rows = sql(DUE_IN)
            .json(&starts)
            .bind(now.millis())
            .bind(each)
            .all(&self.db.deliveries)
            .await?;
        let mut found: Vec<Vec<Due>> = lanes.iter().map(|_| Vec::new()).collect();
        for row in &rows {
            let number: i64 = column(row, "lane_number")?;
            let of_lane = usize::try_from(number).ok().and_then(|it| found.get_mut(it));
            if let Some(of_lane) = of_lane {
                of_lane.push(due(row)?);
            }
        }
        // An IN list has an order of its own.
        for of_lane in &mut found {
            of_lane.sort_unstable_by_key(|it| (it.due_at, it.message_id));
        }
        Ok(found)
    }

    /// Writes down when these lanes are due next, where nothing in them is due as early as was written
    /// down before: messages may have been canceled.
    pub async fn correct_lanes(&self, lanes: &[Lane]) -> Result<(), StoreError> {
        let lanes = lanes.iter().cloned().collect();
        repeated!(self.correct_lanes_once(&lanes))
    }

    async fn correct_lanes_once(&self, lanes: &BTreeSet<Lane>) -> Result<(), StoreError> {
        let mut tx = self.db.begin_beside("correct_lanes").await?;
        lock_lanes(&mut tx, lanes).await?;
        correct_lanes(&mut tx, lanes).await?;
        tx.commit().await
    }

    /// Leases those of `wanted` that are still due until `until`, and that are sent by `decide`;
    /// each is `sending` from now on. `decide` is asked again where the transaction is run again. Nothing is leased by a
    /// node that has lost one of the shares, or whose time is over.
    ///
    /// # Errors
    /// The database failed; nothing is leased then, unless the error [is unknown](StoreError::is_unknown).
    pub async fn lease_decided(
        &self,
        by: Lessee<'_>,
        wanted: &[MessageId],
        now: Timestamp,
        until: Timestamp,
        decide: impl Fn(Vec<Lease>, &LeaseFacts) -> LeaseVerdict,
    ) -> Result<Vec<Lease>, StoreError> {
        repeated!(self.lease_once(by, wanted, (now, until), &decide))
    }

    async fn lease_once(
        &self,
        by: Lessee<'_>,
        wanted: &[MessageId],
        (now, until): (Timestamp, Timestamp),
        decide: &impl Fn(Vec<Lease>, &LeaseFacts) -> LeaseVerdict,
    ) -> Result<Vec<Lease>, StoreError> {
        let mut tx = self.db.begin_beside("lease").await?;
        let claimed = sql(LEASE)
            .bind(by.owner)
            .bind(until.millis())
            .bind(now.millis())
            .ids(wanted.iter().copied())
            .all(&mut tx)
            .await?;
        let lanes: BTreeSet<Lane> = claimed.iter().map(lane).collect::<Result<_, StoreError>>()?;
        if let Some(shares) = by.shares
            && !are_held(&mut tx, by.owner, shares, &lanes).await?
        {
            tx.rollback().await?;
            return Ok(Vec::new());
        }
        let (leases, unreadable) = read_leases(&mut tx, &claimed).await?;
        let recipients: BTreeSet<(AccountId, String)> =
            leases.iter().map(|it| (it.account_id, it.recipient.folded())).collect();
        let accounts: BTreeSet<AccountId> = leases.iter().map(|it| it.account_id).collect();
        let facts = lease_facts(&mut tx, &accounts, &recipients, now).await?;
        let verdict = decide(leases, &facts);
        // What ends may be paid back, and what is held back is in its lane again.
        let paid_back = verdict.ended.iter().map(|(it, _)| it.account_id);
        let paid_back = unreadable.iter().map(|(_, account)| *account).chain(paid_back).collect();
        lock_accounts(&mut tx, &paid_back).await?;
        lock_lanes(&mut tx, &lanes).await?;
        return_to_queue(&mut tx, &verdict.waiting, now).await?;
        let ended = verdict.ended.iter().map(|(it, end)| (it.message_id, it.account_id, *end));
        let unreadable = unreadable.iter().map(|(id, account)| (*id, *account, verdict.unreadable));
        end(&mut tx, &unreadable.chain(ended).collect::<Vec<_>>(), now).await?;
        let changes = verdict.sent.iter().map(|(lease, reason)| StateChange {
            message: lease.message_id,
            account: lease.account_id,
            state: MessageState::Sending,
            reason,
        });
        write_states(&mut tx, &changes.collect::<Vec<_>>(), now).await?;
        // Last: what is held back is due again later, in the same lane.
        correct_lanes(&mut tx, &lanes).await?;
        let sent = verdict.sent.into_iter().map(|(lease, _)| lease).collect();
        match tx.commit().await {
            Err(error) if error.is_unknown() => self.held(by.owner, sent, error).await,
            committed => committed.map(|()| sent),
        }
    }

    /// Those of the leases that were written by a transaction of which nobody knows whether it was. The others are leased
    /// again, by whomever.
    async fn held(
        &self,
        owner: &str,
        mut leases: Vec<Lease>,
        error: StoreError,
    ) -> Result<Vec<Lease>, StoreError> {
        tracing::warn!(%error, "a lease of messages got no answer; looking up which of them are leased");
        let look = || {
            sql("-- lease: held
                 SELECT message_id, attempts FROM queue
                 WHERE lease_owner = $1 AND message_id IN (SELECT unhex(value) FROM json_each($2))")
            .bind(owner)
            .ids(leases.iter().map(|it| it.message_id))
        };
        let looked = self.look_up_outcome(LEASE_OUTCOME_WAIT, look).await;
        let Some(rows) = looked else { return Err(error) };
        let held: HashSet<(MessageId, u32)> = rows
            .iter()
            .map(|row| Ok((column(row, "message_id")?, column(row, "attempts")?)))
            .collect::<Result<_, StoreError>>()?;
        leases.retain(|it| held.contains(&(it.message_id, it.attempt)));
        Ok(leases)
    }

    /// The stored RFC 5322 message; none where its body is missing or damaged.
    pub async fn body(&self, id: MessageId) -> Result<Option<Vec<u8>>, StoreError> {
        let row = sql(BODY).bind(id).optional(&self.db.readers).await?;
        row.map_or(Ok(None), |row| unpacked(&row))
    }

    /// As [`Store::body`], for a delivery: with SQLite the body is read on the calling thread, without a hop to another one.
    pub async fn body_to_deliver(&self, id: MessageId) -> Result<Option<Vec<u8>>, StoreError> {
        let row = sql(BODY).bind(id).optional(&self.db.deliveries).await?;
        row.map_or(Ok(None), |row| unpacked(&row))
    }

    /// Whether the newest event is of the future: the clock was ahead when it was written.
    pub async fn is_ahead_of(&self, now: Timestamp) -> Result<bool, StoreError> {
        let newest = sql("-- is_ahead_of
             SELECT created_at FROM events ORDER BY sequence DESC LIMIT 1")
        .optional(&self.db.readers)
        .await?;
        let newest = newest.map(|row| column::<i64>(&row, "created_at")).transpose()?;
        Ok(newest.is_some_and(|newest| newest > now.millis()))
    }

    /// Makes messages due again as early as they would be if the clock had never shown a later time
    /// than `now`. Answers how many. It reads the whole queue.
    pub async fn mend_due_times(&self, now: Timestamp) -> Result<u64, StoreError> {
        // CROSS JOIN: from the queue to its messages, not through all messages.
        sql(
            "-- mend_due_times
             UPDATE queue SET due_at = ahead.due_at, 
                 first_at = CASE WHEN queue.first_at < $1 THEN queue.first_at ELSE $1 END
             FROM (SELECT q.message_id, 
                          $1 + CASE WHEN q.due_at > m.updated_at THEN q.due_at - m.updated_at ELSE 0 END AS due_at
                   FROM queue q CROSS JOIN messages m ON m.id = q.message_id
                   WHERE m.updated_at > $1 AND q.lease_owner IS NULL AND m.state <> $2) AS ahead
             WHERE queue.message_id = ahead.message_id",
        )
        .bind(now.millis())
        .bind(MessageState::Scheduled.as_str())
        .run(&self.db.writer)
        .await
    }

    /// When a lane that is not due at `now` is due next; none where there is none. It may be early: a
    /// message may have been canceled.
    pub async fn next_due(&self, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        let row = sql(NEXT_DUE).bind(now.millis()).one(&self.db.deliveries).await?;
        Ok(column::<Option<i64>>(&row, "due")?.map(Timestamp::from_millis))
    }
}

/// Writes down when lanes are due next, after messages have left them. Where other transactions write at the same time, the
/// caller has locked the lanes: a message that enters a lane waits for the lock, or is seen here.
pub(super) async fn correct_lanes(tx: &mut Tx, lanes: &BTreeSet<Lane>) -> Result<(), StoreError> {
    for statement in [REMOVE_EMPTY_LANE, RAISE_LANE] {
        each(statement, lanes.iter().map(|it| args![&it.name, it.account_id]))
            .run(&mut *tx)
            .await?;
    }
    Ok(())
}

pub(super) fn lane(row: &Row) -> Result<Lane, StoreError> {
    Ok(Lane { name: column(row, "lane")?, account_id: column(row, "account_id")? })
}

pub(super) fn due(row: &Row) -> Result<Due, StoreError> {
    Ok(Due {
        message_id: column(row, "message_id")?,
        account_id: column(row, "account_id")?,
        lane: column(row, "lane")?,
        due_at: Timestamp::from_millis(column(row, "due_at")?),
        is_wanted: column(row, "is_wanted")?,
        octets: column(row, "octets")?,
        attempts: column(row, "attempts")?,
        first_at: column::<Option<i64>>(row, "first_at")?.map(Timestamp::from_millis),
    })
}

/// The messages of claimed rows, and the identifiers of those that cannot be read: one broken row must
/// not hold up the others.
async fn read_leases(
    tx: &mut Tx,
    claimed: &[Row],
) -> Result<(Vec<Lease>, Vec<(MessageId, AccountId)>), StoreError> {
    let ids: Vec<MessageId> =
        claimed.iter().map(|row| column(row, "message_id")).collect::<Result<_, StoreError>>()?;
    let found = each(
        "-- lease: read
         SELECT id, account_id, sender, domain_id, coalesce(return_path, sender) AS return_path, recipient, route
         FROM messages WHERE id = $1",
        ids.iter().map(|id| args![*id]),
    )
    .find(tx)
    .await?;
    let mut leases = Vec::with_capacity(claimed.len());
    let mut unreadable = Vec::new();
    for ((claim, id), row) in claimed.iter().zip(ids).zip(found) {
        let first_at = Timestamp::from_millis(column(claim, "first_at")?);
        let missing = || StoreError::Missing { noun: "message", name: id.to_string() };
        let read = row.ok_or_else(missing);
        match read.and_then(|row| lease(&row, column(claim, "attempts")?, first_at)) {
            Ok(lease) => leases.push(lease),
            Err(error) => {
                tracing::error!(message_id = %id, %error, "message row in the database cannot be read; the message is marked as failed");
                unreadable.push((id, column(claim, "account_id")?));
            }
        }
    }
    leases.sort_unstable_by_key(|it| it.message_id);
    Ok((leases, unreadable))
}

fn lease(row: &Row, attempt: u32, first_at: Timestamp) -> Result<Lease, StoreError> {
    let route: String = column(row, "route")?;
    Ok(Lease {
        message_id: column(row, "id")?,
        account_id: column(row, "account_id")?,
        sender: match column::<&str>(row, "return_path")? {
            "" => None,
            _ => Some(parsed(row, "messages", "return_path")?),
        },
        author: parsed(row, "messages", "sender")?,
        domain: column(row, "domain_id")?,
        recipient: parsed(row, "messages", "recipient")?,
        route: match route.as_str() {
            "sandbox" => RouteChoice::Sandbox,
            "configured" => RouteChoice::Configured,
            _ => return Err(inconsistent("messages", "route", &route)),
        },
        attempt,
        first_at,
    })
}
