//! What becomes of the mail that waited in a backup when the restored server's delivery is released.

use serde::Deserialize;

use crate::clock::Timestamp;
use crate::id::MessageId;
use crate::message::state::MessageState;
use crate::store::records::{Interrupted, Settlement};
use crate::store::{Cancellation, HeldMessage, Store, StoreError};

/// What becomes of the messages that waited when the backup was taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OldMail {
    /// They are sent; some for the second time.
    #[default]
    Send,
    /// Those that may have gone out since are canceled, each with its refund.
    Cancel,
}

/// What a release did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Released {
    /// The moment of the backup.
    pub backup: Timestamp,
    pub canceled: u64,
}

/// Ends the hold of delivery; answers none where delivery is not held. The caller wakes the worker. Where this fails,
/// delivery stays held, and another call does the rest. `interrupted` decides what is written of an attempt whose
/// server stopped before the attempt had ended.
pub async fn release(
    store: &Store,
    old_mail: OldMail,
    now: Timestamp,
    interrupted: impl Fn(Interrupted, Timestamp) -> Settlement,
) -> Result<Option<Released>, StoreError> {
    let Some(backup) = store.delivery_hold().await? else { return Ok(None) };
    let canceled = match old_mail {
        OldMail::Send => 0,
        OldMail::Cancel => {
            let newest_event = store.mark_held(backup).await?;
            cancel_old(store, newest_event, now, &interrupted).await?
        }
    };
    store.release_delivery().await?;
    Ok(Some(Released { backup, canceled }))
}

async fn cancel_old(
    store: &Store,
    newest_event: i64,
    now: Timestamp,
    interrupted: &impl Fn(Interrupted, Timestamp) -> Settlement,
) -> Result<u64, StoreError> {
    let (mut canceled, mut after) = (0, None);
    loop {
        let waiting = store.accepted_up_to(newest_event, after).await?;
        let Some(last) = waiting.last() else { return Ok(canceled) };
        after = Some(last.id);
        let sending = waiting.iter().filter(|it| it.state == MessageState::Sending);
        let sending: Vec<MessageId> = sending.map(|it| it.id).collect();
        if !sending.is_empty() {
            store.end_unheld_attempts(&sending, now, interrupted).await?;
        }
        for message in waiting.iter().filter(|it| may_have_gone(it, now)) {
            match store.cancel(message.id, now).await? {
                Cancellation::Canceled => canceled += 1,
                Cancellation::TooLate(_) => {}
            }
        }
    }
}

/// A message whose time has not come by now has left no server.
fn may_have_gone(message: &HeldMessage, now: Timestamp) -> bool {
    match message.state {
        MessageState::Scheduled => message.due_at <= now,
        MessageState::Queued
        | MessageState::Sending
        | MessageState::Deferred
        | MessageState::Delivered
        | MessageState::Relayed
        | MessageState::Bounced
        | MessageState::Failed
        | MessageState::Suppressed
        | MessageState::Canceled => true,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    #[test]
    fn a_message_that_is_scheduled_for_later_is_not_canceled() {
        let message = |state, due_at| HeldMessage { id: MessageId::new(NOW), state, due_at };
        let later = NOW.after(Duration::from_hours(1));
        assert!(!may_have_gone(&message(MessageState::Scheduled, later), NOW));
        assert!(may_have_gone(&message(MessageState::Scheduled, NOW), NOW));
        assert!(may_have_gone(&message(MessageState::Deferred, later), NOW));
    }
}
