//! Which requests read-only mode refuses. Sends are refused by the journey.

use axum::extract::MatchedPath;
use http::{Extensions, Method};

use super::problem::Problem;
use super::state::Api;
use crate::journey::accept::refusal::Refusal;

/// The path where read-only mode is switched on and off.
const MAINTENANCE: &str = "/v1/maintenance";
/// The ends of the paths of requests that are no GET and only look.
pub const LOOKS: [&str; 5] =
    ["/validate", "/preview", "/impact", "/v1/decisions/{id}/replay", "/v1/health/check"];

/// Whether a request to a path changes nothing, whatever its method is.
pub fn only_looks(path: &str) -> bool {
    LOOKS.iter().any(|end| path.ends_with(end))
}

/// Admits a request that changes nothing, and every other one while the server is not in read-only mode.
///
/// # Errors
/// The server is in read-only mode, or the store failed.
pub async fn admit(api: &Api, method: &Method, extensions: &Extensions) -> Result<(), Problem> {
    let path = extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str);
    let changes =
        !matches!(*method, Method::GET | Method::HEAD) && path != MAINTENANCE && !only_looks(path);
    if !changes {
        return Ok(());
    }
    match api.journey.accept.facts.current_maintenance().await? {
        None => Ok(()),
        Some(known) => Err(Refusal::read_only(&known.reason).into()),
    }
}
