//! Health.

use serde::Serialize;
use utoipa::ToSchema;

/// All is well.
#[derive(Serialize, ToSchema)]
pub struct Health {
    /// `ok`.
    #[schema(value_type = String)]
    pub status: &'static str,
}
