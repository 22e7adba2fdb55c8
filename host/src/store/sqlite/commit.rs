//! One transaction for many sends: debit, message, body, queue row, event, decision, idempotency.
//!
//! What is accepted is decided inside the transaction, under the write lock: the balance that a
//! job sees already holds the debits of the jobs before it. The rows are then written table by
//! table, many a statement.

use std::collections::{BTreeSet, HashMap, HashSet};

use sqlx::{QueryBuilder, Sqlite as Driver, Transaction};

use super::Sqlite;
use super::row::{column, inconsistent, to_json};
use crate::clock::Timestamp;
use crate::credit::Credits;
use crate::id::{AccountId, EventId, KeyId};
use crate::message::state::MessageState;
use crate::store::StoreError;
use crate::store::records::{Answer, Job, JobOutcome, NewMessage, Slot};

/// Rows a statement: 100 rows of 17 columns stay far below SQLite's 32,766 parameters.
const ROWS: usize = 100;
const IDEMPOTENCY_KEPT_MS: i64 = 24 * 60 * 60 * 1_000;

/// What the transaction knows before it decides.
struct Known {
    revision: i64,
    balances: HashMap<AccountId, i64>,
    suppressed: HashSet<(AccountId, String)>,
    answers: HashMap<(AccountId, String), (Vec<u8>, Vec<Answer>)>,
}

/// A message that was accepted, with the state that it starts in.
struct Accepted<'a> {
    account: AccountId,
    key: KeyId,
    message: &'a NewMessage,
    state: MessageState,
    reason: &'static str,
    charged: Credits,
}

/// An answer to keep for a client that asks again.
struct Kept<'a> {
    account: AccountId,
    key: &'a str,
    body_hash: &'a [u8; 32],
    answer: String,
}

impl Sqlite {
    /// Commits jobs in one transaction and says what became of each, in order.
    ///
    /// # Errors
    /// The database failed; nothing of any job was written.
    pub async fn commit(
        &self,
        jobs: &[Job],
        now: Timestamp,
    ) -> Result<Vec<JobOutcome>, StoreError> {
        let mut tx = self.begin().await?;
        let mut known = known(&mut tx, jobs, now).await?;
        let mut accepted = Vec::new();
        let mut kept = Vec::new();
        let mut outcomes = Vec::with_capacity(jobs.len());
        for job in jobs {
            outcomes.push(known.decide(job, now, &mut accepted, &mut kept));
        }
        if accepted.is_empty() {
            tx.rollback().await.map_err(StoreError::during("commit"))?;
            return Ok(outcomes);
        }
        write(&mut tx, &accepted, &kept, now).await?;
        tx.commit().await.map_err(StoreError::during("commit"))?;
        Ok(outcomes)
    }
}

impl Known {
    fn decide<'a>(
        &mut self,
        job: &'a Job,
        now: Timestamp,
        accepted: &mut Vec<Accepted<'a>>,
        kept: &mut Vec<Kept<'a>>,
    ) -> JobOutcome {
        if let Some(idempotency) = &job.idempotency {
            let key = (job.account_id, idempotency.key.clone());
            if let Some((hash, answers)) = self.answers.get(&key) {
                return if hash[..] == idempotency.body_hash {
                    JobOutcome::Replayed(answers.clone())
                } else {
                    JobOutcome::KeyConflict
                };
            }
        }
        if job.revision != self.revision {
            return JobOutcome::Stale;
        }
        let before = accepted.len();
        let answers: Vec<Answer> =
            job.slots.iter().map(|slot| self.answer(job, slot, now, accepted)).collect();
        if let Some(idempotency) = &job.idempotency
            && accepted.len() > before
        {
            let key = (job.account_id, idempotency.key.clone());
            self.answers.insert(key, (idempotency.body_hash.to_vec(), answers.clone()));
            kept.push(Kept {
                account: job.account_id,
                key: &idempotency.key,
                body_hash: &idempotency.body_hash,
                answer: to_json(&answers),
            });
        }
        JobOutcome::Answered(answers)
    }

    fn answer<'a>(
        &mut self,
        job: &'a Job,
        slot: &'a Slot,
        now: Timestamp,
        accepted: &mut Vec<Accepted<'a>>,
    ) -> Answer {
        let message = match slot {
            Slot::Message(message) => message,
            Slot::Refused(refusal) => return Answer::Refused { refusal: refusal.clone() },
        };
        let balance = self.balances.entry(job.account_id).or_insert(0);
        let suppressed = self.suppressed.contains(&(job.account_id, message.recipient.folded()));
        let (state, reason, charged) = if suppressed {
            (MessageState::Suppressed, "the recipient is on the suppression list", Credits(0))
        } else if message.send_at.is_some_and(|at| at > now) {
            (MessageState::Scheduled, "accepted; waits for its sendAt", message.price)
        } else {
            (MessageState::Queued, "accepted", message.price)
        };
        if charged.0 > *balance {
            return Answer::Insufficient { required: charged, balance: Credits(*balance) };
        }
        *balance -= charged.0;
        accepted.push(Accepted {
            account: job.account_id,
            key: job.key_id,
            message,
            state,
            reason,
            charged,
        });
        Answer::Accepted { message_id: message.id, credits_remaining: Credits(*balance), state }
    }
}

async fn known(
    tx: &mut Transaction<'_, Driver>,
    jobs: &[Job],
    now: Timestamp,
) -> Result<Known, StoreError> {
    let during = || StoreError::during("commit: read");
    let revision = sqlx::query("-- commit: revision\nSELECT value FROM revision")
        .fetch_one(&mut **tx)
        .await
        .map_err(during())?;
    let accounts: BTreeSet<String> = jobs.iter().map(|job| job.account_id.to_string()).collect();
    let rows = sqlx::query(
        "-- commit: balances
         SELECT id, balance FROM accounts WHERE id IN (SELECT value FROM json_each(?))",
    )
    .bind(to_json(&accounts))
    .fetch_all(&mut **tx)
    .await
    .map_err(during())?;
    let mut known = Known {
        revision: column(&revision, "value")?,
        balances: HashMap::with_capacity(rows.len()),
        suppressed: HashSet::new(),
        answers: HashMap::new(),
    };
    for row in &rows {
        known.balances.insert(super::row::parsed(row, "accounts", "id")?, column(row, "balance")?);
    }
    let recipients: BTreeSet<String> = jobs
        .iter()
        .flat_map(|job| &job.slots)
        .filter_map(|slot| match slot {
            Slot::Message(message) => Some(message.recipient.folded()),
            Slot::Refused(_) => None,
        })
        .collect();
    let rows = sqlx::query(
        "-- commit: suppressions
         SELECT account_id, address FROM suppressions
         WHERE account_id IN (SELECT value FROM json_each(?1))
           AND address IN (SELECT value FROM json_each(?2))",
    )
    .bind(to_json(&accounts))
    .bind(to_json(&recipients))
    .fetch_all(&mut **tx)
    .await
    .map_err(during())?;
    for row in &rows {
        let account = super::row::parsed(row, "suppressions", "account_id")?;
        known.suppressed.insert((account, column(row, "address")?));
    }
    let keys: Vec<&str> =
        jobs.iter().filter_map(|job| job.idempotency.as_ref()).map(|it| it.key.as_str()).collect();
    if keys.is_empty() {
        return Ok(known);
    }
    let rows = sqlx::query(
        "-- commit: idempotency
         SELECT account_id, key, body_hash, answer FROM idempotency
         WHERE account_id IN (SELECT value FROM json_each(?1))
           AND key IN (SELECT value FROM json_each(?2)) AND expires_at > ?3",
    )
    .bind(to_json(&accounts))
    .bind(to_json(&keys))
    .bind(now.millis())
    .fetch_all(&mut **tx)
    .await
    .map_err(during())?;
    for row in &rows {
        let account = super::row::parsed(row, "idempotency", "account_id")?;
        let answers: Vec<Answer> = super::row::json(row, "idempotency", "answer")?;
        known.answers.insert((account, column(row, "key")?), (column(row, "body_hash")?, answers));
    }
    Ok(known)
}

async fn write(
    tx: &mut Transaction<'_, Driver>,
    accepted: &[Accepted<'_>],
    kept: &[Kept<'_>],
    now: Timestamp,
) -> Result<(), StoreError> {
    for rows in accepted.chunks(ROWS) {
        write_messages(tx, rows, now).await?;
        write_debits(tx, rows, now).await?;
    }
    write_usage(tx, accepted, now).await?;
    for kept in kept {
        sqlx::query(
            "-- commit: keep an answer
             INSERT INTO idempotency (account_id, key, body_hash, answer, expires_at)
             VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT (account_id, key) DO UPDATE SET body_hash = excluded.body_hash,
                 answer = excluded.answer, expires_at = excluded.expires_at
             WHERE expires_at <= ?6",
        )
        .bind(kept.account.to_string())
        .bind(kept.key)
        .bind(kept.body_hash.to_vec())
        .bind(&kept.answer)
        .bind(now.millis() + IDEMPOTENCY_KEPT_MS)
        .bind(now.millis())
        .execute(&mut **tx)
        .await
        .map_err(StoreError::during("commit: keep an answer"))
        .and_then(|done| match done.rows_affected() {
            1 => Ok(()),
            _ => Err(inconsistent("idempotency", "key", kept.key)),
        })?;
    }
    Ok(())
}

async fn write_messages(
    tx: &mut Transaction<'_, Driver>,
    rows: &[Accepted<'_>],
    now: Timestamp,
) -> Result<(), StoreError> {
    let mut query = QueryBuilder::<Driver>::new(
        "INSERT INTO messages (id, account_id, key_id, channel, template_slug, template_revision, \
         sender, recipient, subject, route, state, reason, credits, tags, metadata, created_at, \
         updated_at) ",
    );
    query.push_values(rows, |mut b, row| {
        let message = row.message;
        let template = message.template.as_ref();
        b.push_bind(message.id.to_string())
            .push_bind(row.account.to_string())
            .push_bind(row.key.to_string())
            .push_bind(message.channel)
            .push_bind(template.map(|(slug, _)| slug.clone()))
            .push_bind(template.map(|(_, revision)| i64::try_from(*revision).unwrap_or(i64::MAX)))
            .push_bind(message.sender.to_string())
            .push_bind(message.recipient.to_string())
            .push_bind(message.subject.clone())
            .push_bind(message.route.word())
            .push_bind(row.state.word())
            .push_bind(row.reason)
            .push_bind(row.charged.0)
            .push_bind(to_json(&message.tags))
            .push_bind(to_json(&message.metadata))
            .push_bind(now.millis())
            .push_bind(now.millis());
    });
    run(tx, query, "commit: messages").await?;

    let mut query = QueryBuilder::<Driver>::new("INSERT INTO bodies (message_id, codec, bytes) ");
    query.push_values(rows, |mut b, row| {
        b.push_bind(row.message.id.to_string())
            .push_bind("lz4")
            .push_bind(row.message.body.bytes().to_vec());
    });
    run(tx, query, "commit: bodies").await?;

    let waiting: Vec<&Accepted<'_>> = rows.iter().filter(|row| !row.state.is_final()).collect();
    if !waiting.is_empty() {
        let mut query = QueryBuilder::<Driver>::new("INSERT INTO queue (message_id, due_at) ");
        query.push_values(waiting, |mut b, row| {
            let due = row.message.send_at.map_or(now, |at| at.max(now));
            b.push_bind(row.message.id.to_string()).push_bind(due.millis());
        });
        run(tx, query, "commit: queue").await?;
    }

    let mut query = QueryBuilder::<Driver>::new(
        "INSERT INTO events (id, message_id, account_id, type, detail, created_at) ",
    );
    query.push_values(rows, |mut b, row| {
        b.push_bind(EventId::new(now).to_string())
            .push_bind(row.message.id.to_string())
            .push_bind(row.account.to_string())
            .push_bind(format!("message.{}", row.state))
            .push_bind(row.reason)
            .push_bind(now.millis());
    });
    run(tx, query, "commit: events").await?;

    let mut query = QueryBuilder::<Driver>::new(
        "INSERT INTO decisions (id, account_id, message_id, outcome, plugins, created_at) ",
    );
    query.push_values(rows, |mut b, row| {
        b.push_bind(row.message.decision_id.to_string())
            .push_bind(row.account.to_string())
            .push_bind(row.message.id.to_string())
            .push_bind("accepted")
            .push_bind(row.message.decisions.to_string())
            .push_bind(now.millis());
    });
    run(tx, query, "commit: decisions").await
}

async fn write_debits(
    tx: &mut Transaction<'_, Driver>,
    rows: &[Accepted<'_>],
    now: Timestamp,
) -> Result<(), StoreError> {
    let charged: Vec<&Accepted<'_>> = rows.iter().filter(|row| row.charged.0 > 0).collect();
    if charged.is_empty() {
        return Ok(());
    }
    let mut query = QueryBuilder::<Driver>::new(
        "INSERT INTO ledger (account_id, kind, amount, message_id, created_at) ",
    );
    query.push_values(charged, |mut b, row| {
        b.push_bind(row.account.to_string())
            .push_bind("debit")
            .push_bind(-row.charged.0)
            .push_bind(row.message.id.to_string())
            .push_bind(now.millis());
    });
    run(tx, query, "commit: debits").await
}

async fn write_usage(
    tx: &mut Transaction<'_, Driver>,
    accepted: &[Accepted<'_>],
    now: Timestamp,
) -> Result<(), StoreError> {
    let mut sent: HashMap<AccountId, i64> = HashMap::new();
    let mut keys: BTreeSet<KeyId> = BTreeSet::new();
    for row in accepted {
        *sent.entry(row.account).or_default() += 1;
        keys.insert(row.key);
    }
    let mut query = QueryBuilder::<Driver>::new("INSERT INTO usage (account_id, day, sent) ");
    query.push_values(sent, |mut b, (account, sent)| {
        b.push_bind(account.to_string()).push_bind(now.day()).push_bind(sent);
    });
    query.push(" ON CONFLICT (account_id, day) DO UPDATE SET sent = sent + excluded.sent");
    run(tx, query, "commit: usage").await?;
    sqlx::query(
        "-- commit: last use of keys, to about a minute
         UPDATE keys SET last_used_at = ?1
         WHERE id IN (SELECT value FROM json_each(?2)) AND coalesce(last_used_at, 0) < ?1 - 60000",
    )
    .bind(now.millis())
    .bind(to_json(&keys))
    .execute(&mut **tx)
    .await
    .map(|_| ())
    .map_err(StoreError::during("commit: last use of keys"))
}

async fn run(
    tx: &mut Transaction<'_, Driver>,
    mut query: QueryBuilder<Driver>,
    operation: &'static str,
) -> Result<(), StoreError> {
    query
        .build()
        .persistent(false)
        .execute(&mut **tx)
        .await
        .map(|_| ())
        .map_err(StoreError::during(operation))
}
