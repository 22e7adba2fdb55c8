//! Accept: from a request to a [`submission::Submission`], or to a [`refusal::Refusal`].

pub mod authenticate;
pub mod fair_share;
pub mod idempotency;
pub mod json;
pub mod rate_limit;
pub mod refusal;
pub mod resend;
pub mod submission;
pub mod variables;
