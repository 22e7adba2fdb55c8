//! An operation as a line for a shell.

use serde_json::{Map, Value, json};

use super::fields::{Schemas, members};

/// A curl that makes the request, with `$WAXWING_URL` and `$WAXWING_KEY` from the environment. What it is about is
/// written in capitals.
pub fn curl(method: &str, path: &str, operation: &Value, schemas: Schemas<'_>) -> String {
    let mut url = path.to_owned();
    let mut query = Vec::new();
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let name = parameter["name"].as_str().unwrap_or_default();
        match parameter["in"].as_str() {
            Some("path") => url = url.replace(&format!("{{{name}}}"), &name.to_uppercase()),
            Some("query") if parameter["required"] == true => {
                query.push(format!("{name}={}", plain(&value(&parameter["schema"], schemas))));
            }
            Some(_) | None => {}
        }
    }
    if !query.is_empty() {
        url = format!("{url}?{}", query.join("&"));
    }
    let method = match method {
        "get" => String::new(),
        method => format!(" -X {}", method.to_uppercase()),
    };
    let mut lines = vec![format!("curl -sS{method} \"$WAXWING_URL{url}\"")];
    if operation["security"].as_array().is_some_and(|it| !it.is_empty()) {
        lines.push("-H \"x-api-key: $WAXWING_KEY\"".to_owned());
    }
    if let Some((kind, content)) = members(&operation["requestBody"]["content"]).next() {
        lines.push(format!("-H 'content-type: {kind}'"));
        lines.push(match kind.as_str() {
            "application/json" => {
                let body = spaced(&value(&content["schema"], schemas)).replace('\'', "'\\''");
                format!("-d '{body}'")
            }
            _ => "--data-binary @component.wasm".to_owned(),
        });
    }
    lines.join(" \\\n  ")
}

/// A value that a schema allows: its example, or what has to be there.
fn value(schema: &Value, schemas: Schemas<'_>) -> Value {
    let schema = schemas.resolved(schema);
    if !schema["example"].is_null() {
        return schema["example"].clone();
    }
    if let Some(word) = schema["enum"].get(0) {
        return word.clone();
    }
    let choices = ["oneOf", "anyOf", "allOf"].into_iter().filter_map(|it| schema[it].as_array());
    if let Some(choice) = choices.flatten().find(|it| it["type"] != "null") {
        return value(choice, schemas);
    }
    // Of several types the first one.
    let kinds = &schema["type"];
    let kind = kinds.as_str().or_else(|| kinds[0].as_str());
    match kind {
        Some("object") => object(schema, schemas),
        Some("array") => json!([value(&schema["items"], schemas)]),
        Some("integer" | "number") => json!(schema["minimum"].as_i64().unwrap_or(1).max(1)),
        Some("boolean") => json!(true),
        Some(_) | None => json!(text(schema["format"].as_str())),
    }
}

fn object(schema: &Value, schemas: Schemas<'_>) -> Value {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let all = members(&schema["properties"]);
    let wanted: Map<String, Value> = all
        .enumerate()
        .filter(|(index, (name, _))| {
            // Where nothing has to be there, the first one shows the form.
            required.contains(&name.as_str()) || (required.is_empty() && *index == 0)
        })
        .map(|(_, (name, member))| (name.clone(), value(member, schemas)))
        .collect();
    Value::Object(wanted)
}

fn text(format: Option<&str>) -> &'static str {
    match format {
        Some("email") => "ada@example.com",
        Some("date-time") => "2026-12-24T18:00:00Z",
        Some("uri") => "https://example.com",
        Some(_) | None => "…",
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// JSON with a blank behind each colon and comma, in one line.
fn spaced(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members: Vec<String> = members
                .iter()
                .map(|(name, it)| format!("{}: {}", json!(name), spaced(it)))
                .collect();
            format!("{{{}}}", members.join(", "))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(spaced).collect::<Vec<_>>().join(", "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_a_line_for_a_shell() {
        let operation = json!({
            "security": [{"apiKey": []}],
            "parameters": [{"name": "id", "in": "path"}, {"name": "calls", "in": "query", "required": true,
                            "schema": {"type": "integer", "minimum": 0}}],
            "requestBody": {"content": {"application/json": {"schema": {"type": "object", "required": ["to", "n"],
                "properties": {"to": {"type": "string", "format": "email"}, "n": {"type": ["integer", "null"]},
                               "other": {"type": "string"}}}}}},
        });
        let line = curl("post", "/v1/things/{id}", &operation, Schemas(&Value::Null));
        let head = "curl -sS -X POST \"$WAXWING_URL/v1/things/ID?calls=1\" \\\n  \
                    -H \"x-api-key: $WAXWING_KEY\" \\\n  -H 'content-type: application/json' \\\n  -d '";
        let body =
            line.strip_prefix(head).and_then(|it| it.strip_suffix('\'')).expect("the request");
        let body: Value = serde_json::from_str(body).expect("JSON");
        assert_eq!(body, json!({"to": "ada@example.com", "n": 1}));
        let example = json!({"requestBody": {"content": {"application/json": {"schema": {"example": {"a": "it's"}}}}}});
        let line = curl("get", "/x", &example, Schemas(&Value::Null));
        assert!(line.ends_with(r#"-d '{"a": "it'\''s"}'"#), "{line}");
    }
}
