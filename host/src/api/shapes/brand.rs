//! The shapes of an account's brand.

use serde::Serialize;
use utoipa::{IntoResponses, ToSchema};

use super::Problem;

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

/// What changes; what is not named stays as it is, and null clears a value.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(example = json!({"productName": "Tern & Co", "brandColor": "#23695e"}))]
pub struct ChangeBrand {
    /// One line.
    #[schema(nullable, min_length = 1, max_length = 100)]
    product_name: Option<String>,
    /// Of http or https.
    #[schema(nullable, format = "uri", max_length = 2000)]
    product_url: Option<String>,
    /// An e-mail address.
    #[schema(nullable, format = "email", max_length = 254)]
    support_email: Option<String>,
    /// One line.
    #[schema(nullable, min_length = 1, max_length = 300)]
    company_address: Option<String>,
    /// Hexadecimal; dark enough for white text (4.5:1).
    #[schema(nullable, pattern = "^#([0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})$")]
    brand_color: Option<String>,
    /// Of https.
    #[schema(nullable, format = "uri", max_length = 2000)]
    logo_url: Option<String>,
}

/// The refusals of a change of the brand.
#[derive(IntoResponses)]
pub enum BrandRefusals {
    /// `BAD_REQUEST`: every value that is not of its type.
    #[response(status = 400, content_type = "application/problem+json")]
    BadRequest(Problem),
    /// `UNAUTHORIZED`: the key is missing, unknown, expired or switched off.
    #[response(status = 401, content_type = "application/problem+json")]
    Unauthorized(Problem),
    /// `FORBIDDEN`: the key has not the scope `admin`, is a test key, or is for some domains or templates
    /// only; or the account is suspended.
    #[response(status = 403, content_type = "application/problem+json")]
    Forbidden(Problem),
    /// `REQUEST_TIMEOUT`: the body did not arrive in time.
    #[response(status = 408, content_type = "application/problem+json")]
    RequestTimeout(Problem),
    /// `PAYLOAD_TOO_LARGE`
    #[response(status = 413, content_type = "application/problem+json")]
    PayloadTooLarge(Problem),
    /// `UNSUPPORTED_MEDIA_TYPE`: not JSON.
    #[response(status = 415, content_type = "application/problem+json")]
    UnsupportedMediaType(Problem),
    /// `RATE_LIMITED`: too many failed logins.
    #[response(status = 429, content_type = "application/problem+json")]
    TooManyRequests(Problem),
    /// `INTERNAL`
    #[response(status = 500, content_type = "application/problem+json")]
    Internal(Problem),
    /// `UNAVAILABLE`: the store gives no answer, or the server is shutting down.
    #[response(status = 503, content_type = "application/problem+json")]
    Unavailable(Problem),
}
