//! Messages: who may call one back or have one tried again.

use crate::account::role::{Role, RoleTooLow};
use crate::clock::Timestamp;
use crate::id::MessageId;
use crate::message::channel::Channel;
use crate::message::state::MessageState;
use crate::store::{
    Cancellation, EventRow, MessageDelivery, MessageRow, RetryOutcome, Store, StoreError,
};

/// Deliveries to webhooks that are shown of one message: an account has few webhooks, and a message few events.
pub const MAX_DELIVERIES: usize = 200;

/// Who asks. Whether a message is there for the caller is decided where the message is found.
#[derive(Debug, Clone, Copy)]
pub enum Caller {
    /// A key of the scope `admin`.
    Key,
    /// Somebody who is logged in, with that role in the account of the message.
    Person(Role),
}

#[derive(Debug, thiserror::Error)]
pub enum MessageError {
    #[error("{}", too_late(*.0))]
    TooLate(MessageState),
    #[error("only a deferred message can be tried again; this one is {0}")]
    NotDeferred(MessageState),
    #[error(transparent)]
    Role(#[from] RoleTooLow),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Calls a message back that waits.
///
/// # Errors
/// The caller may not, the message has left, or the database failed.
pub async fn cancel(
    store: &Store,
    by: Caller,
    id: MessageId,
    now: Timestamp,
) -> Result<(), MessageError> {
    by.may_change()?;
    match store.cancel(id, now).await? {
        Cancellation::Canceled => Ok(()),
        Cancellation::TooLate(state) => Err(MessageError::TooLate(state)),
    }
}

/// The content, for whoever manages the account; none where it is no longer kept, or meant for its recipient alone.
pub async fn content(store: &Store, row: &MessageRow) -> Result<Option<Vec<u8>>, StoreError> {
    match row.channel {
        Channel::Api | Channel::Smtp => store.body(row.id).await,
        Channel::Server => Ok(None),
    }
}

/// What webhooks were told of a message that has had these events, newest first; and whether there is more than
/// [`MAX_DELIVERIES`].
pub async fn deliveries(
    store: &Store,
    row: &MessageRow,
    events: &[EventRow],
) -> Result<(Vec<MessageDelivery>, bool), StoreError> {
    let newest = events.iter().rev().take(MAX_DELIVERIES).map(|it| it.id);
    let limit = u32::try_from(MAX_DELIVERIES + 1).unwrap_or(u32::MAX);
    let mut told = store.deliveries_of_events(row.account_id, newest, limit).await?;
    let has_more = told.len() > MAX_DELIVERIES;
    told.truncate(MAX_DELIVERIES);
    Ok((told, has_more))
}

/// Makes a deferred message due now. Whoever calls wakes the worker.
///
/// # Errors
/// The caller may not, there is no further attempt, or the database failed.
pub async fn retry(
    store: &Store,
    by: Caller,
    id: MessageId,
    now: Timestamp,
) -> Result<(), MessageError> {
    by.may_change()?;
    match store.retry(id, now).await? {
        RetryOutcome::Now => Ok(()),
        RetryOutcome::Not(state) => Err(MessageError::NotDeferred(state)),
    }
}

impl Caller {
    fn may_change(self) -> Result<(), RoleTooLow> {
        match self {
            Self::Key => Ok(()),
            Self::Person(role) => role.at_least(Role::Member),
        }
    }
}

fn too_late(state: MessageState) -> &'static str {
    match state {
        MessageState::Scheduled
        | MessageState::Queued
        | MessageState::Deferred
        | MessageState::Sending => {
            "the message is being sent at this moment; if it is deferred, it can be canceled then"
        }
        MessageState::Delivered | MessageState::Relayed => {
            "the message has left; nothing can be canceled any more"
        }
        MessageState::Bounced => "the message was refused by the recipient's server already",
        MessageState::Failed => {
            "the message has failed already; its price was refunded unless an attempt may have arrived"
        }
        MessageState::Suppressed => {
            "the message was never to be sent: its recipient is on the suppression list"
        }
        MessageState::Canceled => "the message is canceled already",
    }
}
