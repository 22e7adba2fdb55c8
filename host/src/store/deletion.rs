//! Deletes an account kind by kind, in small transactions, and its own row last. The rows that are left are found by an
//! index, or by a read beside those who write, so a deletion that begins again after a crash goes on with them.
//!
//! When each kind goes is decided in `upkeep/account_deletion`.

mod ledger;

use super::Store;
use super::database::{Row, args, column, each, sql};
use super::events::{ACCEPTED, StateChange};
use super::retention::{BATCH_BODY_BYTES, DROP_MESSAGES, Walked};
use super::settle::write_states;
use super::users::delete_user;
use crate::clock::Timestamp;
use crate::id::{AccountId, DecisionId, MessageId, UserId};
use crate::message::state::MessageState;
use crate::store::StoreError;

/// Messages that one transaction cancels.
const CANCELED_AT_ONE_TIME: usize = 100;
/// Hours, or days, of counts that one statement deletes.
const COUNTED_PERIODS: i64 = 200;

const LOOK_FOR_WAITING: &str = "-- cancel_waiting_of: look
    SELECT message_id, account_id = $3 AS is_own, lease_owner IS NOT NULL AS is_leased
    FROM queue WHERE message_id > $1 ORDER BY message_id LIMIT $2";

/// What programs and people come in by, and what sends are made of. Each statement deletes some rows; what refers to
/// others goes before them.
const ACCESS: [&str; 12] = [
    "-- drop_access_of: keys
     DELETE FROM keys WHERE id IN (SELECT id FROM keys WHERE account_id = $1 LIMIT $2)",
    "-- drop_access_of: template uses
     DELETE FROM template_uses WHERE (block_id, template_id, revision) IN
         (SELECT u.block_id, u.template_id, u.revision
          FROM templates t CROSS JOIN template_uses u ON u.template_id = t.id
          WHERE t.account_id = $1 LIMIT $2)",
    "-- drop_access_of: republications
     DELETE FROM template_republications WHERE (template_id, revision) IN
         (SELECT r.template_id, r.revision
          FROM templates t CROSS JOIN template_republications r ON r.template_id = t.id
          WHERE t.account_id = $1 LIMIT $2)",
    "-- drop_access_of: dictionaries
     DELETE FROM dictionaries WHERE (template_id, revision) IN
         (SELECT d.template_id, d.revision
          FROM templates t CROSS JOIN dictionaries d ON d.template_id = t.id
          WHERE t.account_id = $1 LIMIT $2)",
    "-- drop_access_of: versions
     DELETE FROM template_versions WHERE (template_id, revision) IN
         (SELECT v.template_id, v.revision
          FROM templates t CROSS JOIN template_versions v ON v.template_id = t.id
          WHERE t.account_id = $1 LIMIT $2)",
    "-- drop_access_of: templates
     DELETE FROM templates WHERE id IN (SELECT id FROM templates WHERE account_id = $1 LIMIT $2)",
    // With what was seen of their records, and their DKIM keys.
    "-- drop_access_of: domains
     DELETE FROM domains WHERE id IN (SELECT id FROM domains WHERE account_id = $1 LIMIT $2)",
    "-- drop_access_of: suppressions
     DELETE FROM suppressions WHERE (account_id, address) IN
         (SELECT account_id, address FROM suppressions WHERE account_id = $1 LIMIT $2)",
    "-- drop_access_of: kept answers
     DELETE FROM idempotency WHERE (account_id, mode, key) IN
         (SELECT account_id, mode, key FROM idempotency WHERE account_id = $1 LIMIT $2)",
    "-- drop_access_of: invitations
     DELETE FROM invitations WHERE (account_id, address, created_at) IN
         (SELECT account_id, address, created_at FROM invitations WHERE account_id = $1 LIMIT $2)",
    "-- drop_access_of: confirmations
     DELETE FROM confirmation_mails WHERE hash IN
         (SELECT hash FROM confirmation_mails WHERE account_id = $1 LIMIT $2)",
    "-- drop_access_of: test recipients
     DELETE FROM test_recipients WHERE (account_id, address) IN
         (SELECT account_id, address FROM test_recipients WHERE account_id = $1 LIMIT $2)",
];

/// People who are in another account, or manage the server, keep their log-in.
const PEOPLE: &str = "-- drop_people_of: which
    SELECT m.user_id,
           u.is_operator = TRUE OR EXISTS (SELECT 1 FROM memberships o
                                           WHERE o.user_id = m.user_id AND o.account_id <> m.account_id) AS stays
    FROM memberships m JOIN users u ON u.id = m.user_id
    WHERE m.account_id = $1 ORDER BY m.user_id LIMIT $2";

/// Goes from period to period, the oldest first, because the index of messages by account begins with the period.
const NEXT_MESSAGES: &str = "-- next_messages_of
    SELECT m.id, p.period, coalesce(m.decision_id, m.id) AS decision,
           CAST(coalesce(length(b.bytes), 0) AS BIGINT) AS bytes
    FROM periods p CROSS JOIN messages m ON m.period = p.period AND m.account_id = p.account_id
    LEFT JOIN bodies b ON b.message_id = m.id
    WHERE p.account_id = $1 ORDER BY p.period LIMIT $2";
const SANDBOX_MAILS: &str = "-- sandbox_mails_of
    SELECT m.recipient, m.sender, m.created_at, a.ended_at
    FROM attempts a CROSS JOIN messages m ON m.id = a.message_id
    WHERE a.message_id IN (SELECT unhex(value) FROM json_each($1)) AND a.route = 'sandbox'";
const DROP_BODIES: &str = "-- drop_messages_of: bodies
    DELETE FROM bodies WHERE message_id IN (SELECT unhex(value) FROM json_each($1))";
const DROP_SAMPLES: &str = "-- drop_messages_of: samples
    DELETE FROM samples WHERE decision_id IN (SELECT unhex(value) FROM json_each($1))";
const DROP_EMPTY_PERIODS: &str = "-- drop_messages_of: empty periods
    DELETE FROM periods WHERE account_id = $1 AND period < $2";

const LOOK_FOR_REFUSALS: &str = "-- drop_refusals_of: look
    SELECT id, account_id = $3 AS is_own FROM decisions WHERE id > $1 ORDER BY id LIMIT $2";
const LOOK_FOR_EVENTS: &str = "-- drop_events_of: look
    SELECT sequence, coalesce(account_id = $3, FALSE) AS is_own
    FROM events WHERE sequence > $1 ORDER BY sequence LIMIT $2";

/// Where counts begin behind a period, and how those of some periods are deleted.
const COUNTS: [(&str, &str); 4] = [
    (
        "-- drop_counts_of: next hour\nSELECT min(period) AS period FROM sent WHERE period >= $1",
        "-- drop_counts_of: by hour
         DELETE FROM sent WHERE account_id = $1 AND period IN (SELECT value FROM json_each($2))
                            AND state IN (SELECT value FROM json_each($3))",
    ),
    (
        "-- drop_counts_of: next day\nSELECT min(day) AS period FROM usage WHERE day >= $1",
        "-- drop_counts_of: by day
         DELETE FROM usage WHERE account_id = $1 AND day IN (SELECT value FROM json_each($2))",
    ),
    (
        "-- drop_counts_of: next day of templates
         SELECT min(day) AS period FROM template_usage WHERE day >= $1",
        "-- drop_counts_of: templates
         DELETE FROM template_usage
         WHERE account_id = $1 AND day IN (SELECT value FROM json_each($2))",
    ),
    (
        "-- drop_counts_of: next day of failures
         SELECT min(day) AS period FROM template_failures WHERE day >= $1",
        "-- drop_counts_of: failures
         DELETE FROM template_failures
         WHERE account_id = $1 AND day IN (SELECT value FROM json_each($2))",
    ),
];

/// What goes when nothing is left that could write more of it.
const LAST: [&str; 2] = [
    "-- drop_last_of: periods
     DELETE FROM periods WHERE (account_id, period) IN
         (SELECT account_id, period FROM periods WHERE account_id = $1 LIMIT $2)",
    "-- drop_last_of: audit
     DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE account_id = $1 LIMIT $2)",
];

/// What was found among some messages of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CanceledOf {
    pub canceled: u64,
    /// Messages of the account that are leased, or were leased just now.
    pub under_way: u64,
    /// Behind what the next look begins; none at the end of the queue.
    pub next: Option<MessageId>,
}

/// Some messages of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletedMessages {
    ids: Vec<MessageId>,
    decisions: Vec<DecisionId>,
    /// The period of the first message: the account has no message of an earlier one.
    period: i64,
}

/// Where the copy of a message stands in the sandbox inbox, which does not know whose mail it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxMail {
    pub recipient: String,
    /// The author: the address in From.
    pub sender: String,
    /// The copy was received at this time, or later.
    pub since: Timestamp,
    /// The copy was received at this time, or earlier.
    pub until: Timestamp,
}

impl DeletedMessages {
    #[must_use]
    pub fn len(&self) -> u64 {
        u64::try_from(self.ids.len()).unwrap_or(u64::MAX)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}

impl Store {
    /// Accounts whose deletion was ordered, in the order of their opening.
    pub async fn accounts_being_deleted(&self) -> Result<Vec<AccountId>, StoreError> {
        let rows = sql("-- accounts_being_deleted
             SELECT id FROM accounts WHERE state = 'deleting' ORDER BY id")
        .all(&self.db.readers)
        .await?;
        rows.iter().map(|row| column(row, "id")).collect()
    }

    /// Looks at up to `limit` messages of the queue behind `after`, and cancels those of an account that nobody holds:
    /// each with its event, and refunded as after every cancellation.
    ///
    /// # Errors
    /// The database failed; some may be canceled by then.
    pub async fn cancel_waiting_of(
        &self,
        account: AccountId,
        after: MessageId,
        limit: u32,
        now: Timestamp,
    ) -> Result<CanceledOf, StoreError> {
        let rows = sql(LOOK_FOR_WAITING)
            .bind(after)
            .bind(limit)
            .bind(account)
            .all(&self.db.readers)
            .await?;
        let next = rows.last().map(|row| column(row, "message_id")).transpose()?;
        let mut found = CanceledOf { canceled: 0, under_way: 0, next };
        let mut waiting: Vec<MessageId> = Vec::new();
        for row in &rows {
            if !column::<bool>(row, "is_own")? {
                continue;
            }
            if column::<bool>(row, "is_leased")? {
                found.under_way += 1;
            } else {
                waiting.push(column(row, "message_id")?);
            }
        }
        for some in waiting.chunks(CANCELED_AT_ONE_TIME) {
            let mut tx = self.db.begin("cancel_waiting_of").await?;
            let taken = sql("-- cancel_waiting_of: queue
                 DELETE FROM queue WHERE message_id IN (SELECT unhex(value) FROM json_each($1))
                                     AND lease_owner IS NULL
                 RETURNING message_id")
            .ids(some.iter().copied())
            .all(&mut tx)
            .await?;
            let taken: Vec<MessageId> = taken
                .iter()
                .map(|row| column(row, "message_id"))
                .collect::<Result<_, StoreError>>()?;
            let change = |message: &MessageId| StateChange {
                message: *message,
                account,
                state: MessageState::Canceled,
                reason: "its account is being deleted",
            };
            write_states(&mut tx, &taken.iter().map(change).collect::<Vec<_>>(), now).await?;
            tx.commit().await?;
            let canceled = u64::try_from(taken.len()).unwrap_or(u64::MAX);
            found.canceled += canceled;
            found.under_way += u64::try_from(some.len()).unwrap_or(u64::MAX) - canceled;
        }
        Ok(found)
    }

    /// Deletes some keys, templates, domains, suppressions, kept answers, invitations or test recipients of an account.
    /// Answers how many; 0 when there is none left.
    pub async fn drop_access_of(&self, account: AccountId, limit: u32) -> Result<u64, StoreError> {
        for statement in ACCESS {
            let gone = sql(statement).bind(account).bind(limit).run(&self.db.writer).await?;
            if gone > 0 {
                return Ok(gone);
            }
        }
        Ok(0)
    }

    /// Takes some people out of an account; those who are in no other and manage no server lose their log-in. Answers how
    /// many; 0 when nobody is left.
    pub async fn drop_people_of(&self, account: AccountId, limit: u32) -> Result<u64, StoreError> {
        let mut tx = self.db.begin("drop_people_of").await?;
        let people = sql(PEOPLE).bind(account).bind(limit).all(&mut tx).await?;
        for row in &people {
            let user: UserId = column(row, "user_id")?;
            if !column::<bool>(row, "stays")? {
                delete_user(&mut tx, user).await?;
                continue;
            }
            sql("-- drop_people_of: memberships
                 DELETE FROM memberships WHERE user_id = $1 AND account_id = $2")
            .bind(user)
            .bind(account)
            .run(&mut tx)
            .await?;
        }
        // The sessions and links of people who keep their log-in, and the sessions of operators who act as the account.
        for statement in [
            "-- drop_people_of: sessions
             UPDATE sessions SET account_id = NULL WHERE account_id = $1",
            "-- drop_people_of: acting
             UPDATE sessions SET acting_as = NULL WHERE acting_as = $1",
            "-- drop_people_of: links
             DELETE FROM one_time_links WHERE account_id = $1",
        ] {
            sql(statement).bind(account).run(&mut tx).await?;
        }
        tx.commit().await?;
        Ok(u64::try_from(people.len()).unwrap_or(u64::MAX))
    }

    /// The next messages of an account to delete, at most `limit`, and fewer where their bodies are large.
    pub async fn next_messages_of(
        &self,
        account: AccountId,
        limit: u32,
    ) -> Result<DeletedMessages, StoreError> {
        let rows = sql(NEXT_MESSAGES).bind(account).bind(limit).all(&self.db.readers).await?;
        let mut found =
            DeletedMessages { ids: Vec::new(), decisions: Vec::new(), period: i64::MIN };
        let mut bytes = 0;
        for row in &rows {
            bytes += column::<i64>(row, "bytes")?;
            if found.is_empty() {
                found.period = column(row, "period")?;
            } else if bytes > BATCH_BODY_BYTES {
                break;
            }
            found.ids.push(column(row, "id")?);
            found.decisions.push(column(row, "decision")?);
        }
        Ok(found)
    }

    /// Where the copies of these messages stand in the sandbox inbox.
    pub async fn sandbox_mails_of(
        &self,
        messages: &DeletedMessages,
    ) -> Result<Vec<SandboxMail>, StoreError> {
        let rows = sql(SANDBOX_MAILS).ids(messages.ids.iter().copied());
        let rows = rows.all(&self.db.readers).await?;
        let mail = |row: &Row| {
            Ok(SandboxMail {
                recipient: column(row, "recipient")?,
                sender: column(row, "sender")?,
                since: Timestamp::from_millis(column(row, "created_at")?),
                until: Timestamp::from_millis(column(row, "ended_at")?),
            })
        };
        rows.iter().map(mail).collect()
    }

    /// Deletes messages of an account with their bodies, events, attempts and recorded calls of plugins. Whether an event
    /// was handed to webhooks does not count: the account has none any more.
    pub async fn drop_messages_of(
        &self,
        account: AccountId,
        messages: &DeletedMessages,
    ) -> Result<(), StoreError> {
        let mut tx = self.db.begin("drop_messages_of").await?;
        sql(DROP_SAMPLES).ids(messages.decisions.iter().copied()).run(&mut tx).await?;
        sql(DROP_BODIES).ids(messages.ids.iter().copied()).run(&mut tx).await?;
        for statement in DROP_MESSAGES {
            sql(statement).ids(messages.ids.iter().copied()).run(&mut tx).await?;
        }
        sql(DROP_EMPTY_PERIODS).bind(account).bind(messages.period).run(&mut tx).await?;
        tx.commit().await
    }

    /// Deletes what plugins decided about refused sends of an account, with the recorded calls. Looks at up to `limit`
    /// refusals of all accounts behind `after`.
    pub async fn drop_refusals_of(
        &self,
        account: AccountId,
        after: DecisionId,
        limit: u32,
    ) -> Result<Walked<DecisionId>, StoreError> {
        let rows = sql(LOOK_FOR_REFUSALS)
            .bind(after)
            .bind(limit)
            .bind(account)
            .all(&self.db.readers)
            .await?;
        let next = rows.last().map(|row| column(row, "id")).transpose()?;
        let mut own: Vec<DecisionId> = Vec::new();
        for row in &rows {
            if column::<bool>(row, "is_own")? {
                own.push(column(row, "id")?);
            }
        }
        if own.is_empty() {
            return Ok(Walked { dropped: 0, next });
        }
        let mut tx = self.db.begin("drop_refusals_of").await?;
        for statement in [
            "-- drop_refusals_of: samples
             DELETE FROM samples WHERE decision_id IN (SELECT unhex(value) FROM json_each($1))",
            "-- drop_refusals_of
             DELETE FROM decisions WHERE id IN (SELECT unhex(value) FROM json_each($1))",
        ] {
            sql(statement).ids(own.iter().copied()).run(&mut tx).await?;
        }
        tx.commit().await?;
        Ok(Walked { dropped: u64::try_from(own.len()).unwrap_or(u64::MAX), next })
    }

    /// Deletes the events of an account that are about no message. Looks at up to `limit` events of all accounts behind
    /// `after`.
    pub async fn drop_events_of(
        &self,
        account: AccountId,
        after: i64,
        limit: u32,
    ) -> Result<Walked<i64>, StoreError> {
        let rows = sql(LOOK_FOR_EVENTS)
            .bind(after)
            .bind(limit)
            .bind(account)
            .all(&self.db.readers)
            .await?;
        let next = rows.last().map(|row| column(row, "sequence")).transpose()?;
        let mut own: Vec<i64> = Vec::new();
        for row in &rows {
            if column::<bool>(row, "is_own")? {
                own.push(column(row, "sequence")?);
            }
        }
        if own.is_empty() {
            return Ok(Walked { dropped: 0, next });
        }
        let dropped = sql("-- drop_events_of
             DELETE FROM events WHERE sequence IN (SELECT value FROM json_each($1))")
        .numbers(&own)
        .run(&self.db.writer)
        .await?;
        Ok(Walked { dropped, next })
    }

    /// Deletes the counts of an account, some hours or days of one table at a time. Answers how many.
    pub async fn drop_counts_of(&self, account: AccountId) -> Result<u64, StoreError> {
        let mut states: Vec<&str> = MessageState::ALL.map(MessageState::as_str).to_vec();
        states.push(ACCEPTED);
        let mut gone = 0;
        for (number, (look, delete)) in COUNTS.into_iter().enumerate() {
            let mut from = i64::MIN;
            loop {
                let row = sql(look).bind(from).one(&self.db.readers).await?;
                let Some(first) = column::<Option<i64>>(&row, "period")? else { break };
                from = first.saturating_add(COUNTED_PERIODS);
                let periods: Vec<i64> = (first..from).collect();
                let statement = sql(delete).bind(account).numbers(&periods);
                // The first of the four tables is counted by state, too.
                let statement = if number == 0 { statement.list(&states) } else { statement };
                gone += statement.run(&self.db.writer).await?;
            }
        }
        Ok(gone)
    }

    /// Deletes some lanes of an account of which nothing waits any more. Answers how many; 0 when there is none left.
    pub async fn drop_lanes_of(&self, account: AccountId, limit: u32) -> Result<u64, StoreError> {
        let lanes = sql("-- drop_lanes_of: look
             SELECT lane FROM lanes WHERE account_id = $1 LIMIT $2")
        .bind(account)
        .bind(limit)
        .all(&self.db.readers)
        .await?;
        let lanes: Vec<String> =
            lanes.iter().map(|row| column(row, "lane")).collect::<Result<_, StoreError>>()?;
        if lanes.is_empty() {
            return Ok(0);
        }
        let mut tx = self.db.begin("drop_lanes_of").await?;
        each(
            "-- drop_lanes_of\nDELETE FROM lanes WHERE lane = $1 AND account_id = $2",
            lanes.iter().map(|lane| args![lane, account]),
        )
        .run(&mut tx)
        .await?;
        tx.commit().await?;
        Ok(u64::try_from(lanes.len()).unwrap_or(u64::MAX))
    }

    /// Deletes what is left at the end: the hours in which the account has sent, and its part of the audit log. Answers
    /// how many; 0 when there is none left.
    pub async fn drop_last_of(&self, account: AccountId, limit: u32) -> Result<u64, StoreError> {
        for statement in LAST {
            let gone = sql(statement).bind(account).bind(limit).run(&self.db.writer).await?;
            if gone > 0 {
                return Ok(gone);
            }
        }
        Ok(0)
    }
}
