//! The same rows in a database of PostgreSQL.

use std::fmt::Write as _;
use std::io;

use super::{BATCH, BODY, COUNTS, OTHER_ROWS, Times};
use crate::postgres::{Database, filled};

/// Messages of the last weeks, as [`super::fill`] writes them.
pub async fn fill(database: &Database, messages: u32) -> io::Result<()> {
    let Times { now, first, step } = Times::of(messages)?;
    for begin in (0..messages).step_by(usize::try_from(BATCH).unwrap_or(usize::MAX)) {
        let end = messages.min(begin + BATCH);
        let numbers = [("begin", i64::from(begin)), ("end", i64::from(end))];
        let batch = [numbers, [("first", first), ("step", step)]].concat();
        database.ask(&filled(MESSAGES, &batch)).await?;
    }
    let digits = lz4_flex::compress_prepend_size(BODY).iter().fold(String::new(), |mut all, it| {
        write!(all, "{it:02x}").expect("a string takes everything");
        all
    });
    database
        .ask(&format!(
            "INSERT INTO bodies (message_id, bytes)
             SELECT id, decode('{digits}', 'hex') FROM messages ORDER BY id LIMIT 1"
        ))
        .await?;
    for statement in COUNTS {
        database.ask(&for_server(statement)).await?;
    }
    let values = [("rows", i64::from(OTHER_ROWS)), ("now", now)];
    for statement in OTHERS {
        database.ask(&filled(statement, &values)).await?;
    }
    // Autovacuum would come to it within a minute.
    database.ask("VACUUM ANALYZE").await.map(|_| ())
}

/// The statements of counts are the same, but that an upsert names its keys and the row that is there.
fn for_server(statement: &str) -> String {
    let (table, keys) = if statement.contains("INTO usage") {
        ("usage.sent", "(day, account_id)")
    } else {
        ("sent.changes", "(period, state, account_id)")
    };
    let column = table.split_once('.').map_or("", |(_, column)| column);
    statement
        .replace("ON CONFLICT DO", &format!("ON CONFLICT {keys} DO"))
        .replace(&format!("{column} = {column} +"), &format!("{column} = {table} +"))
}

/// The numbers `begin` to `end` without it.
const MESSAGES: &str = "
    INSERT INTO messages (id, period, account_id, key_id, channel, sender, domain_id, recipient, subject, route,
                          state, reason, credits, decisions, body_of, created_at, updated_at)
    SELECT decode(lpad(to_hex({first} + i * {step}), 12, '0') || lpad(to_hex(i), 20, '0'), 'hex'),
           ({first} + i * {step}) / 3600000, d.account_id,
           (SELECT k.id FROM keys k WHERE k.account_id = d.account_id ORDER BY k.id LIMIT 1), 'api',
           'hello@' || d.name, d.id, 'load-' || lpad(CAST(i % 200000 AS TEXT), 9, '0') || '@example.com',
           'Your order ' || i, 'sandbox',
           CASE WHEN i % 200 < 3 THEN 'bounced' WHEN i % 200 = 3 THEN 'failed' WHEN i % 200 = 4 THEN 'suppressed'
                ELSE 'delivered' END,
           '250 2.0.0 Ok', 1, '[]', decode(lpad(to_hex({first}), 12, '0') || lpad('0', 20, '0'), 'hex'),
           {first} + i * {step}, {first} + i * {step} + 900
    FROM generate_series(CAST({begin} AS BIGINT), {end} - 1) AS i, domains d WHERE d.kind = 'sandbox'";
/// So many `rows`, at the moment `now`.
const OTHERS: [&str; 2] = [
    "INSERT INTO suppressions (account_id, address, kind, reason, created_at)
     SELECT d.account_id, 'load-' || lpad(CAST(i AS TEXT), 9, '0') || '@gone.example',
            CASE WHEN i % 1000 = 0 THEN 'complaint' ELSE 'bounce' END, '550 5.1.1 no such user', {now}
     FROM generate_series(0, {rows} - 1) AS i, domains d WHERE d.kind = 'sandbox'",
    "INSERT INTO audit (created_at, account_id, actor, action, subject)
     SELECT {now}, d.account_id, 'command-line', 'add_suppression', 'load-' || i || '@example.com'
     FROM generate_series(0, {rows} - 1) AS i, domains d WHERE d.kind = 'sandbox'",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statements_of_counts_name_keys_and_rows_for_the_server() {
        let [changes, _, sent] = COUNTS.map(for_server);
        let keys = "ON CONFLICT (period, state, account_id) DO UPDATE";
        assert!(changes.contains(&format!("{keys} SET changes = sent.changes +")), "{changes}");
        assert!(sent.contains("ON CONFLICT (day, account_id) DO UPDATE SET sent = usage.sent +"));
    }
}
