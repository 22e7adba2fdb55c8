//! Writes what was accepted, table by table.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::json;

use super::super::database::{Tx, args, inconsistent, inserts, sql, to_json};
use super::super::events::{self, StateChange, record_event};
use crate::clock::Timestamp;
use crate::id::{AccountId, KeyId, MessageId};
use crate::store::StoreError;
use crate::store::records::{
    Accepted, Answer, BodyOf, Idempotency, Job, JobOutcome, ReturnPath, Verdict,
};

/// Writes what was decided of `jobs`.
pub async fn write(
    tx: &mut Tx,
    jobs: &[Job],
    verdict: &Verdict<'_>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let accepted = &verdict.accepted;
    write_messages(tx, accepted, now).await?;
    write_bodies(tx, accepted).await?;
    write_queue(tx, accepted).await?;
    let changes = accepted.iter().map(|row| StateChange {
        message: row.message.id,
        account: row.account,
        state: row.state,
        reason: &row.reason,
    });
    events::record_changes(tx, changes, now).await?;
    write_decisions(tx, accepted, now).await?;
    write_debits(tx, accepted, now).await?;
    write_usage(tx, accepted, now).await?;
    for (job, verdict_of_job) in jobs.iter().zip(&verdict.jobs) {
        if let (Some(key), JobOutcome::Answered(answers)) =
            (verdict_of_job.kept_under, &verdict_of_job.outcome)
        {
            keep_answers(tx, job, key, answers, verdict.answers_until, now).await?;
        }
    }
    for event in &verdict.credit_events {
        let subject = event.account.to_string();
        let facts = json!({"balance": event.balance, "threshold": event.threshold});
        record_event(tx, event.kind.as_str(), &subject, &subject, &facts, now).await?;
    }
    Ok(())
}

async fn keep_answers(
    tx: &mut Tx,
    job: &Job,
    key: &Idempotency,
    answers: &[Answer],
    until: Timestamp,
    now: Timestamp,
) -> Result<(), StoreError> {
    let kept = sql("-- commit: keep an answer
         INSERT INTO idempotency (account_id, mode, key, body_hash, answer, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (account_id, mode, key) DO UPDATE SET body_hash = excluded.body_hash,
             answer = excluded.answer, expires_at = excluded.expires_at
         WHERE idempotency.expires_at <= $7")
    .bind(job.account_id.to_string())
    .bind(job.mode.as_str())
    .bind(&key.key)
    .bind(&key.body_hash[..])
    .json(answers)
    .bind(until.millis())
    .bind(now.millis())
    .run(tx)
    .await?;
    match kept {
        1 => Ok(()),
        _ => Err(inconsistent("idempotency", "key", &key.key)),
    }
}

async fn write_messages(
    tx: &mut Tx,
    accepted: &[Accepted<'_>],
    now: Timestamp,
) -> Result<(), StoreError> {
    let rows = accepted.iter().map(|row| {
        let message = row.message;
        let template = message.template.as_ref();
        args![
            message.id.to_string(),
            row.account.to_string(),
            row.key.to_string(),
            message.channel,
            template.map(|(slug, _)| slug),
            template.map(|(_, revision)| i64::try_from(*revision).unwrap_or(i64::MAX)),
            message.sender.to_string(),
            message.domain.to_string(),
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
            to_json(&message.tags),
            to_json(&message.metadata),
            match &message.body {
                BodyOf::Own(_) => None,
                BodyOf::Message(other) => Some(other.to_string()),
            },
            message.resent_from.map(|it| it.to_string()),
            now.millis(),
            now.millis(),
        ]
    });
    inserts("-- commit: messages
         INSERT INTO messages (id, account_id, key_id, channel, template_slug, template_revision, sender,
                               domain_id, return_path, recipient, subject, route, state, reason, credits,
                               tags, metadata, body_of, resent_from, created_at, updated_at)", rows, "").run(tx).await
}

async fn write_bodies(tx: &mut Tx, accepted: &[Accepted<'_>]) -> Result<(), StoreError> {
    let rows = accepted.iter().filter_map(|row| match &row.message.body {
        BodyOf::Own(body) => Some(args![row.message.id.to_string(), "lz4", body.bytes()]),
        BodyOf::Message(_) => None,
    });
    inserts("-- commit: bodies\nINSERT INTO bodies (message_id, codec, bytes)", rows, "")
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
            message.id.to_string(),
            row.account.to_string(),
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

async fn write_decisions(
    tx: &mut Tx,
    accepted: &[Accepted<'_>],
    now: Timestamp,
) -> Result<(), StoreError> {
    let rows = accepted.iter().map(|row| {
        args![
            row.message.decision_id.to_string(),
            row.account.to_string(),
            row.message.id.to_string(),
            "accepted",
            &*row.message.decisions,
            now.millis(),
        ]
    });
    inserts(
        "-- commit: decisions
         INSERT INTO decisions (id, account_id, message_id, outcome, plugins, created_at)",
        rows,
        "",
    )
    .run(tx)
    .await
}

async fn write_debits(
    tx: &mut Tx,
    accepted: &[Accepted<'_>],
    now: Timestamp,
) -> Result<(), StoreError> {
    let charged = accepted.iter().filter(|row| row.charged.0 > 0);
    let rows = charged.map(|row| {
        args![
            row.account.to_string(),
            "debit",
            -row.charged.0,
            row.message.id.to_string(),
            now.millis(),
        ]
    });
    inserts(
        "-- commit: debits
         INSERT INTO ledger (account_id, kind, amount, message_id, created_at)",
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
    let mut sent: BTreeMap<AccountId, i64> = BTreeMap::new();
    let mut keys: BTreeSet<KeyId> = BTreeSet::new();
    for row in accepted {
        *sent.entry(row.account).or_default() += 1;
        keys.insert(row.key);
    }
    inserts(
        "-- commit: usage
         INSERT INTO usage (account_id, day, sent)",
        sent.into_iter().map(|(account, sent)| args![account.to_string(), now.day(), sent]),
        " ON CONFLICT (account_id, day) DO UPDATE SET sent = usage.sent + excluded.sent",
    )
    .run(tx)
    .await?;
    sql("-- commit: last use of keys, to about a minute
         UPDATE keys SET last_used_at = $1
         WHERE id IN (SELECT value FROM json_each($2)) AND coalesce(last_used_at, 0) < $1 - 60000")
    .bind(now.millis())
    .list(&keys)
    .run(tx)
    .await
    .map(|_| ())
}
