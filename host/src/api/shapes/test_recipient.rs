//! Test recipients.

use serde::Serialize;
use utoipa::ToSchema;

use super::page::{Listed, Page, PageDoc, WHOLE};
use crate::clock::Timestamp;
use crate::id::MessageId;
use crate::journey::Receipt;
use crate::message::state::MessageState;
use crate::store::TestRecipientRow;

/// An address that tests of templates go to once its holder has agreed.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TestRecipient {
    /// The address in lower case throughout.
    address: String,
    /// Whether its holder has agreed; else tests to it go into the sandbox inbox.
    confirmed: bool,
    #[schema(format = "date-time")]
    created_at: String,
    #[schema(format = "date-time")]
    confirmed_at: Option<String>,
    /// The mail that has just asked its holder.
    #[schema(value_type = Option<String>)]
    #[serde(skip_serializing_if = "Option::is_none")]
    message_id: Option<MessageId>,
    /// What was accepted and ignored, and whether the mail will not arrive.
    #[schema(value_type = Option<Vec<String>>)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// An address to ask.
#[derive(Debug, Serialize, ToSchema)]
pub struct NewTestRecipient {
    /// Its holder gets a mail.
    #[schema(format = "email")]
    address: String,
}

/// An address that was taken off.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeletedTestRecipient {
    pub address: String,
    /// Always true.
    pub deleted: bool,
}

impl From<TestRecipientRow> for TestRecipient {
    fn from(row: TestRecipientRow) -> Self {
        let TestRecipientRow { address, created_at, confirmed_at } = row;
        Self {
            address,
            confirmed: confirmed_at.is_some(),
            created_at: created_at.rfc3339(),
            confirmed_at: confirmed_at.map(Timestamp::rfc3339),
            message_id: None,
            warnings: Vec::new(),
        }
    }
}

impl TestRecipient {
    /// One that was just added, with the mail that has asked it.
    pub fn asked(row: TestRecipientRow, mail: Option<Receipt>, mut warnings: Vec<String>) -> Self {
        if mail.as_ref().is_some_and(|it| it.state == MessageState::Suppressed) {
            warnings.push("the address has just been suppressed; the mail was not sent".to_owned());
        }
        Self { message_id: mail.map(|it| it.message_id), warnings, ..Self::from(row) }
    }
}

pub type TestRecipientList = Page<TestRecipient>;

impl Listed for TestRecipient {
    const PAGE: PageDoc = PageDoc {
        name: "TestRecipientList",
        about: "The list.",
        data: "In the order of the addresses.",
        ..WHOLE
    };
}
