//! What a client asks for in one request.

use super::submission::{Faulty, Submission};
use crate::account::idempotency::Idempotency;
use crate::id::RequestId;
use crate::store::records::Acceptance;
use crate::trace::Arrival;

/// Messages to send, as either listener hands them over.
#[derive(Debug)]
pub struct Request {
    /// Correlates logs, records and the answer.
    pub id: RequestId,
    /// The client's own key for the request.
    pub idempotency: Option<Idempotency>,
    /// Whether one refusal refuses all.
    pub acceptance: Acceptance,
    /// For the traces of its messages.
    pub arrival: Arrival,
    /// The messages, in order; a faulty one only keeps its place.
    pub items: Vec<Result<Submission, Faulty>>,
}
