//! Messages by the hour.

use serde::Serialize;
use utoipa::ToSchema;

use super::from_row;
use super::page::{Listed, Page, PageDoc, WHOLE};
use crate::store::SentInHour;

/// What became of the messages that were accepted within an hour. One that was delivered and came back later counts as
/// both.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hour {
    /// Its beginning.
    #[schema(format = "date-time")]
    since: String,
    accepted: u64,
    /// To a mail exchanger or a smarthost.
    delivered: u64,
    /// Bounced, or given up.
    failed: u64,
    /// Suppressed or canceled.
    not_sent: u64,
    /// What nothing has become of yet.
    under_way: u64,
}

/// How many hours.
#[derive(Serialize, ToSchema)]
#[schema(minimum = 1, maximum = 720)]
pub struct Hours(u32);

pub type HourList = Page<Hour>;

from_row!(row: SentInHour => Hour {
    since: row.hour.rfc3339(), accepted, delivered, failed, not_sent, under_way: row.under_way(),
});

impl Listed for Hour {
    const PAGE: PageDoc = PageDoc {
        name: "HourList",
        about: "Hours in which something was accepted.",
        data: "Oldest first.",
        ..WHOLE
    };
}
