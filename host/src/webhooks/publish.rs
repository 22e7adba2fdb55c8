//! Hands events out to the webhooks that want them: in order, each once, with its final body. A
//! crash interrupts one transaction, which is then repeated.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{Webhooks, body, types};
use crate::id::WebhookId;
use crate::store::{Backlog, NewDelivery, PublishedEvent, StoreError};

/// Events of one read.
const BATCH: u32 = 500;
/// Bytes of one transaction, and what a delivery takes besides the body of its event.
const BYTES: usize = 4 << 20;
const ROW: usize = 256;
/// How often events are polled.
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
                    tracing::error!(%error, "webhook deliveries cannot be created for new events; retrying");
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
        let Some(backlog) = self.store.webhook_backlog(limit).await? else { return Ok(false) };
        let mut from = backlog.from;
        for batch in batches(&backlog) {
            let now = self.clock.now();
            if !self.store.publish_events((from, batch.to), &batch.deliveries, now).await? {
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

/// The deliveries of one transaction.
struct Batch {
    deliveries: Vec<NewDelivery>,
    /// The cursor after it.
    to: i64,
}

/// The deliveries of the events behind the cursor, in batches of [`BYTES`] and at least one event.
/// The iterator is lazy: a batch is made when the one before is written.
fn batches(backlog: &Backlog) -> impl Iterator<Item = Batch> {
    let mut rest = backlog.events.iter().filter_map(|event| delivery(backlog, event)).peekable();
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
        Some(Batch { deliveries, to: to.unwrap_or(backlog.to) })
    })
}

/// Bytes written for an event: its body once, and a row for each webhook.
fn size(delivery: &NewDelivery) -> usize {
    delivery.body.len() + delivery.webhooks.len() * ROW
}

/// An event for the webhooks that want it; none where nobody does.
fn delivery(backlog: &Backlog, event: &PublishedEvent) -> Option<NewDelivery> {
    let wanting = backlog.webhooks.iter().filter(|webhook| {
        webhook.owner == event.owner
            && webhook.after_sequence < event.sequence
            && types::wants(&webhook.types, event.r#type.as_str())
            // A webhook does not get the event of its own end.
            && event.subject != webhook.id.to_string()
    });
    let webhooks: Vec<WebhookId> = wanting.map(|webhook| webhook.id).collect();
    (!webhooks.is_empty()).then(|| NewDelivery {
        webhooks,
        sequence: event.sequence,
        event: event.id,
        r#type: event.r#type,
        body: body::of_event(event),
    })
}

#[cfg(test)]
mod tests;
