//! Messages that were accepted.

use serde::Serialize;
use utoipa::ToSchema;

use super::Problem;
use crate::credit::Credits;
use crate::id::MessageId;
use crate::journey::commit::receipt::Receipt;
use crate::message::state::MessageState;

/// A message that is stored, charged and queued.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SendResponse {
    /// Always true.
    success: bool,
    /// `msg_…`.
    #[schema(value_type = String)]
    message_id: MessageId,
    /// The balance after it.
    #[schema(value_type = i64)]
    credits_remaining: Credits,
    /// `queued`, `scheduled` or `suppressed`.
    #[schema(value_type = String)]
    state: MessageState,
    /// The locale that it was rendered in, where its template has several.
    #[serde(skip_serializing_if = "Option::is_none")]
    locale: Option<String>,
    /// What was accepted and ignored, each variable that the template left blank, and data that nothing in it reads.
    #[schema(value_type = Option<Vec<String>>)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// One result for each message.
#[derive(Serialize, ToSchema)]
pub struct BatchResponse {
    /// Whether all were accepted.
    pub success: bool,
    /// In the order of the request.
    pub data: Vec<BatchResult>,
}

/// The body of a 201, or a problem.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub enum BatchResult {
    Sent(Box<SendResponse>),
    Refused(Box<Problem>),
}

/// A message that was sent once more.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the member's name in the answer")]
pub struct Resent {
    /// Always true.
    success: bool,
    /// The new message, `msg_…`.
    #[schema(value_type = String)]
    message_id: MessageId,
    /// The balance after it.
    #[schema(value_type = i64)]
    credits_remaining: Credits,
    /// `queued` or `suppressed`.
    state: MessageState,
    #[schema(ignore)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    /// The message that it was.
    #[schema(value_type = String)]
    resent_from: MessageId,
}

impl From<Receipt> for SendResponse {
    fn from(receipt: Receipt) -> Self {
        let Receipt { message_id, credits_remaining, state, warnings, locale } = receipt;
        Self { success: true, message_id, credits_remaining, state, locale, warnings }
    }
}

impl Resent {
    /// The message that sends `resent_from` once more.
    pub fn new(sent: Receipt, resent_from: MessageId) -> Self {
        let Receipt { message_id, credits_remaining, state, warnings, locale: _ } = sent;
        Self { success: true, message_id, credits_remaining, state, warnings, resent_from }
    }
}
