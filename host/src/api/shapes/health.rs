//! Health.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

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
    pub plugins: Vec<Value>,
}
