//! What must hold before this instance takes traffic.

use waxwing_liquid::{Compiled, Part, Source, Template, Undefined};
use waxwing_plugin::SelfTestResult;

/// Compiles and renders a small template with escaping.
pub fn run(now_unix_ms: u64) -> Vec<SelfTestResult> {
    let source = |part, text: &str| Source { part, text: text.to_owned() };
    let template = Template {
        sources: vec![
            source(Part::Subject, "Hello {{ name }}"),
            source(
                Part::Html,
                "<p>{{ name }}{% for i in items %} {{ i | times: 2 }}{% endfor %}</p>",
            ),
        ],
        ..Template::default()
    };
    let outcome = Compiled::new(&template, Undefined::Required)
        .map_err(|it| format!("{it:?}"))
        .and_then(|it| {
            let data = r#"{"name": "Tom & Jo", "items": [1, 2]}"#;
            it.render(now_unix_ms, data).map_err(|it| format!("{it:?}"))
        });
    let expected = ["Hello Tom & Jo", "<p>Tom &amp; Jo 2 4</p>", "Tom & Jo 2 4\n"];
    let (passed, detail) = match outcome {
        Ok(output) => {
            let bodies: Vec<_> = output.bodies.iter().map(|it| it.text.as_str()).collect();
            (bodies == expected, format!("rendered {bodies:?}"))
        }
        Err(it) => (false, it),
    };
    vec![SelfTestResult { name: "renders and escapes".to_owned(), passed, detail }]
}
