//! What must hold before this instance takes calls.

use waxwing_plugin::mjml_compiler::Document;
use waxwing_plugin::{SelfTestResult, self_check};

use crate::compile::compile;

/// Compiles a small document with Liquid, and refuses a wrong one.
pub fn run() -> Vec<SelfTestResult> {
    vec![
        self_check("compiles, and keeps Liquid", keeps_liquid()),
        self_check("refuses an unknown element", refuses()),
    ]
}

fn document(column: &str) -> Document {
    let source = format!(
        "<mjml><mj-body><mj-section><mj-column>{column}</mj-column></mj-section></mj-body></mjml>"
    );
    Document { source, includes: Vec::new() }
}

fn keeps_liquid() -> Result<(), String> {
    let liquid = r#"{{ name | append: "<" }}"#;
    let it = document(&format!("<mj-text>Hi {liquid}</mj-text>"));
    let compiled = compile(&it).map_err(|it| format!("{it:?}"))?;
    let is_kept = compiled.html.contains(&format!(">Hi {liquid}</div>"));
    if is_kept { Ok(()) } else { Err(compiled.html) }
}

fn refuses() -> Result<(), String> {
    match compile(&document("<mj-txt>Hi</mj-txt>")) {
        Err(faults) if faults[0].code == "unknown_element" => Ok(()),
        other => Err(format!("{other:?}")),
    }
}
