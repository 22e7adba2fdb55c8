//! Records and policies of RFC 8461, and the hosts that a policy allows.

use proptest::prelude::*;

use super::*;

const GOOD: &str = "version: STSv1\nmode: enforce\nmx: mx1.example.com\nmx: *.example.net\n\
                    max_age: 604800\n";

fn parse(text: &str) -> Result<StsPolicy, InvalidPolicy> {
    StsPolicy::parse(text.as_bytes())
}

#[test]
fn a_policy_is_read() {
    let policy = parse(GOOD).expect("valid");
    assert_eq!((policy.mode, policy.max_age().as_secs()), (Mode::Enforce, 604_800));
    assert!(policy.is_enforced());
    assert_eq!(policy.to_string(), GOOD);
}

#[test]
fn the_forms_that_the_grammar_allows_are_one_policy() {
    let crlf = GOOD.replace('\n', "\r\n");
    for text in [
        GOOD.trim_end().to_owned(),
        crlf.trim_end().to_owned(),
        crlf,
        GOOD.replace(": ", ":"),
        GOOD.replace(": ", ": \t "),
        GOOD.replace('\n', " \t\n"),
        GOOD.replace('\n', "\n\n"),
        GOOD.replace("example", "EXAMPLE"),
        format!("{GOOD}x-note: Grüße: to = all; of you\n"),
        format!("{GOOD}mode: none\nversion: STSv9\nmax_age: what\n"),
        "max_age: 604800\nmx: mx1.example.com\nmx: *.example.net\nmode: enforce\nversion: STSv1"
            .to_owned(),
    ] {
        assert_eq!(parse(&text).map(|it| it.to_string()), Ok(GOOD.to_owned()), "{text:?}");
    }
}

#[test]
fn what_the_grammar_does_not_allow_is_no_policy() {
    use InvalidPolicy::{Line, Missing, Value};
    let without = |name: &str| {
        let lines = GOOD.lines().filter(|line| !line.starts_with(name));
        lines.collect::<Vec<_>>().join("\n")
    };
    for (text, expected) in [
        (String::new(), Missing("version")),
        ("<html>\n".to_owned(), Line(1)),
        (format!("\u{feff}{GOOD}"), Line(1)),
        (GOOD.replace("mode:", " mode:"), Line(2)),
        (GOOD.replace("mode:", "mode :"), Line(2)),
        (GOOD.replace("enforce", ""), Line(2)),
        (GOOD.replace("enforce", "enf\torce"), Line(2)),
        (GOOD.replace('\n', "\r"), Line(1)),
        (format!("{GOOD}{}: x", "n".repeat(33)), Line(6)),
        (format!("{GOOD}max_age: 1\r"), Line(6)),
        (without("version"), Missing("version")),
        (without("mode"), Missing("mode")),
        (without("max_age"), Missing("max_age")),
        (without("mx"), Missing("mx")),
        (GOOD.replace("STSv1", "STSv2"), Value("version")),
        (GOOD.replace("STSv1", "stsv1"), Value("version")),
        (GOOD.replace("enforce", "Enforce"), Value("mode")),
        (GOOD.replace("enforce", "report"), Value("mode")),
        (GOOD.replace("604800", "-1"), Value("max_age")),
        (GOOD.replace("604800", "+1"), Value("max_age")),
        (GOOD.replace("604800", "1.5"), Value("max_age")),
        (GOOD.replace("604800", "12345678901"), Value("max_age")),
        (GOOD.replace("*.", "*"), Value("mx")),
        (GOOD.replace("*.", "."), Value("mx")),
        (GOOD.replace("*.", "*.*."), Value("mx")),
        (GOOD.replace("*.", "mx.*."), Value("mx")),
        (GOOD.replace("example.net", "example.net."), Value("mx")),
        (GOOD.replace("example.net", "bücher.example"), Value("mx")),
        (GOOD.replace("example.net", "-a.example"), Value("mx")),
        (GOOD.replace("*.example.net", "[192.0.2.1]"), Value("mx")),
    ] {
        assert_eq!(parse(&text), Err(expected), "{text:?}");
    }
    assert_eq!(StsPolicy::parse(b"version: STSv1\xff"), Err(InvalidPolicy::NotText));
}

#[test]
fn only_a_policy_of_mode_none_needs_no_host() {
    let policy = parse("version: STSv1\nmode: none\nmax_age: 0\n").expect("valid");
    assert_eq!((policy.mode, policy.max_age()), (Mode::None, Duration::ZERO));
    assert!(parse("version: STSv1\nmode: testing\nmax_age: 1\n").is_err());
}

#[test]
fn max_age_is_capped_at_a_year() {
    for digits in ["31557600", "31557601", "9999999999"] {
        let policy = parse(&GOOD.replace("604800", digits)).expect("valid");
        assert_eq!(policy.max_age(), MAX_AGE, "{digits}");
    }
}

#[test]
fn a_wildcard_stands_for_exactly_one_label() {
    for (pattern, host, expected) in [
        ("mx.example.com", "mx.example.com", true),
        ("mx.example.com", "MX.Example.Com.", true),
        ("MX.example.com", "mx.example.com", true),
        ("mx.example.com", "mx1.example.com", false),
        ("mx.example.com", "a.mx.example.com", false),
        ("mx.example.com", "mx.example.com.evil.example", false),
        ("mx.example.com", "example.com", false),
        ("*.example.com", "mx.example.com", true),
        ("*.example.com", "MX.EXAMPLE.COM", true),
        ("*.example.com", "a.b.example.com", false),
        ("*.example.com", "example.com", false),
        ("*.example.com", ".example.com", false),
        ("*.example.com", "mxexample.com", false),
        ("*.example.com", "mx.notexample.com", false),
        ("*.com", "example.com", true),
        ("*.com", "mx.example.com", false),
        ("*.example.com", "", false),
        ("*.example.com", "*.example.com", true),
    ] {
        let text = format!("version: STSv1\nmode: testing\nmx: {pattern}\nmax_age: 1");
        let policy = parse(&text).expect("valid");
        assert_eq!(policy.allows(host), expected, "{pattern} {host}");
    }
}

#[test]
fn a_record_announces_an_id() {
    let long = "a".repeat(32);
    for (record, expected) in [
        ("v=STSv1; id=20260101", "20260101"),
        ("v=STSv1;id=20260101;", "20260101"),
        ("v=STSv1;\tid=A1 ; ", "A1"),
        ("v=STSv1; x=1; id=A1; y.z-_=<*>", "A1"),
        ("v=STSv1; id=A1; id=B2; v=STSv2", "A1"),
        (&format!("v=STSv1; id={long}"), long.as_str()),
    ] {
        assert_eq!(record_id(&[record]).as_deref(), Some(expected), "{record}");
    }
    for record in [
        "",
        "v=STSv1",
        "v=STSv1;",
        "v=STSv1 ; id=1",
        "v=stsv1; id=1",
        "v=STSv2; id=1",
        " v=STSv1; id=1",
        "id=1; v=STSv1;",
        "v=STSv1; id=",
        "v=STSv1; ID=1",
        "v=STSv1; id = 1",
        "v=STSv1; id=2026-01-01",
        "v=STSv1; id=1;; x=1",
        "v=STSv1; id=1; garbage",
        "v=STSv1; id=1; x=a=b",
        "v=STSv1; id=1; _x=a",
        "v=STSv1; id=ü",
        &format!("v=STSv1; id=a{long}"),
    ] {
        assert_eq!(record_id(&[record]), None, "{record}");
    }
    assert_eq!(record_id(&[b"v=STSv1; id=1; x=\xff"]), None);
}

#[test]
fn exactly_one_record_must_be_about_mta_sts() {
    assert_eq!(record_id::<&str>(&[]), None);
    assert_eq!(record_id(&["hello", "v=STSv1; id=1", "v=spf1 -all"]).as_deref(), Some("1"));
    assert_eq!(record_id(&["v=STSv1; id=1", "v=STSv1; id=2"]), None);
    assert_eq!(record_id(&["v=STSv1; id=1", "v=STSv1; broken"]), None);
}

proptest! {
    #[test]
    fn a_policy_comes_back_from_its_own_text(
        mode in prop::sample::select(vec!["enforce", "testing", "none"]),
        mx in prop::collection::vec("(\\*\\.)?[a-z0-9]{1,5}(\\.[a-z]{1,5}){0,3}", 1..5),
        max_age in 0u32..40_000_000,
        order in prop::collection::vec(any::<u32>(), 8),
    ) {
        let mut lines = vec!["version: STSv1".to_owned(), format!("mode: {mode}")];
        lines.push(format!("max_age: {max_age}"));
        lines.extend(mx.iter().map(|it| format!("mx: {it}")));
        let mut lines: Vec<_> = lines.into_iter().zip(order).collect();
        lines.sort_by_key(|(_, key)| *key);
        let text: Vec<_> = lines.into_iter().map(|(line, _)| line).collect();
        let policy = parse(&text.join("\n"));
        prop_assert!(policy.is_ok(), "{text:?}");
        let policy = policy.expect("seen");
        prop_assert_eq!(parse(&policy.to_string()), Ok(policy));
    }
}
