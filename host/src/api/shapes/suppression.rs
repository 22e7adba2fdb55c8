//! The shapes of suppressions.

use serde::Serialize;
use utoipa::ToSchema;

use super::Problem;

/// Why an address is suppressed.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SuppressionKind {
    Bounce,
    Complaint,
    Manual,
}

/// An address to suppress.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewSuppression {
    /// The address; letter case does not matter.
    #[schema(format = "email", max_length = 254)]
    address: String,
    /// Why, in your own words.
    #[schema(max_length = 500)]
    reason: Option<String>,
    /// When it is taken off; never where nothing is said.
    #[schema(format = "date-time")]
    expires_at: Option<String>,
}

/// Addresses to suppress.
#[derive(Serialize, ToSchema)]
pub struct NewSuppressions {
    /// From 1 to 1,000.
    #[schema(min_items = 1, max_items = 1000)]
    data: Vec<NewSuppression>,
}

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
    message_id: Option<String>,
    /// When it was put there.
    #[schema(format = "date-time")]
    created_at: String,
    /// When it is taken off; none for never.
    #[schema(format = "date-time")]
    expires_at: Option<String>,
    /// Members of the request that mean nothing here.
    warnings: Option<Vec<String>>,
}

/// Some of the list.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SuppressionPage {
    /// In the order of the addresses.
    data: Vec<Suppression>,
    /// Whether there may be more.
    has_more: bool,
    /// What to give as `after` for the next page, where there may be more.
    next: Option<String>,
}

/// One result for each address.
#[derive(Serialize, ToSchema)]
pub struct SuppressionResults {
    /// Whether all were accepted.
    success: bool,
    /// In the order of the request.
    data: Vec<SuppressionResult>,
}

/// How an address stands on the list, or what is wrong with it.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub enum SuppressionResult {
    Suppressed(Box<Suppression>),
    Refused(Box<Problem>),
}

/// An address that was taken off.
#[derive(Serialize, ToSchema)]
pub struct DeletedSuppression {
    /// The address.
    address: String,
    /// Always true.
    deleted: bool,
}
