//! A template of the usual size, for a coarse look at speed.

use std::time::Instant;

use super::{NOW, compile, template};
use crate::Part;

#[test]
#[expect(clippy::print_stderr, reason = "the figure is what the test is for")]
fn a_render_does_not_grow_its_buffer_twice() {
    let row =
        "<tr><td style=\"padding:8px\">{{ i.name }}</td><td>{{ i.price | money: 'EUR' }}</td></tr>";
    let filler =
        "<p style=\"margin:0 0 16px\">Thank you, {{ user.name }}, for your order {{ id }}.</p>\n"
            .repeat(80);
    let source = format!(
        "<html><body>{filler}<table>{{% for i in items %}}{row}{{% endfor %}}</table></body></html>"
    );
    let it = template(&[(Part::Html, &source), (Part::Text, "Hi {{ user.name }}")]);
    let compiled = compile(&it).expect("compiles");
    let data = r#"{"user": {"name": "A & B"}, "id": 7, "items": [{"name": "x", "price": 1}, {"name": "y", "price": 2}]}"#;
    let mut size = 0;
    let start = Instant::now();
    for _ in 0..200 {
        size = compiled.render(NOW, data).expect("renders").bodies[0].text.len();
    }
    eprintln!(
        "{} byte template: {:?} a render of {size} bytes",
        source.len(),
        start.elapsed() / 200
    );
    assert_eq!(compiled.parts[0].1.last_size.get(), size);
}
