//! The answer to a request, and about each of its messages.

use super::super::accept::refusal::{Refusal, Refused};
use super::super::accept::request::Request;
use crate::credit::Credits;
use crate::id::MessageId;
use crate::message::state::MessageState;
use crate::store::records::Answer;
use crate::template::contract::MAX_UNREAD_NAMED;

/// The answer to a request.
#[derive(Debug)]
pub struct Reply {
    /// One for each message, in order.
    pub items: Vec<Result<Receipt, Refused>>,
    /// Whether this is the answer of an earlier, equal request.
    pub replayed: bool,
}

/// Proof that a message is durable: stored, charged and queued.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    pub message_id: MessageId,
    /// The balance after the message was charged.
    pub credits_remaining: Credits,
    pub state: MessageState,
    /// What was accepted and ignored, what went out blank, and which data nothing reads.
    pub warnings: Vec<String>,
    /// The locale that it was rendered in, where its template has several.
    pub locale: Option<String>,
}

impl Reply {
    /// Reads the store's answers to the messages of `request`.
    pub(in crate::journey) fn new(answers: Vec<Answer>, request: &Request) -> Self {
        let items = answers.into_iter().zip(&request.items).map(|(answer, item)| {
            let warnings = item.as_ref().map(|it| it.warnings.clone()).unwrap_or_default();
            read(answer, warnings)
        });
        Self { items: items.collect(), replayed: false }
    }

    /// The same, of an earlier request with the same idempotency key.
    pub(in crate::journey) fn replayed(answers: Vec<Answer>, request: &Request) -> Self {
        Self { replayed: true, ..Self::new(answers, request) }
    }

    /// Whether a message was accepted.
    pub(in crate::journey) fn has_receipt(&self) -> bool {
        self.items.iter().any(Result::is_ok)
    }
}

/// Reads the store's answer, now or from an earlier request.
fn read(answer: Answer, mut warnings: Vec<String>) -> Result<Receipt, Refused> {
    match answer {
        Answer::Accepted { message_id, credits_remaining, state, blank, unread, locale } => {
            warnings.extend(blank.iter().map(|path| {
                format!("`data.{path}` is missing: the template left its place blank")
            }));
            warnings.extend(
                unread
                    .iter()
                    .take(MAX_UNREAD_NAMED)
                    .map(|path| format!("nothing in the template reads `data.{path}`")),
            );
            if unread.len() > MAX_UNREAD_NAMED {
                warnings.push("nothing in the template reads further members of `data`".to_owned());
            }
            Ok(Receipt { message_id, credits_remaining, state, warnings, locale })
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
