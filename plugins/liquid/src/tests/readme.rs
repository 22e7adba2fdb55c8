//! The examples of the README's table, as they stand there.

use super::{NOW, compile, template, with_partials};
use crate::{Locale, Part};

const README: &str = include_str!("../../README.md");

const DATA: &str = r#"{"at": "2024-07-01T16:05:00Z", "n": 1234567.5, "cents": 129900, "files": 3, "name": "Ada & Co"}"#;

#[test]
fn the_examples_of_locales_write_what_the_readme_says() {
    let (_, section) = README.split_once("\n## Locales\n").expect("the section");
    let (before, table) = section.split_once("\n| template ").expect("the table");
    let (_, messages) = before.split_once("```json\n").expect("the messages");
    let (messages, _) = messages.split_once("```").expect("the end of the messages");
    let rows = table.lines().skip(2).take_while(|it| it.starts_with("| "));
    let mut count = 0;
    for row in rows {
        let cells: Vec<String> = row
            .replace("\\|", "\u{1}")
            .split('|')
            .map(|it| it.trim().trim_matches('`').replace('\u{1}', "|"))
            .collect();
        let [_, source, locale, expected, _] = cells.as_slice() else {
            unreachable!("three cells: {row}");
        };
        let it = with_partials(template(&[(Part::Html, source)]), &[("messages.json", messages)]);
        let compiled = compile(&it).expect("compiles");
        let output = compiled.render_in(&Locale::new(locale), NOW, DATA).expect("renders");
        // Spaces that do not break look like others in a table.
        let got = output.bodies[0].text.replace(['\u{a0}', '\u{202f}'], " ");
        assert_eq!(got.replace("&#39;", "'"), *expected, "{source} in {locale}");
        count += 1;
    }
    assert!(count > 15, "{count} rows");
}

#[test]
fn the_readme_names_every_locale() {
    let (_, list) = README.split_once("- **Locales**: ").expect("the list");
    let (list, _) = list.split_once(". Another region").expect("the end of the list");
    let named: Vec<&str> = list.split([',', '\n', ' ']).filter(|it| !it.is_empty()).collect();
    assert_eq!(named, crate::locale::tags().collect::<Vec<_>>());
}
