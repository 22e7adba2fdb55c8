//! Random messages read back equal, and none breaks a line rule or gains a header.

use proptest::prelude::*;

use super::*;

/// The documented normalisation of header texts.
pub(super) fn one_line(text: &str) -> String {
    let is_space = |c: char| c == ' ' || c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    text.split(is_space).filter(|it| !it.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The documented normalisation of bodies, without the line breaks at the end.
pub(super) fn lines(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let kept = |c: &char| matches!(c, '\t' | '\n') || !c.is_ascii_control();
    text.chars().filter(kept).collect::<String>().trim_end_matches('\n').to_owned()
}

pub(super) fn header_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,200}",
        "\\PC{0,120}",
        any::<String>(),
        "[a-zé\r\n\t :=?_QB]{0,100}",
        "(=\\?utf-8\\?[qB]\\?|\\?=|[ a=?]){0,20}",
        "[\u{4e00}-\u{4eff}]{0,150}",
    ]
}

pub(super) fn body() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~\n]{0,1500}",
        any::<String>(),
        "[a-z \t=\r\n\0]{0,400}",
        "[a-zäöü .=\n]{0,900}",
        "[\u{400}-\u{4ff} \n\r]{0,400}",
        "(--=_[amr]|[0-9a-f\n]){0,60}",
        "[a-z]{900,1100}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_is_composed_is_what_is_read(
        name in header_text(), subject in header_text(), value in header_text(),
        text in body(), html in body(), filename in header_text(), content_type in header_text(),
        content in prop::collection::vec(any::<u8>(), 0..300), id in prop::option::of(header_text()),
    ) {
        let headers = [("X-Extra".to_owned(), value.clone()), (value, "x".to_owned())];
        let attachments = [file(&filename, &content_type, &content, id.as_deref())];
        let message = with_outgoing(|it| compose(&Outgoing {
            from_name: Some(&name), subject: &subject, text: Some(&text), html: Some(&html),
            headers: &headers[..1], attachments: &attachments, ..it
        }));
        assert_well_formed(&message);
        prop_assert!(message.is_ascii());

        let parsed = parse(&message);
        prop_assert_eq!(parsed.headers().len(), 8);
        prop_assert_eq!(parsed.subject().unwrap_or_default(), one_line(&subject));
        let extra = parsed.header("X-Extra").and_then(|it| it.as_text()).unwrap_or_default();
        prop_assert_eq!(extra, one_line(&headers[0].1));
        let from = parsed.from().and_then(|it| it.first()).expect("one sender");
        prop_assert_eq!(from.address(), Some("shop@example.com"));
        prop_assert_eq!(from.name().unwrap_or_default(), one_line(&name));

        let bodies: Vec<_> = parsed.parts.iter()
            .filter(|part| part.attachment_name().is_none())
            .filter_map(|part| part.text_contents())
            .map(|text| text.replace("\r\n", "\n").trim_end_matches('\n').to_owned())
            .collect();
        prop_assert_eq!(bodies, [lines(&text), lines(&html)]);
        let attached = parsed.parts.iter().find(|it| it.attachment_name().is_some());
        prop_assert_eq!(attached.expect("a file").contents(), content);

        let hostile = with_outgoing(|it| compose(&Outgoing { headers: &headers[1..], ..it }));
        assert_well_formed(&hostile);
        prop_assert!(parse(&hostile).headers().len() <= 9);
    }
}
