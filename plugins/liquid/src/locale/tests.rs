//! Locales against `Intl` of Node.js, which has the whole of ICU (`cldr/cases.mjs`), and what no other
//! implementation decides for us.

use super::conventions::{CLDR, LOCALES, REGIONS};
use super::{Decimal, Locale};
use crate::value::Value;
use crate::{Compiled, Part, RenderError, Source, Template, Undefined};

#[derive(serde::Deserialize)]
struct Cases {
    made_by: MadeBy,
    fractions: Vec<String>,
    plurals: Vec<(String, String, String)>,
    zones: Vec<(String, i64, String)>,
    #[serde(rename = "cases")]
    filters: Vec<(String, String, serde_json::Value, String)>,
}

#[derive(serde::Deserialize)]
struct MadeBy {
    cldr: String,
}

fn cases() -> Cases {
    serde_json::from_str(include_str!("../../cldr/cases.json")).expect("the cases are JSON")
}

fn render(locale: &str, source: &str, data: &str) -> Result<String, RenderError> {
    let source = Source { part: Part::Text, text: source.to_owned() };
    let template = Template { sources: vec![source], ..Template::default() };
    let compiled = Compiled::new(&template, Undefined::Required).map_err(RenderError::Template)?;
    let output = compiled.render_in(&Locale::new(locale), 0, data)?;
    Ok(output.bodies[0].text.clone())
}

fn written(locale: &str, filter: &str, value: &serde_json::Value) -> String {
    let data = serde_json::json!({ "v": value }).to_string();
    render(locale, &format!("{{{{ v | {filter} }}}}"), &data).expect("renders")
}

/// Node.js writes a space where CLDR has a narrow one that does not break (since 2023, for programs that read such
/// texts again). We write what CLDR has: nobody reads a mail by program, and "6:05" stays beside "PM".
fn without_narrow_spaces(text: &str) -> String {
    text.replace('\u{202f}', " ")
}

#[test]
fn dates_numbers_and_amounts_are_those_of_icu() {
    let cases = cases();
    let major = |it: &str| it.split('.').next().map(str::to_owned);
    assert_eq!(
        major(CLDR),
        major(&cases.made_by.cldr),
        "the tables and the cases have one version"
    );
    assert!(cases.filters.len() > 1_000, "there are only {} cases", cases.filters.len());
    let mut report = String::new();
    for (locale, filter, value, expected) in &cases.filters {
        let mut got = written(locale, filter, value);
        if filter.starts_with("date") || filter.starts_with("time") {
            got = without_narrow_spaces(&got);
        }
        if got != *expected {
            put!(report, "{locale} {value} | {filter}: {got:?}, ICU {expected:?}\n");
        }
    }
    assert!(report.is_empty(), "\n{report}");
}

#[test]
fn plural_forms_are_those_of_icu() {
    let cases = cases();
    for (tag, forms, fractions) in &cases.plurals {
        let locale = Locale::new(tag);
        let letter = |text: &str| {
            let number = Decimal::of(&Value::from(text)).expect("a number");
            let name = locale.plural(number).name();
            if name == "other" { '.' } else { name.chars().next().expect("a name") }
        };
        let whole: String = (0..=200).map(|it| letter(&it.to_string())).collect();
        assert_eq!(&whole, forms, "{tag}, 0 to 200");
        let others: String = cases.fractions.iter().map(|it| letter(it)).collect();
        assert_eq!(&others, fractions, "{tag}, {:?}", cases.fractions);
    }
}

#[test]
fn daylight_saving_begins_and_ends_as_in_icu() {
    for (zone, unix, offset) in cases().zones {
        let got = written("en", &format!("date: '%z', '{zone}'"), &unix.into());
        assert_eq!(got, offset, "{zone} at {unix}");
    }
}

#[test]
fn the_tables_are_sorted_for_their_search() {
    assert!(LOCALES.is_sorted_by_key(|(tag, _)| tag));
    assert!(REGIONS.is_sorted_by_key(|(tag, _)| tag));
}
