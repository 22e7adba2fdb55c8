//! When keys were last used, to about a minute. What was written less than a minute ago is not written again.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use super::super::database::{Tx, args, each};
use crate::clock::Timestamp;
use crate::id::KeyId;
use crate::store::StoreError;
use crate::store::records::Accepted;

/// Keys that are remembered; where there are more, all are forgotten.
const MAX_REMEMBERED: usize = 10_000;
const MINUTE_MS: i64 = 60_000;

/// When this process has written the last use of keys.
#[derive(Debug, Default)]
pub struct KeyUse {
    written: Mutex<HashMap<KeyId, i64>>,
}

/// The uses that one transaction has written.
#[derive(Debug)]
#[must_use = "what was written is to be kept when the transaction has committed"]
pub struct Used {
    keys: Vec<KeyId>,
    at: i64,
}

impl KeyUse {
    /// Writes the last use of the keys of these messages.
    pub async fn write(
        &self,
        tx: &mut Tx,
        accepted: &[Accepted<'_>],
        now: Timestamp,
    ) -> Result<Used, StoreError> {
        let at = now.millis();
        let keys: BTreeSet<KeyId> = accepted.iter().map(|it| it.key).collect();
        let keys: Vec<KeyId> = {
            let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
            // A clock that was set back writes again.
            let is_new = |key: &KeyId| {
                written.get(key).is_none_or(|then| !(0..MINUTE_MS).contains(&(at - then)))
            };
            keys.into_iter().filter(is_new).collect()
        };
        if keys.is_empty() {
            return Ok(Used { keys, at });
        }
        each(
            "-- commit: last use of keys
             UPDATE keys SET last_used_at = $2
             WHERE id = $1 AND coalesce(last_used_at, 0) < $3",
            keys.iter().map(|key| args![*key, at, at - MINUTE_MS]),
        )
        .run(tx)
        .await?;
        Ok(Used { keys, at })
    }

    /// Keeps what a transaction has written, now that it has committed.
    pub fn keep(&self, used: Used) {
        if used.keys.is_empty() {
            return;
        }
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if written.len() > MAX_REMEMBERED {
            written.clear();
        }
        written.extend(used.keys.into_iter().map(|key| (key, used.at)));
    }
}
