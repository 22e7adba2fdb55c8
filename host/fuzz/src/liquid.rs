//! A template and its data: sources, partials, data, messages and the locale are separated by a NUL.
//!
//! The time of a render is bounded by the host, not by the engine; so here the loops of a source are bounded.

use waxwing_liquid::{
    Compiled, Diagnostic, Locale, Output, Part, Partial, RenderError, Source, Template, Undefined,
};

const NOW: u64 = 1_709_618_828_000;
const MAX_INPUT: usize = 4 << 10;
/// Words that make a render run a block more than once.
const LOOPS: [&str; 4] = ["for", "tablerow", "render", "include"];
const MAX_LOOPS: usize = 4;

pub fn check(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    if text.len() > MAX_INPUT || !is_bounded(text) {
        return;
    }
    let mut pieces = text.split('\0');
    let mut next = || pieces.next().unwrap_or_default().to_owned();
    let (html, subject, partial, layout, data) = (next(), next(), next(), next(), next());
    let (messages, locale) = (next(), next());
    let source = |part, text| Source { part, text };
    let template = Template {
        sources: vec![source(Part::Subject, subject), source(Part::Html, html)],
        partials: [("p", partial), ("messages.json", messages)]
            .into_iter()
            .filter(|(name, text)| *name == "p" || !text.is_empty())
            .map(|(name, text)| Partial { name: name.to_owned(), text })
            .collect(),
        layout: (!layout.is_empty()).then_some(layout),
    };
    for undefined in [Undefined::Required, Undefined::Nil] {
        match Compiled::new(&template, undefined) {
            Ok(compiled) => rendered(&compiled, undefined, &data, &Locale::new(&locale)),
            Err(faults) => explained(&faults),
        }
    }
}

fn rendered(compiled: &Compiled, undefined: Undefined, data: &str, locale: &Locale) {
    assert!(compiled.weight() > 0);
    let variables = compiled.variables();
    assert!(variables.iter().all(|it| !it.path.is_empty()));
    assert!(undefined == Undefined::Required || variables.iter().all(|it| !it.required));
    let data = if data.is_empty() { "{}" } else { data };
    let again = || compiled.render_in(locale, NOW, data);
    let outcome = again();
    assert_eq!(outcome, again(), "the same input gives the same output");
    answered(compiled.render(NOW, data));
    answered(outcome);
}

fn answered(outcome: Result<Output, RenderError>) {
    match outcome {
        Ok(output) => {
            let parts: Vec<Part> = output.bodies.iter().map(|it| it.part).collect();
            assert_eq!(parts, [Part::Subject, Part::Html, Part::Text]);
            assert!(!output.bodies[0].text.contains(['\r', '\n']), "a subject is one line");
            assert!(output.missing.len() <= 256);
        }
        Err(RenderError::Data(faults) | RenderError::Template(faults)) => explained(&faults),
    }
}

fn explained(faults: &[Diagnostic]) {
    assert!(!faults.is_empty());
    for it in faults {
        assert!(!it.code.is_empty() && !it.message.is_empty(), "{it:?}");
        assert!(it.column == 0 || it.line > 0, "{it:?}");
    }
}

/// Whether an input is cheap to render: few loops, no loop over a computed or long range, and no text that doubles in
/// each turn of a loop.
fn is_bounded(text: &str) -> bool {
    let loops: usize = LOOPS.iter().map(|it| text.matches(it).count()).sum();
    let digits = text.split(|c: char| !c.is_ascii_digit()).map(str::len).max().unwrap_or(0);
    let has_range = text.contains("..");
    loops <= MAX_LOOPS
        && (!has_range || (digits <= 2 && loops <= 2 && !text.contains(['|', 'e', 'E'])))
}
