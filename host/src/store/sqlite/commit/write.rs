//! Writes what was accepted, table by table, many rows a statement.

use std::collections::{BTreeSet, HashMap};

use sqlx::{QueryBuilder, Sqlite as Driver, Transaction};

use super::super::events::{self, Change, run};
use super::super::row::{inconsistent, to_json};
use super::{Accepted, Kept};
use crate::clock::Timestamp;
use crate::id::{AccountId, KeyId, MessageId};
use crate::store::StoreError;
use crate::store::records::{Body, BodyOf, ReturnPath};

/// Rows a statement: 100 rows of 21 columns stay far below SQLite's 32,766 parameters.
const ROWS: usize = 100;
const IDEMPOTENCY_KEPT_MS: i64 = 24 * 60 * 60 * 1_000;

/// Writes accepted messages and the answers to keep.
pub async fn write(
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
             INSERT INTO idempotency (account_id, mode, key, body_hash, answer, expires_at)
             VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (account_id, mode, key) DO UPDATE SET body_hash = excluded.body_hash,
                 answer = excluded.answer, expires_at = excluded.expires_at
             WHERE idempotency.expires_at <= $7",
        )
        .bind(kept.account.to_string())
        .bind(kept.mode.word())
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
         sender, domain_id, return_path, recipient, subject, route, state, reason, credits, tags, metadata, \
         body_of, resent_from, created_at, updated_at) ",
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
            .push_bind(message.domain.to_string())
            .push_bind(match &message.return_path {
                ReturnPath::Author => None,
                ReturnPath::Other(path) => {
                    Some(path.as_ref().map(ToString::to_string).unwrap_or_default())
                }
            })
            .push_bind(message.recipient.to_string())
            .push_bind(message.subject.clone())
            .push_bind(message.route.word())
            .push_bind(row.state.word())
            .push_bind(row.reason.clone())
            .push_bind(row.charged.0)
            .push_bind(to_json(&message.tags))
            .push_bind(to_json(&message.metadata))
            .push_bind(match &message.body {
                BodyOf::Own(_) => None,
                BodyOf::Message(other) => Some(other.to_string()),
            })
            .push_bind(message.resent_from.map(|it| it.to_string()))
            .push_bind(now.millis())
            .push_bind(now.millis());
    });
    run(tx, query, "commit: messages").await?;

    let bodies: Vec<(&MessageId, &Body)> = rows
        .iter()
        .filter_map(|row| match &row.message.body {
            BodyOf::Own(body) => Some((&row.message.id, body)),
            BodyOf::Message(_) => None,
        })
        .collect();
    if !bodies.is_empty() {
        let mut query =
            QueryBuilder::<Driver>::new("INSERT INTO bodies (message_id, codec, bytes) ");
        query.push_values(&bodies, |mut b, (id, body)| {
            b.push_bind(id.to_string()).push_bind("lz4").push_bind(body.bytes().to_vec());
        });
        run(tx, query, "commit: bodies").await?;
    }

    let octets: HashMap<&MessageId, u32> =
        bodies.iter().filter_map(|(id, body)| Some((*id, body.octets()?))).collect();
    let waiting: Vec<&Accepted<'_>> = rows.iter().filter(|row| !row.state.is_final()).collect();
    if !waiting.is_empty() {
        let mut query = QueryBuilder::<Driver>::new(
            "INSERT INTO queue (message_id, account_id, lane, due_at, octets) ",
        );
        query.push_values(waiting, |mut b, row| {
            let due = row.message.send_at.map_or(now, |at| at.max(now));
            b.push_bind(row.message.id.to_string())
                .push_bind(row.account.to_string())
                .push_bind(row.message.route.lane(&row.message.recipient))
                .push_bind(due.millis())
                .push_bind(octets.get(row.message.body.of(&row.message.id)).copied());
        });
        run(tx, query, "commit: queue").await?;
    }

    let changes = rows.iter().map(|row| Change {
        message: row.message.id,
        account: row.account,
        state: row.state,
        reason: &row.reason,
    });
    events::record(tx, changes, now).await?;

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
    query.push(" ON CONFLICT (account_id, day) DO UPDATE SET sent = usage.sent + excluded.sent");
    run(tx, query, "commit: usage").await?;
    sqlx::query(
        "-- commit: last use of keys, to about a minute
         UPDATE keys SET last_used_at = $1
         WHERE id IN (SELECT value FROM json_each($2)) AND coalesce(last_used_at, 0) < $1 - 60000",
    )
    .bind(now.millis())
    .bind(to_json(&keys))
    .execute(&mut **tx)
    .await
    .map(|_| ())
    .map_err(StoreError::during("commit: last use of keys"))
}
