//! What happened in each attempt to hand a message over.

use super::StoreError;
use super::database::{Tx, args, inserts};
use super::records::{AttemptEnding, Settlement};

/// Keeps the attempts of settlements. One that was made twice, after a crash, is kept with its last end.
pub async fn put(tx: &mut Tx, settled: &[&Settlement]) -> Result<(), StoreError> {
    let rows = settled.iter().map(|settlement| {
        let attempt = &settlement.attempt;
        args![
            settlement.message_id,
            attempt.number,
            attempt.started_at.millis(),
            attempt.ended_at.millis(),
            &attempt.route,
            attempt.host.as_ref().map(|it| &it.name),
            attempt.host.as_ref().map(|it| &it.address),
            &attempt.tls,
            settlement.verdict.state().as_str(),
            attempt.ending.code(),
            attempt.ending.enhanced().map(|it| it.to_string()),
            &attempt.reply,
            lz4_flex::compress_prepend_size(attempt.conversation.as_bytes()),
            attempt.ending == AttemptEnding::MayHaveArrived,
        ]
    });
    inserts(
        "-- settle: attempts
         INSERT INTO attempts (message_id, number, started_at, ended_at, route, host, address, tls,
                               outcome, code, enhanced, reply, conversation, uncertain)",
        rows,
        " ON CONFLICT (message_id, number) DO UPDATE SET started_at = excluded.started_at,
              ended_at = excluded.ended_at, route = excluded.route, host = excluded.host,
              address = excluded.address, tls = excluded.tls, outcome = excluded.outcome,
              code = excluded.code, enhanced = excluded.enhanced, reply = excluded.reply,
              conversation = excluded.conversation,
              uncertain = attempts.uncertain OR excluded.uncertain",
    )
    .run(tx)
    .await
}
