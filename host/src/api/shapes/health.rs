//! Health.

use serde::Serialize;
use utoipa::ToSchema;

use super::Maintenance;
use crate::plugin::status::SlotHealth;

/// All is well.
#[derive(Serialize, ToSchema)]
pub struct Health {
    /// `ok`.
    #[schema(value_type = String)]
    pub status: &'static str,
}

/// The store can be written and the plugins are loaded.
#[derive(Serialize, ToSchema)]
pub struct Ready {
    /// `ok`.
    #[schema(value_type = String)]
    pub status: &'static str,
    /// Read-only mode, while it is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maintenance: Option<Maintenance>,
}

/// The same, and what the plugins do.
#[derive(Serialize)]
pub struct HealthInDetail {
    pub status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maintenance: Option<Maintenance>,
    pub plugins: Vec<SlotHealth>,
}
