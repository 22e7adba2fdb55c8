//! What happened in each attempt to hand a message over.

use sqlx::{QueryBuilder, Sqlite as Driver, Transaction};

use super::events::run;
use crate::store::StoreError;
use crate::store::records::Settlement;

/// Rows a statement: 14 columns each, far below SQLite's 32,766 parameters.
const ROWS: usize = 100;

/// Keeps the attempts of settlements.
pub async fn put(
    tx: &mut Transaction<'_, Driver>,
    settled: &[&Settlement],
) -> Result<(), StoreError> {
    for rows in settled.chunks(ROWS) {
        let mut query = QueryBuilder::<Driver>::new(
            "INSERT INTO attempts (message_id, number, started_at, ended_at, route, host, address, tls, \
             outcome, code, enhanced, reply, conversation, uncertain) ",
        );
        query.push_values(rows, |mut b, settlement| {
            let attempt = &settlement.attempt;
            let conversation = lz4_flex::compress_prepend_size(attempt.conversation.as_bytes());
            b.push_bind(settlement.message_id.to_string())
                .push_bind(attempt.number)
                .push_bind(attempt.started_at.millis())
                .push_bind(attempt.ended_at.millis())
                .push_bind(attempt.route.clone())
                .push_bind(attempt.host.clone())
                .push_bind(attempt.address.clone())
                .push_bind(attempt.tls.clone())
                .push_bind(attempt.outcome.word())
                .push_bind(attempt.code)
                .push_bind(attempt.enhanced.clone())
                .push_bind(attempt.reply.clone())
                .push_bind(conversation)
                .push_bind(attempt.is_uncertain);
        });
        // An attempt that was made twice, after a crash, is told by its last end.
        query.push(
            " ON CONFLICT (message_id, number) DO UPDATE SET started_at = excluded.started_at, \
             ended_at = excluded.ended_at, route = excluded.route, host = excluded.host, \
             address = excluded.address, tls = excluded.tls, outcome = excluded.outcome, \
             code = excluded.code, enhanced = excluded.enhanced, reply = excluded.reply, \
             conversation = excluded.conversation, \
             uncertain = attempts.uncertain OR excluded.uncertain",
        );
        run(tx, query, "settle: attempts").await?;
    }
    Ok(())
}
