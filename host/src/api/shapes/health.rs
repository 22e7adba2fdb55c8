//! Health.

use serde::Serialize;
use utoipa::ToSchema;

use crate::plugin::status::SlotHealth;

/// All is well.
#[derive(Serialize, ToSchema)]
pub struct Health {
    /// `ok`.
    #[schema(value_type = String)]
    pub status: &'static str,
}

/// All is well, and what the plugins do.
#[derive(Serialize)]
pub struct HealthInDetail {
    pub status: &'static str,
    pub plugins: Vec<SlotHealth>,
}
