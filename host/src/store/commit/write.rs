//! Writes what was accepted, table by table.

use std::collections::{BTreeMap, HashMap};

use serde_json::json;

use super::super::database::{Row, Tx, args, beside, column, each, inserts, sql, to_json};
use super::super::events::{self, ACCEPTED, About, StateChange, record_event};
use super::super::identities::{Added, Identities};
use crate::account::idempotency::Idempotency;
use crate::clock::Timestamp;
use crate::id::{AccountId, MessageId};
use crate::store::StoreError;
use crate::store::records::{Accepted, Answer, BodyOf, Job, JobOutcome, ReturnPath, Verdict};
use crate::template::version::TemplateRevision;

/// The debits of a transaction: one for each account, whatever number of its messages it pays for.
#[derive(Debug)]
pub struct Debits(BTreeMap<AccountId, Debit>);

#[derive(Debug, Default)]
struct Debit {
    /// Its row of the ledger, which the messages name.
    id: i64,
    amount: i64,
    messages: u32,
}

/// Writes the debits. Where others commit beside, they only get their numbers here, because a debit locks the account:
/// [`counts`] writes them.
pub async fn debits(
    tx: &mut Tx,
    accepted: &[Accepted<'_>],
    now: Timestamp,
) -> Result<Debits, StoreError> {
    let mut debits: BTreeMap<AccountId, Debit> = BTreeMap::new();
    for row in accepted.iter().filter(|row| row.charged.0 > 0) {
        let debit = debits.entry(row.account).or_default();
        debit.amount += row.charged.0;
        debit.messages += 1;
    }
    let numbered = if tx.is_alone() {
        insert_debits(tx, &debits, now).await?
    } else {
        reserve_debits(tx, debits.len()).await?
    };
    for (debit, row) in debits.values_mut().zip(numbered) {
        debit.id = column(&row, "id")?;
    }
    Ok(Debits(debits))
}

/// Writes what was accepted, without anything that another transaction might wait for.
pub async fn messages(
    tx: &mut Tx,
    (accepted, debits): (&[Accepted<'_>], &Debits),
    identities: (&Identities, &mut Added),
    now: Timestamp,
) -> Result<(), StoreError> {
    write_messages(tx, accepted, debits, identities, now).await?;
    write_bodies(tx, accepted).await
}

/// Writes all else that was decided of the jobs: what is to be done, what is paid, counted and answered. Answers an
/// idempotency key that was taken meanwhile; the transaction must not be committed then.
pub async fn counts<'a>(
    tx: &mut Tx,
    (jobs, verdict): (&[Job], &Verdict<'a>),
    debits: &Debits,
    now: Timestamp,
) -> Result<Option<&'a Idempotency>, StoreError> {
    let accepted = &verdict.accepted;
    if !tx.is_alone() {
        insert_reserved_debits(tx, debits, now).await?;
    }
    write_queue(tx, accepted).await?;
    events::count_sent(tx, accepted.iter().map(|row| (row.message.id, row.account, ACCEPTED)))
        .await?;
    let changes = accepted.iter().map(|row| StateChange {
        message: row.message.id,
        account: row.account,
        state: row.state,
        reason: &row.reason,
    });
    events::record_changes(tx, changes, now).await?;
    write_usage(tx, accepted, now).await?;
    for (job, verdict_of_job) in jobs.iter().zip(&verdict.jobs) {
        if let (Some(key), JobOutcome::Answered(answers)) =
            (verdict_of_job.kept_under, &verdict_of_job.outcome)
            && !keep_answers(tx, job, key, answers, verdict.answers_until, now).await?
        {
            return Ok(Some(key));
        }
    }
    for event in &verdict.credit_events {
        let facts = json!({"balance": event.balance, "threshold": event.threshold}).to_string();
        let about = About::of(event.account);
        record_event(tx, event.kind.into(), about, Some(event.account), &facts, now).await?;
    }
    Ok(None)
}

/// Answers whether the key was free.
async fn keep_answers(
    tx: &mut Tx,
    job: &Job,
    key: &Idempotency,
    answers: &[Answer],
    until: Timestamp,
    now: Timestamp,
) -> Result<bool, StoreError> {
    sql("-- commit: keep an answer
         INSERT INTO idempotency (account_id, mode, key, body_hash, answer, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (account_id, mode, key) DO UPDATE SET body_hash = excluded.body_hash,
             answer = excluded.answer, expires_at = excluded.expires_at
         WHERE idempotency.expires_at <= $7")
    .bind(job.account_id)
    .bind(job.mode.as_str())
    .bind(&key.key)
    .bind(&key.body_hash[..])
    .json(answers)
    .bind(until.millis())
    .bind(now.millis())
    .run(tx)
    .await
    .map(|kept| kept == 1)
}

/// Answers the number of each row.
async fn insert_debits(
    tx: &mut Tx,
    debits: &BTreeMap<AccountId, Debit>,
    now: Timestamp,
) -> Result<Vec<Row>, StoreError> {
    let inserted = each(
        "-- commit: debits
         INSERT INTO ledger (account_id, kind, amount, messages, created_at)
         VALUES ($1, 'debit', $2, $3, $4)
         RETURNING id",
        debits
            .iter()
            .map(|(account, debit)| args![*account, -debit.amount, debit.messages, now.millis()]),
    )
    .find(tx)
    .await?;
    Ok(inserted.into_iter().flatten().collect())
}

/// Takes so many numbers of rows of the ledger: nobody else gets them, whatever becomes of the transaction.
async fn reserve_debits(tx: &mut Tx, count: usize) -> Result<Vec<Row>, StoreError> {
    if count == 0 {
        return Ok(Vec::new());
    }
    sql(beside(
        "-- postgres: commit: numbers of debits
         SELECT nextval(pg_get_serial_sequence('ledger', 'id')) AS id
         FROM generate_series(1, CAST($1 AS BIGINT))",
    ))
    .bind(i64::try_from(count).unwrap_or(i64::MAX))
    .all(tx)
    .await
}

/// In the order of the accounts, which the transaction has locked.
async fn insert_reserved_debits(
    tx: &mut Tx,
    debits: &Debits,
    now: Timestamp,
) -> Result<(), StoreError> {
    let rows = debits.0.iter().map(|(account, debit)| {
        args![debit.id, *account, "debit", -debit.amount, debit.messages, now.millis()]
    });
    inserts(
        "-- commit: debits by their numbers
         INSERT INTO ledger (id, account_id, kind, amount, messages, created_at)",
        rows,
        "",
    )
    .run(tx)
    .await
}

async fn write_messages(
    tx: &mut Tx,
    accepted: &[Accepted<'_>],
    debits: &Debits,
    (identities, added): (&Identities, &mut Added),
    now: Timestamp,
) -> Result<(), StoreError> {
    let mut decisions = Vec::with_capacity(accepted.len());
    for row in accepted {
        decisions.push(identities.shorten(tx, added, &row.message.decisions).await?);
    }
    let rows = accepted.iter().zip(decisions).map(|(row, decisions)| {
        let message = row.message;
        let template = message.template.as_ref();
        args![
            message.id,
            message.id.period(),
            row.account,
            row.key,
            message.channel.as_str(),
            template.map(|it| it.slug.as_str()),
            template.map(|it| i64::try_from(it.revision).unwrap_or(i64::MAX)),
            message.sender.to_string(),
            message.domain,
            match &message.return_path {
                ReturnPath::Author => None,
                ReturnPath::Other(path) => {
                    Some(path.as_ref().map(ToString::to_string).unwrap_or_default())
                }
            },
            message.recipient.to_string(),
            &message.subject,
            message.route.as_str(),
            row.state.as_str(),
            row.reason.as_ref(),
            row.charged.0,
            debits.0.get(&row.account).map(|it| it.id).filter(|_| row.charged.0 > 0),
            (!message.tags.is_empty()).then(|| to_json(&message.tags)),
            (!message.metadata.is_empty()).then(|| to_json(&message.metadata)),
            decisions,
            match &message.body {
                BodyOf::Own(_) => None,
                BodyOf::Message(other) => Some(*other),
            },
            message.resent_from,
            now.millis(),
            now.millis(),
        ]
    });
    inserts("-- commit: messages
         INSERT INTO messages (id, period, account_id, key_id, channel, template_slug, template_revision,
                               sender, domain_id, return_path, recipient, subject, route, state, reason,
                               credits, debit, tags, metadata, decisions, body_of, resent_from, created_at,
                               updated_at)", rows, "").run(tx).await
}

async fn write_bodies(tx: &mut Tx, accepted: &[Accepted<'_>]) -> Result<(), StoreError> {
    let rows = accepted.iter().filter_map(|row| match &row.message.body {
        BodyOf::Own(body) => Some(args![row.message.id, body.dictionary(), body.bytes()]),
        BodyOf::Message(_) => None,
    });
    inserts("-- commit: bodies\nINSERT INTO bodies (message_id, dictionary, bytes)", rows, "")
        .run(tx)
        .await
}

async fn write_queue(tx: &mut Tx, accepted: &[Accepted<'_>]) -> Result<(), StoreError> {
    let octets: HashMap<&MessageId, u32> = accepted
        .iter()
        .filter_map(|row| match &row.message.body {
            BodyOf::Own(body) => Some((&row.message.id, body.octets()?)),
            BodyOf::Message(_) => None,
        })
        .collect();
    let rows = accepted.iter().filter_map(|row| {
        let message = row.message;
        let due = row.due_at?;
        Some(args![
            message.id,
            row.account,
            message.route.lane(&message.recipient),
            due.millis(),
            octets.get(message.body.of(&message.id)).copied(),
        ])
    });
    inserts(
        "-- commit: queue
         INSERT INTO queue (message_id, account_id, lane, due_at, octets)",
        rows,
        "",
    )
    .run(tx)
    .await
}

async fn write_usage(
    tx: &mut Tx,
    accepted: &[Accepted<'_>],
    now: Timestamp,
) -> Result<(), StoreError> {
    let sent = counted(accepted.iter().map(|row| row.account));
    inserts(
        "-- commit: usage
         INSERT INTO usage (day, account_id, sent)",
        sent.into_iter().map(|(account, sent)| args![now.day(), account, sent]),
        " ON CONFLICT (day, account_id) DO UPDATE SET sent = usage.sent + excluded.sent",
    )
    .run(&mut *tx)
    .await?;
    write_template_usage(tx, accepted, now).await
}

/// Whom a change of a template would break. What an author tries has no revision, and is nobody's mail.
async fn write_template_usage(
    tx: &mut Tx,
    accepted: &[Accepted<'_>],
    now: Timestamp,
) -> Result<(), StoreError> {
    let sent = counted(accepted.iter().filter_map(|row| match &row.message.template {
        Some(TemplateRevision { slug, revision: 1.. }) => Some((row.account, slug.as_str())),
        _ => None,
    }));
    inserts(
        "-- commit: usage of templates
         INSERT INTO template_usage (day, account_id, slug, sent)",
        sent.into_iter().map(|((account, slug), sent)| args![now.day(), account, slug, sent]),
        " ON CONFLICT (day, account_id, slug) DO UPDATE SET sent = template_usage.sent + excluded.sent",
    )
    .run(tx)
    .await
}

/// How often each key occurs, in the order of the keys. The messages of one transaction are of few accounts, so a sorted list
/// takes less memory than a map does.
fn counted<K: Ord>(keys: impl Iterator<Item = K>) -> Vec<(K, i64)> {
    let mut counts: Vec<(K, i64)> = Vec::new();
    for key in keys {
        match counts.binary_search_by(|(known, _)| known.cmp(&key)) {
            Ok(at) => counts[at].1 += 1,
            Err(at) => counts.insert(at, (key, 1)),
        }
    }
    counts
}
