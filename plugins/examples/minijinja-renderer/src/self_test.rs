//! What must hold before this instance takes traffic.

use waxwing_plugin::renderer::Part;
use waxwing_plugin::{SelfTestResult, self_check, testing};

use crate::template::Compiled;

/// Compiles and renders a small template with escaping.
pub fn run() -> Vec<SelfTestResult> {
    vec![self_check("renders and escapes", renders())]
}

fn renders() -> Result<(), String> {
    let html = "<p>{{ name }}{% for it in items %} {{ it * 2 }}{% endfor %}</p>";
    let template = testing::template(&[(Part::Subject, "Hello {{ name }}"), (Part::Html, html)]);
    let compiled = Compiled::new(&template).map_err(|it| format!("{it:?}"))?;
    let output = compiled.render(r#"{"name": "Tom & Jo", "items": [1, 2]}"#);
    let output = output.map_err(|it| format!("{it:?}"))?;
    let bodies: Vec<_> = output.bodies.iter().map(|it| it.text.as_str()).collect();
    let expected = ["Hello Tom & Jo", "Tom & Jo 2 4\n", "<p>Tom &amp; Jo 2 4</p>"];
    if bodies == expected { Ok(()) } else { Err(format!("rendered {bodies:?}")) }
}
