//! Hands events to the webhooks that want them: in their order, each once, with its final body. What a
//! crash interrupts was not done at all and is done again.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{Webhooks, body, types};
use crate::store::StoreError;
use crate::store::sqlite::{Behind, NewDelivery};

/// Events of one transaction.
const BITE: u32 = 500;
/// How soon what has happened is noticed.
const LOOK: Duration = Duration::from_millis(200);
/// The pause after the database has failed.
const STUMBLE: Duration = Duration::from_secs(1);

impl Webhooks {
    /// Runs until `stop`.
    pub async fn publish(self: Arc<Self>, stop: CancellationToken) {
        while !stop.is_cancelled() {
            let pause = match self.publish_some(BITE).await {
                Ok(true) => continue,
                Ok(false) => LOOK,
                Err(error) => {
                    tracing::error!(%error, "events cannot be handed to webhooks; trying again");
                    STUMBLE
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
        let deliveries = deliveries(&behind);
        let handed_out = self.store.hand_out(&behind, &deliveries, self.clock.now()).await?;
        if handed_out && !deliveries.is_empty() {
            self.wake.notify_one();
        }
        Ok(true)
    }
}

fn deliveries(behind: &Behind) -> Vec<NewDelivery> {
    let mut deliveries = Vec::new();
    for event in &behind.events {
        let wanting = behind.webhooks.iter().filter(|webhook| {
            webhook.owner == event.owner
                && webhook.after_sequence < event.sequence
                && types::wants(&webhook.types, &event.r#type)
                // Its own end is nothing that it could be told.
                && event.subject != webhook.id.to_string()
        });
        let mut written = None;
        for webhook in wanting {
            deliveries.push(NewDelivery {
                webhook: webhook.id,
                sequence: event.sequence,
                event: event.id,
                r#type: event.r#type.clone(),
                body: written.get_or_insert_with(|| body::of_event(event)).clone(),
            });
        }
    }
    deliveries
}
