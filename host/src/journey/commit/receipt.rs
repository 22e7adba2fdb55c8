//! What a client is told of one message.

use super::super::accept::refusal::{Refusal, Refused};
use crate::credit::Credits;
use crate::id::MessageId;
use crate::message::state::MessageState;
use crate::store::records::Answer;

/// Proof that a message is durable: stored, charged and queued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// Its identifier.
    pub message_id: MessageId,
    /// The balance after it.
    pub credits_remaining: Credits,
    /// Where it stands.
    pub state: MessageState,
    /// What was accepted and ignored, and what went out blank.
    pub warnings: Vec<String>,
}

/// Reads the store's answer, now or from an earlier request.
///
/// # Errors
/// The message was refused.
pub fn read(answer: Answer, mut warnings: Vec<String>) -> Result<Receipt, Refused> {
    match answer {
        Answer::Accepted { message_id, credits_remaining, state, blank } => {
            warnings.extend(blank.iter().map(|path| {
                format!("`data.{path}` is missing: the template left its place blank")
            }));
            Ok(Receipt { message_id, credits_remaining, state, warnings })
        }
        Answer::Insufficient { required, balance } => {
            Err(Refusal::InsufficientBalance { required, balance }.into())
        }
        Answer::Refused { refusal } => Err(serde_json::from_value(refusal).unwrap_or_else(|_| {
            let message = "the kept answer is of a newer version of the server".to_owned();
            Refused::from(Refusal::Internal { message })
        })),
    }
}
