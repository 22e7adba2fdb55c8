//! The shapes of an account's brand.

use serde::Serialize;
use utoipa::ToSchema;

/// What every template of the account is offered as defaults; a send's own `data` wins. Templates read
/// `product_name`, `product_url`, and so on.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_field_names, reason = "the member's name in the answer")]
pub struct Brand {
    /// What recipients call the product.
    #[schema(required, nullable)]
    product_name: Option<String>,
    /// Where the product is found.
    #[schema(required, nullable)]
    product_url: Option<String>,
    /// Where recipients write to with questions.
    #[schema(required, nullable)]
    support_email: Option<String>,
    /// The postal address, on one line.
    #[schema(required, nullable)]
    company_address: Option<String>,
    /// The colour of marks and buttons.
    #[schema(required, nullable)]
    brand_color: Option<String>,
    /// A picture of the mark.
    #[schema(required, nullable)]
    logo_url: Option<String>,
    /// Members of the request that mean nothing here.
    warnings: Option<Vec<String>>,
}
