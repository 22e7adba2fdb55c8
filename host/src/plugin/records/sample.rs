//! Recorded calls: what went into a plugin and what came out, in the form in which they are stored.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Call, RecordError};
use crate::plugin::runtime::kind::Kind;

/// A recorded call: what went in, and what came out.
#[derive(Debug)]
pub struct Sample {
    pub slot: String,
    pub digest: String,
    pub call: Call,
    pub answer: Value,
    pub end: CallEnd,
}

/// How a recorded call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEnd {
    Answered,
    /// The plugin broke, or gave up: the answer says how.
    Failed,
}

/// Why bytes are no recorded call.
#[derive(Debug, thiserror::Error)]
pub enum SampleError {
    /// It is not what was stored.
    #[error("the recorded call is not readable: {0}")]
    Json(#[from] serde_json::Error),
    /// It is of another form.
    #[error("the recorded call is of another version of the server: {0}")]
    Record(#[from] RecordError),
}

#[derive(Serialize, Deserialize)]
struct Stored {
    input: Value,
    answer: Value,
}

impl Sample {
    /// As it is stored.
    ///
    /// # Panics
    /// Never: a recorded call is JSON.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let stored = Stored { input: self.call.to_json(), answer: self.answer.clone() };
        serde_json::to_vec(&stored).expect("JSON values are JSON")
    }

    /// The call and its answer, as they were stored.
    pub fn read(kind: Kind, bytes: &[u8]) -> Result<(Call, Value), SampleError> {
        let stored: Stored = serde_json::from_slice(bytes)?;
        let call = Call::from_json(kind, &stored.input)?;
        Ok((call, stored.answer))
    }
}
