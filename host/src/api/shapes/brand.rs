//! An account's brand.

use serde::Serialize;
use utoipa::ToSchema;

use crate::account::brand::{self, BrandField};

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
    /// Members of the request that mean nothing here, and values that readers of the mail could not read.
    #[schema(value_type = Option<Vec<String>>)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl From<&brand::Brand> for Brand {
    fn from(brand: &brand::Brand) -> Self {
        let value = |field| brand.value(field).map(str::to_owned);
        Self {
            product_name: value(BrandField::ProductName),
            product_url: value(BrandField::ProductUrl),
            support_email: value(BrandField::SupportEmail),
            company_address: value(BrandField::CompanyAddress),
            brand_color: value(BrandField::BrandColor),
            logo_url: value(BrandField::LogoUrl),
            warnings: Vec::new(),
        }
    }
}
