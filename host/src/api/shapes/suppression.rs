//! Suppressions.

use serde::Serialize;
use utoipa::ToSchema;

use super::page::{Listed, PAGED, Page, PageDoc};
use super::{Problem, from_row};
use crate::clock::Timestamp;
use crate::id::MessageId;
use crate::store::{SuppressionRow, records};

/// An address that nothing more is sent to.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Suppression {
    /// The address in lower case throughout.
    address: String,
    /// Why it is there.
    kind: SuppressionKind,
    /// In the words of whoever put it there.
    reason: String,
    /// The message that bounced or was complained about.
    #[schema(value_type = Option<String>)]
    message_id: Option<MessageId>,
    /// When it was put there.
    #[schema(format = "date-time")]
    created_at: String,
    /// When it is taken off; none for never.
    #[schema(format = "date-time")]
    expires_at: Option<String>,
    /// Members of the request that mean nothing here.
    #[schema(value_type = Option<Vec<String>>)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Why an address is suppressed.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SuppressionKind {
    /// The address does not take mail for good.
    Bounce,
    /// Its holder has called a message spam.
    Complaint,
    /// Somebody of the account has put it there.
    Manual,
}

/// One result for each address.
#[derive(Serialize, ToSchema)]
pub struct SuppressionResults {
    /// Whether all were accepted.
    pub success: bool,
    /// In the order of the request.
    pub data: Vec<SuppressionResult>,
}

/// How an address stands on the list, or what is wrong with it.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub enum SuppressionResult {
    Suppressed(Box<Suppression>),
    Refused(Box<Problem>),
}

/// Entries to put back.
#[derive(Serialize, ToSchema)]
pub struct RestoreSuppressions {
    /// The `undo` of the answer to their removal.
    undo: String,
}

/// An address that was taken off.
#[derive(Serialize, ToSchema)]
pub struct DeletedSuppression {
    /// The address.
    pub address: String,
    /// Always true.
    pub deleted: bool,
    /// What `POST /v1/suppressions/restore` puts the entry back with, as it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undo: Option<String>,
}

from_row!(row: SuppressionRow => Suppression {
    address, kind: row.kind.into(), reason, message_id, created_at: row.created_at.rfc3339(),
    expires_at: row.expires_at.map(Timestamp::rfc3339), warnings: Vec::new(),
});

impl From<records::SuppressionKind> for SuppressionKind {
    fn from(kind: records::SuppressionKind) -> Self {
        match kind {
            records::SuppressionKind::Bounce => Self::Bounce,
            records::SuppressionKind::Complaint => Self::Complaint,
            records::SuppressionKind::Manual => Self::Manual,
        }
    }
}

pub type SuppressionPage = Page<Suppression>;

impl Listed for Suppression {
    const PAGE: PageDoc = PageDoc {
        name: "SuppressionPage",
        about: "Some of the list.",
        data: "In the order of the addresses.",
        ..PAGED
    };
}
