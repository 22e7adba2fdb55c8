//! The message that every bench works on: the load generator's 8 KiB template with five items.

use serde_json::{Map, Value, json};
use waxwing::plugin::renderer::{Part, Source, Template};

pub const SUBJECT: &str = include_str!("../../../tests/load/templates/invoice/subject.liquid");
pub const HTML: &str = include_str!("../../../tests/load/templates/invoice/html.liquid");
pub const TEXT: &str = include_str!("../../../tests/load/templates/invoice/text.liquid");
const DATA: &str = include_str!("../../../tests/load/templates/invoice/data.json");

/// The three parts as the renderer's interface has them.
pub fn template() -> Template {
    let source = |(part, text): (Part, &str)| Source { part, text: text.to_owned() };
    let parts = [(Part::Subject, SUBJECT), (Part::Html, HTML), (Part::Text, TEXT)];
    Template {
        slug: "invoice".to_owned(),
        revision: 1,
        sources: parts.map(source).to_vec(),
        partials: Vec::new(),
        layout: None,
    }
}

/// The template's data.
pub fn data() -> Map<String, Value> {
    serde_json::from_str(DATA).expect("the sample is JSON")
}

/// A request's body.
pub fn body() -> Vec<u8> {
    let body = json!({
        "to": "ada@example.com", "type": "EMAIL", "template": "invoice", "data": data(),
    });
    body.to_string().into_bytes()
}
