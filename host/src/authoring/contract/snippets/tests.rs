use super::*;
use crate::account::brand::Brand;

fn contract(data: &Value) -> SenderContract {
    let source = serde_json::from_value(json!({"examples": {"default": data}})).expect("a source");
    SenderContract {
        slug: "note".parse().expect("a slug"),
        revision: Some(1),
        source,
        variables: Vec::new(),
        account_sender: None,
        brand: Brand::default(),
    }
}

fn servers() -> Servers {
    Servers { http: "http://127.0.0.1:8080".to_owned(), smtp: "127.0.0.1:2587".to_owned() }
}

fn code(language: Language, data: &Value) -> String {
    contract(data).snippets(&[language], &servers()).remove(0).code
}

#[test]
fn no_text_ends_its_quotes_in_any_language() {
    let hostile = "\"'`\\${x}#{x}$x<?=1?></script><!--\n\r\tJSON\nEOF\u{2028}\u{202e}\u{0}%DATE%";
    for (language, expected) in [
        (
            Language::Curl,
            r#""a": "\"'`\\${x}#{x}$x<?=1?>\u003c/script>\u003c!--\n\r\tJSON\nEOF\u2028\u202e\u0000%DATE%""#,
        ),
        (
            Language::Node,
            r#""a": "\"'`\\${x}#{x}$x<?=1?>\u003c/script>\u003c!--\n\r\tJSON\nEOF\u2028\u202e\u0000%DATE%","#,
        ),
        (
            Language::Python,
            r#""a": "\"'`\\${x}#{x}$x<?=1?>\u003c/script>\u003c!--\n\r\tJSON\nEOF\u2028\u202e\u0000%DATE%","#,
        ),
        (
            Language::Php,
            r#""a" => "\"'`\\\${x}#{x}\$x<?=1?>\u{3c}/script>\u{3c}!--\n\r\tJSON\nEOF\u{2028}\u{202e}\u{0}%DATE%","#,
        ),
        (
            Language::Ruby,
            r#""a" => "\"'`\\${x}\#{x}$x<?=1?>\u{3c}/script>\u{3c}!--\n\r\tJSON\nEOF\u{2028}\u{202e}\u{0}%DATE%","#,
        ),
        (
            Language::Go,
            r#""a": "\"'`\\${x}#{x}$x<?=1?>\u003c/script>\u003c!--\n\r\tJSON\nEOF\u2028\u202e\u0000%DATE%","#,
        ),
    ] {
        let code = code(language, &json!({"a": hostile}));
        assert!(code.contains(expected), "{}:\n{code}", language.as_str());
    }
    // The data of a heredoc is JSON, of which no line can be its end.
    for language in [Language::Curl, Language::Smtp] {
        let code = code(language, &json!({"a": hostile, "JSON": 1}));
        assert_eq!(code.lines().filter(|it| *it == "JSON").count(), 1, "{code}");
    }
}

#[test]
fn names_that_a_language_takes_for_something_else_stay_names() {
    let data = json!({"__proto__": 1, "0": {"1": "a"}, "empty": {}, "none": null});
    assert!(code(Language::Node, &data).contains("[\"__proto__\"]: 1,"));
    let php = code(Language::Php, &data);
    assert!(php.contains("\"data\" => (object) [") && php.contains("\"0\" => (object) ["), "{php}");
    assert!(php.contains("\"empty\" => new stdClass()"), "{php}");
    assert!(code(Language::Go, &data).contains("\"none\": nil,"));
}

#[test]
fn a_long_example_and_a_deep_one_make_no_longer_code() {
    let long = json!({"a": "x".repeat(MAX_EXAMPLE_BYTES)});
    assert!(code(Language::Go, &long).len() < 2_000);
    let deep = (0..100).fold(json!(1), |it, _| json!([it, 1]));
    assert!(code(Language::Go, &json!({"a": deep})).len() < 4_000);
}

#[test]
fn a_default_in_a_shell_is_what_was_given() {
    let text = "o'brien\"$(id)`id`}\\@example.com";
    let script = format!("printf %s \"${{WAXWING_NOT_SET:-{}}}\"", in_shell_default(text));
    let output = std::process::Command::new("sh").args(["-c", &script]).output().expect("a shell");
    assert_eq!(String::from_utf8_lossy(&output.stdout), text);
}
