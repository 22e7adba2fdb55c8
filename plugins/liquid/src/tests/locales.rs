//! Locales through the public types: what a template sees of one, dates, numbers and amounts, and hostile values.

use super::{NOW, body, codes, compile, template};
use crate::{Compiled, Locale, Part, RenderError, Undefined};

/// A text part rendered in a locale; the fault's message where it is refused.
fn written(locale: &str, source: &str, data: &str) -> Result<String, String> {
    let compiled =
        compile(&template(&[(Part::Text, source)])).map_err(|it| it[0].message.clone())?;
    match compiled.render_in(&Locale::new(locale), NOW, data) {
        Ok(output) => Ok(output.bodies[0].text.clone()),
        Err(RenderError::Data(it)) => Err(format!("data: {}", it[0].message)),
        Err(RenderError::Template(it)) => Err(format!("template: {}", it[0].message)),
    }
}

fn filtered(locale: &str, value: &serde_json::Value, filter: &str) -> Result<String, String> {
    let data = serde_json::json!({ "v": value }).to_string();
    written(locale, &format!("{{{{ v | {filter} }}}}"), &data)
}

/// As a person sees it: spaces that do not break are spaces.
fn shown(text: &str) -> String {
    text.replace(['\u{a0}', '\u{202f}'], " ").replace(['\u{200e}', '\u{200f}'], "")
}

#[test]
fn a_template_sees_the_language_and_its_direction() {
    let source = "{{ locale.lang }} {{ locale['dir'] }}";
    for (tag, expected) in [
        ("de", "de ltr"),
        ("DE_at", "de-AT ltr"),
        ("ar", "ar rtl"),
        ("he-IL", "he-IL rtl"),
        ("ur", "ur rtl"),
        ("az-Arab", "az-Arab rtl"),
        ("uz-latn-AF", "uz-Latn-AF ltr"),
        ("zh-hant-hk", "zh-Hant-HK ltr"),
        ("es-419", "es-419 ltr"),
        ("en-US-u-ca-gregory", "en-US-u-ca-gregory ltr"),
        ("tlh", "tlh ltr"),
        ("", "en ltr"),
        ("x", "en ltr"),
        ("de\"><script>", "en ltr"),
        ("deutsch-sprachig-und-viel-länger", "en ltr"),
    ] {
        assert_eq!(written(tag, source, "{}").as_deref(), Ok(expected), "{tag}");
    }
    assert_eq!(written(&"de-".repeat(100_000), source, "{}").as_deref(), Ok("en ltr"));
}

#[test]
fn data_hides_no_locale_and_a_template_s_own_name_does() {
    let data = r#"{"locale": {"lang": "xx", "name": "n"}, "all": [{"lang": "yy"}]}"#;
    let source =
        "{{ locale.lang }} {{ locale.name }}{% for locale in all %} {{ locale.lang }}{% endfor %}";
    assert_eq!(written("de", source, data).as_deref(), Ok("de n yy"));
    let compiled = compile(&template(&[(Part::Text, source)])).expect("compiles");
    let variables = compiled.variables();
    let paths: Vec<_> = variables.iter().map(|it| it.path.as_str()).collect();
    assert_eq!(paths, ["locale.name", "all", "all[].lang"]);
    // Without a locale it is English, and a variable that is called so is the data's.
    let both = "{{ locale.lang }} {{ locale.dir }} {{ locale }}";
    let it = template(&[(Part::Text, both)]);
    assert_eq!(body(&it, Part::Text, r#"{"locale": "fr"}"#), "en ltr fr");
}

#[test]
fn a_render_without_a_locale_is_as_before_there_were_any() {
    let data = r#"{"at": "2024-03-05T18:07:08Z"}"#;
    for (source, without, within) in [
        (
            "{{ at | date: '%A %a %-d. %B %b %p' }}",
            "Tuesday Tue 5. March Mar PM",
            "Dienstag Di. 5. März März PM",
        ),
        ("{{ 129900 | money: 'CHF' }}", "CHF 1,299.00", "1.299,00 CHF"),
        ("{{ 1299 | money }}", "12.99", "12,99"),
        ("{{ at | date: 'long' }}", "March 5, 2024", "5. März 2024"),
        ("{{ at | datetime }}", "Mar 5, 2024, 6:07 PM", "05.03.2024, 18:07"),
        ("{{ 1234.5 | number }}", "1,234.5", "1.234,5"),
    ] {
        let it = template(&[(Part::Text, source)]);
        assert_eq!(shown(&body(&it, Part::Text, data)), without, "{source}");
        assert_eq!(shown(&written("de", source, data).expect("renders")), within, "{source}");
    }
}

#[test]
fn a_month_stands_alone_where_no_day_is_beside_it() {
    let at = "2024-03-05".into();
    for (filter, expected) in [
        ("date: '%-d %B %Y'", "5 марта 2024"),
        ("date: '%B %Y'", "март 2024"),
        ("date: '%e %b'", " 5 мар."),
        ("date: '%^B'", "МАРТ"),
        // What programs read stays as it is.
        ("date: '%c'", "Tue Mar  5 00:00:00 2024"),
        ("date: '%F'", "2024-03-05"),
    ] {
        assert_eq!(filtered("ru", &at, filter).as_deref(), Ok(expected), "{filter}");
    }
}

#[test]
fn a_region_writes_as_the_nearest_that_is_known() {
    let amount = "1234567.5".into();
    for (tag, expected) in [
        ("de", "1.234.567,5"),
        ("de-DE", "1.234.567,5"),
        ("de-AT", "1 234 567,5"),
        ("de-LI", "1'234'567.5"),
        ("es-AR", "1.234.567,5"),
        ("es-419", "1,234,567.5"),
        ("es-PE", "1,234,567.5"),
        ("pt-AO", "1 234 567,5"),
        ("no", "1 234 567,5"),
        ("ar", "1,234,567.5"),
        ("ar-AE", "1,234,567.5"),
        ("ar-EG", "١٬٢٣٤٬٥٦٧٫٥"),
        ("ar-SA", "١٬٢٣٤٬٥٦٧٫٥"),
        ("ar-MA", "1,234,567.5"),
        ("fa", "۱٬۲۳۴٬۵۶۷٫۵"),
        ("hi", "12,34,567.5"),
        ("xx", "1,234,567.5"),
    ] {
        assert_eq!(shown(&filtered(tag, &amount, "number").expect("renders")), expected, "{tag}");
    }
    let date = "2024-03-05".into();
    for (tag, expected) in [
        ("en-AU", "05/03/2024"),
        ("en-PH", "3/5/24"),
        ("zh-HK", "2024/3/5"),
        ("zh-Hant", "2024/3/5"),
        ("zh-Hans-HK", "2024/3/5"),
    ] {
        assert_eq!(filtered(tag, &date, "date: 'short'").as_deref(), Ok(expected), "{tag}");
    }
    let long = "date: 'long'";
    assert_eq!(filtered("zh-HK", &date, "date: 'full'"), filtered("zh-TW", &date, "date: 'full'"));
    assert_eq!(filtered("xx", &date, long), filtered("en", &date, long));
}

#[test]
fn amounts_are_exact_and_have_the_digits_of_iso_4217() {
    for (value, filter, expected) in [
        ("0.1".into(), "plus: 0.2 | currency: 'EUR'", "0,30 €"),
        (0.300_000_000_000_000_04.into(), "currency: 'EUR'", "0,30 €"),
        (1.005.into(), "currency: 'EUR'", "1,01 €"),
        ("1.005".into(), "currency: 'EUR'", "1,01 €"),
        ("-0.001".into(), "currency: 'EUR'", "0,00 €"),
        (
            "123456789012345678901234567890.125".into(),
            "currency: 'EUR'",
            "123.456.789.012.345.678.901.234.567.890,13 €",
        ),
        (1299.into(), "money: 'EUR'", "12,99 €"),
        (1299.into(), "money: 'jpy'", "1.299 ¥"),
        (1299.into(), "money: 'BHD'", "1,299 BHD"),
        (1299.into(), "money: 'UGX'", "1.299 UGX"),
        (12999.into(), "money: 'CLF'", "1,2999 CLF"),
        (i64::MIN.into(), "money: 'EUR'", "-92.233.720.368.547.758,08 €"),
        (5.into(), "money: 'XXQ'", "0,05 XXQ"),
        (5.into(), "money: 'Gold & Silber'", "0,05 GOLD & SILBER"),
        (1299.into(), "money", "12,99"),
        (1299.into(), "money_with_currency: 'USD'", "12,99 USD"),
        (1299.into(), "money_without_currency: 'JPY'", "1.299"),
        ("12.5".into(), "currency", "12,50"),
        (serde_json::Value::Null, "default: nil | currency: 'EUR'", ""),
    ] {
        let got = filtered("de", &value, filter).map(|it| shown(&it));
        assert_eq!(got.as_deref(), Ok(expected), "{value} | {filter}");
    }
    let html = template(&[(Part::Html, "{{ 5 | money: c }}")]);
    let compiled = compile(&html).expect("compiles");
    let output = compiled.render_in(&Locale::new("de"), NOW, r#"{"c": "<b>"}"#).expect("renders");
    assert_eq!(shown(&output.bodies[0].text), "0,05 &lt;B&gt;", "a code is escaped");
}

#[test]
fn what_is_no_number_is_refused() {
    for value in ["NaN", "Infinity", "1,5", "12 €", "", "1e9999", "٣"] {
        for filter in ["number", "percent", "currency: 'EUR'"] {
            let refused = filtered("de", &value.into(), filter).expect_err("it is no number");
            assert!(refused.starts_with("data: `"), "{refused}");
        }
    }
    for value in [serde_json::json!([1]), serde_json::json!({"a": 1}), true.into()] {
        assert!(filtered("de", &value, "number").is_err(), "{value}");
    }
    assert!(filtered("de", &1.into(), "number: 101").is_err());
    assert!(filtered("de", &1.into(), "number: 'x'").is_err());
    assert!(filtered("de", &12.5.into(), "money: 'EUR'").is_err(), "half a cent");
    // 309 digits, and a number that is nearly nothing.
    assert_eq!(filtered("en", &f64::MAX.into(), "number").map(|it| it.len()), Ok(309 + 102));
    assert_eq!(filtered("en", &f64::MIN_POSITIVE.into(), "number").as_deref(), Ok("0"));
    assert_eq!(filtered("en", &"1e-999".into(), "percent").as_deref(), Ok("0%"));
    assert_eq!(
        filtered("en", &"1e999".into(), "number: 100").map(|it| it.len()),
        Ok(1_000 + 333 + 101)
    );
}

#[test]
fn dates_at_the_ends_of_the_calendar_are_written() {
    for (value, expected) in [
        ("0000-01-01".into(), "1. Januar 1"),
        ("0001-01-01".into(), "1. Januar 1"),
        ("9999-12-31".into(), "31. Dezember 9999"),
        ("10000-01-01".into(), "1. Januar 10000"),
        (253_402_300_800_i64.into(), "1. Januar 10000"),
        // No date, so it stays what it is, as with `strftime`.
        ("-1-01-01".into(), "-1-01-01"),
        ("morgen".into(), "morgen"),
        ("".into(), ""),
        (i64::MAX.into(), "31. Dezember 1000000000"),
        (i64::MIN.into(), "1. Januar 1"),
        (1e300.into(), "31. Dezember 1000000000"),
        (serde_json::json!([1]), "1"),
    ] {
        for zone in ["", ", 'UTC'"] {
            let got = filtered("de", &value, &format!("date: 'long'{zone}"));
            assert_eq!(got.as_deref(), Ok(expected), "{value}{zone}");
        }
        for zone in ["Europe/Berlin", "Asia/Kathmandu", "Africa/Casablanca"] {
            let got = filtered("de", &value, &format!("datetime: 'full', '{zone}'"));
            assert!(got.is_ok(), "{value} {zone}: {got:?}");
        }
    }
}

#[test]
fn a_time_zone_has_daylight_saving_and_moves_no_date() {
    for (value, filter, expected) in [
        ("2024-07-01T16:00:00Z", "datetime: 'medium', 'Europe/Berlin'", "01.07.2024, 18:00"),
        ("2024-01-01T16:00:00Z", "time: 'short', timezone: 'Europe/Berlin'", "17:00"),
        ("2024-07-01T16:00:00-04:00", "date: '%H:%M %Z %z', 'europe/berlin'", "22:00 CEST +0200"),
        ("2024-07-01T16:00:00-04:00", "time: 'long'", "16:00:00 GMT-4"),
        ("2024-07-01T16:00:00Z", "time: 'full', 'Asia/Kolkata'", "21:30:00 GMT+05:30"),
        ("2024-07-01T16:00:00Z", "time: 'long', 'Asia/Kolkata'", "21:30:00 GMT+5:30"),
        ("2024-07-01T22:30:00Z", "date: timezone: 'Europe/Berlin'", "02.07.2024"),
        ("2024-07-01", "date: format: 'long', timezone: 'America/New_York'", "1. Juli 2024"),
        ("2024-07-01", "date: '%F', 'America/New_York'", "2024-07-01"),
        ("2024-07-01T16:00:00Z", "date: '%Z', 'Asia/Dubai'", "+04:00"),
    ] {
        let got = filtered("de", &value.into(), filter).map(|it| shown(&it));
        assert_eq!(got.as_deref(), Ok(expected), "{value} | {filter}");
    }
}

#[test]
fn unknown_zones_and_styles_are_faults() {
    for source in [
        "{{ a | date: 'long', 'Europe/Bärlin' }}",
        "{{ a | date: '%H', timezone: '../../etc/passwd' }}",
        "{{ a | time: 'tiny' }}",
        "{{ a | datetime: '%H' }}",
        "{{ a | date }}",
        "{{ a | date: 'long', 'UTC', 'x' }}",
        "{{ a | date: 'long', zone: 'UTC' }}",
        "{{ a | money: 'EUR', 'USD' }}",
    ] {
        assert_eq!(codes(&template(&[(Part::Text, source)])), ["filter_arguments"], "{source}");
    }
    let data = r#"{"a": 0, "z": "Mars/Phobos", "s": "tiny"}"#;
    for source in ["{{ a | date: 'long', z }}", "{{ a | time: s }}", "{{ a | date: '%H', z }}"] {
        let refused = written("de", source, data).expect_err("the data is refused");
        assert!(refused.starts_with("data: there is no "), "{refused}");
    }
}

#[test]
fn every_locale_writes_every_style_in_html_and_in_text() {
    let source = "{% for s in styles %}{{ at | date: s }}{{ at | time: s }}{{ at | datetime: s }}{% endfor %}\
                  {{ n | number }}{{ n | percent: 2 }}{{ n | currency: 'USD' }}{{ 5 | money: 'KWD' }}";
    let it = template(&[(Part::Html, source)]);
    let compiled = Compiled::new(&it, Undefined::Nil).expect("compiles");
    let data = r#"{"styles": ["short", "medium", "long", "full"], "at": 1709618828, "n": -1234.5}"#;
    for tag in crate::locale::tags() {
        let output = compiled.render_in(&Locale::new(tag), NOW, data).expect("renders");
        assert!(output.bodies.iter().all(|it| it.text.len() > 100), "{tag}");
        assert!(!output.bodies[0].text.contains(['{', '}', '¤', '|']), "{tag}: {output:?}");
    }
}
