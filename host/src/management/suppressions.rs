//! Entries that were taken off a suppression list, to be put back as they were. They are sealed for whoever took them
//! off, so that nobody makes up a bounce or a complaint.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::id::{AccountId, MessageId};
use crate::store::SuppressionRow;
use crate::store::records::{NewSuppression, SuppressionKind};
use crate::store::seal::Seal;

#[derive(Serialize, Deserialize)]
struct Removed {
    address: String,
    kind: String,
    reason: String,
    message: Option<MessageId>,
    /// In milliseconds.
    expires_at: Option<i64>,
}

/// What was taken off, as one text.
#[must_use]
pub fn sealed(seal: &Seal, account: AccountId, removed: Vec<SuppressionRow>) -> String {
    let removed: Vec<Removed> = removed.into_iter().map(Removed::of).collect();
    let text = serde_json::to_vec(&removed).unwrap_or_default();
    URL_SAFE_NO_PAD.encode(seal.seal(&identity(account), &text))
}

/// What to put back; none where the text is another account's, or made up.
#[must_use]
pub fn opened(seal: &Seal, account: AccountId, text: &str) -> Option<Vec<NewSuppression>> {
    let sealed = URL_SAFE_NO_PAD.decode(text).ok()?;
    let text = seal.open(&identity(account), &sealed).ok()?;
    let removed: Vec<Removed> = serde_json::from_slice(&text).ok()?;
    Some(removed.into_iter().filter_map(|it| it.into_new(account)).collect())
}

fn identity(account: AccountId) -> String {
    format!("removed suppressions {account}")
}

impl Removed {
    fn of(row: SuppressionRow) -> Self {
        Self {
            address: row.address,
            kind: row.kind.as_str().to_owned(),
            reason: row.reason,
            message: row.message_id,
            expires_at: row.expires_at.map(Timestamp::millis),
        }
    }

    fn into_new(self, account_id: AccountId) -> Option<NewSuppression> {
        Some(NewSuppression {
            account_id,
            address: self.address,
            kind: SuppressionKind::from_name(&self.kind)?,
            reason: self.reason,
            message_id: self.message,
            expires_at: self.expires_at.map(Timestamp::from_millis),
        })
    }
}
