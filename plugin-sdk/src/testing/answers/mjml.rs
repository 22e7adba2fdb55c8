//! Calls of MJML compilers.

use serde::Deserialize;
use serde_json::json;

use super::{Input, Pairs, diagnostics};
use crate::Failure;
use crate::mjml_compiler::{Document, MjmlCompiler};

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Call {
    source: String,
    includes: Pairs,
}

/// The answer of an MJML compiler to `source` and `includes`: the HTML, or a failure. Faults of the
/// MJML are `misconfigured`, as the server has them.
///
/// # Errors
/// The input is no such call.
pub fn mjml<P: MjmlCompiler>(input: &str) -> Result<String, String> {
    let input = Input::<Call>::parse(input)?;
    Ok(input.answer::<P>(|compiler, ctx, call| {
        let document = Document { source: call.source, includes: call.includes.0 };
        let it = compiler.compile(ctx, &document).map_err(Failure::Misconfigured)?;
        Ok(json!({
            "html": it.html, "preheader": it.preheader, "warnings": diagnostics(it.warnings),
        }))
    }))
}
