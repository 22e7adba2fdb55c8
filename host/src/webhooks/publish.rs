//! Hands events to the webhooks that want them: in their order, each once, with its final body. What a
//! crash interrupts was not done at all and is done again.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{Webhooks, body, types};
use crate::id::WebhookId;
use crate::store::StoreError;
use crate::store::sqlite::{Behind, FannedEvent, NewDelivery};

/// Events that are read at one time.
const BATCH: u32 = 500;
/// Bytes that one transaction writes, and what a delivery takes beside the body of its event.
const BYTES: usize = 4 << 20;
const ROW: usize = 256;
/// How soon what has happened is noticed.
const POLL: Duration = Duration::from_millis(200);
/// The pause after the database has failed.
const DATABASE_RETRY: Duration = Duration::from_secs(1);

impl Webhooks {
    /// Runs until `stop`.
    pub async fn publish(self: Arc<Self>, stop: CancellationToken) {
        while !stop.is_cancelled() {
            let pause = match self.publish_some(BATCH).await {
                Ok(true) => continue,
                Ok(false) => POLL,
                Err(error) => {
                    tracing::error!(%error, "events cannot be handed out to webhooks; retrying");
                    DATABASE_RETRY
                }
            };
            tokio::select! {
                () = stop.cancelled() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Hands out at most `limit` events; answers whether there may be more.
    pub(super) async fn publish_some(&self, limit: u32) -> Result<bool, StoreError> {
        let Some(behind) = self.store.events_behind(limit).await? else { return Ok(false) };
        let mut from = behind.from;
        for batch in batches(&behind) {
            let now = self.clock.now();
            if !self.store.hand_out((from, batch.to), &batch.deliveries, now).await? {
                break;
            }
            if !batch.deliveries.is_empty() {
                self.wake.notify_one();
            }
            from = batch.to;
        }
        Ok(true)
    }
}

/// What one transaction writes.
struct Batch {
    deliveries: Vec<NewDelivery>,
    /// Where the cursor stands then.
    to: i64,
}

/// The deliveries of what is behind the cursor, so many at a time as are [`BYTES`] together, and one
/// event at least. The next ones are made when these are written.
fn batches(behind: &Behind) -> impl Iterator<Item = Batch> {
    let mut rest = behind.events.iter().filter_map(|event| delivery(behind, event)).peekable();
    let mut is_done = false;
    std::iter::from_fn(move || {
        if is_done {
            return None;
        }
        let (mut deliveries, mut bytes) = (Vec::new(), 0);
        while let Some(next) = rest.next_if(|it| bytes == 0 || bytes + size(it) <= BYTES) {
            bytes += size(&next);
            deliveries.push(next);
        }
        let to = rest.peek().map(|next| next.sequence - 1);
        is_done = to.is_none();
        Some(Batch { deliveries, to: to.unwrap_or(behind.to) })
    })
}

/// What is written of an event: its body once, and a row for each webhook.
fn size(delivery: &NewDelivery) -> usize {
    delivery.body.len() + delivery.webhooks.len() * ROW
}

/// An event for the webhooks that want it; none where nobody does.
fn delivery(behind: &Behind, event: &FannedEvent) -> Option<NewDelivery> {
    let wanting = behind.webhooks.iter().filter(|webhook| {
        webhook.owner == event.owner
            && webhook.after_sequence < event.sequence
            && types::wants(&webhook.types, &event.r#type)
            // Its own end is nothing that it could be told.
            && event.subject != webhook.id.to_string()
    });
    let webhooks: Vec<WebhookId> = wanting.map(|webhook| webhook.id).collect();
    (!webhooks.is_empty()).then(|| NewDelivery {
        webhooks,
        sequence: event.sequence,
        event: event.id,
        r#type: event.r#type.clone(),
        body: body::of_event(event),
    })
}

#[cfg(test)]
mod tests;
