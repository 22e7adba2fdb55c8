//! Settings: parsed with the place of a fault, described by a JSON Schema.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::Diagnostic;
use crate::plugin::fault;

/// What a plugin's settings must be: JSON that parses, with a JSON Schema (2020-12).
///
/// With the feature `schemars` (on by default) every type with `#[derive(Deserialize, JsonSchema)]`
/// has it. That adds about 80 KB to a component. A plugin that wants to be small turns the feature
/// off and gives the schema as a file:
///
/// ```
/// use serde::Deserialize;
/// use waxwing_plugin::PluginSettings;
///
/// #[derive(Deserialize)]
/// struct Prices {
///     each: u32,
/// }
///
/// impl PluginSettings for Prices {
///     fn schema() -> String {
///         // include_str!("settings.schema.json").to_owned()
///         r#"{"type":"object","properties":{"each":{"type":"integer","minimum":0}}}"#.to_owned()
///     }
/// }
/// # assert!(Prices::schema().contains("each"));
/// # let _ = |it: Prices| it.each;
/// ```
pub trait PluginSettings: DeserializeOwned {
    /// The JSON Schema, as text. The host reads it once a generation, never in a send.
    fn schema() -> String;
}

#[cfg(feature = "schemars")]
impl<T: DeserializeOwned + schemars::JsonSchema> PluginSettings for T {
    fn schema() -> String {
        schemars::schema_for!(T).as_value().to_string()
    }
}

/// Settings of a plugin that has none: every key is a fault.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NoSettings {}

impl PluginSettings for NoSettings {
    fn schema() -> String {
        concat!(
            r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"No settings","#,
            r#""type":"object","additionalProperties":false}"#
        )
        .to_owned()
    }
}

/// Settings from their JSON text; the fault has its place in the text and its path.
///
/// The path costs a second, slower parser, so only what failed goes through it: a policy is
/// configured anew for every call.
pub(crate) fn parse<S: DeserializeOwned>(settings: &str) -> Result<S, Vec<Diagnostic>> {
    serde_json::from_str(settings).map_err(|error| {
        let path = path_of_fault::<S>(settings).filter(|_| error.is_data());
        let place = format!(" at line {} column {}", error.line(), error.column());
        let text = error.to_string();
        let reason = text.strip_suffix(&place).unwrap_or(&text);
        let message = match &path {
            Some(path) => format!("`{path}`: {reason}"),
            None => reason.to_owned(),
        };
        let number = |it: usize| u32::try_from(it).unwrap_or(0);
        let (line, column) = (number(error.line()), number(error.column()));
        vec![Diagnostic { line, column, path, ..fault("settings", message) }]
    })
}

/// Where the settings went wrong; a `?` is a place that the parser could not name.
fn path_of_fault<S: DeserializeOwned>(settings: &str) -> Option<String> {
    let mut parser = serde_json::Deserializer::from_str(settings);
    let error = serde_path_to_error::deserialize::<_, S>(&mut parser).err()?;
    let path = error.path().to_string();
    let named = path.trim_end_matches(['?', '.']);
    (!named.is_empty()).then(|| named.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Plans {
        #[expect(dead_code, reason = "only parsed")]
        plans: Vec<Plan>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Plan {
        #[expect(dead_code, reason = "only parsed")]
        price: u32,
    }

    fn refused(settings: &str) -> Diagnostic {
        parse::<Plans>(settings).expect_err("refused").remove(0)
    }

    #[test]
    fn a_fault_has_its_path_line_and_column() {
        let it = refused("{\"plans\":[{\"price\":1},\n{\"price\":-1}]}");
        assert_eq!(it.path.as_deref(), Some("plans[1].price"));
        assert_eq!((it.line, it.column), (2, 11));
        assert_eq!(it.message, "`plans[1].price`: invalid value: integer `-1`, expected u32");
    }

    #[test]
    fn an_unknown_key_and_a_missing_one_are_named() {
        assert_eq!(refused(r#"{"plan":[]}"#).path.as_deref(), Some("plan"));
        let missing = refused(r#"{"plans":[{}]}"#);
        assert_eq!(missing.path.as_deref(), Some("plans[0]"));
        assert_eq!(missing.message, "`plans[0]`: missing field `price`");
    }

    #[test]
    fn what_is_no_json_has_a_place_and_no_path() {
        let it = refused("{");
        assert_eq!((it.path, it.line, it.code.as_str()), (None, 1, "settings"));
    }

    #[test]
    fn a_plugin_without_settings_takes_none() {
        assert!(parse::<NoSettings>("{}").is_ok());
        let refused = parse::<NoSettings>(r#"{"price":1}"#).expect_err("refused");
        assert_eq!(refused[0].path.as_deref(), Some("price"));
        let schema: serde_json::Value = serde_json::from_str(&NoSettings::schema()).expect("JSON");
        assert_eq!(schema["additionalProperties"], false);
    }

    #[cfg(feature = "schemars")]
    #[test]
    fn a_derived_schema_has_the_descriptions_and_the_dialect() {
        /// Prices.
        #[derive(Deserialize, schemars::JsonSchema)]
        #[expect(dead_code, reason = "only described")]
        struct Prices {
            /// Credits of one recipient.
            each: u32,
        }
        let schema: serde_json::Value = serde_json::from_str(&Prices::schema()).expect("JSON");
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert_eq!(schema["properties"]["each"]["description"], "Credits of one recipient.");
    }
}
