//! Messages that want to pass for what they are not, or to take long.

use super::*;

#[test]
fn a_fold_cannot_make_a_field() {
    let (_, raw) = raw("From: Ada\n <a@example.com>\nSubject: x\n From: ceo@other.example\n\n");
    assert_eq!(raw.message.authors().len(), 1);
    assert_eq!(raw.message.subject(), "x From: ceo@other.example");
    let split =
        "X-Waxwing-Template: welcome\nFrom: a@example.com\nX-Waxwing-Tag: a\n X-Waxwing-Tag: b\n\n";
    assert_eq!(filled(split).0.tags, ["a X-Waxwing-Tag: b"]);
}

#[test]
fn from_cannot_be_hidden() {
    for (from, field, code) in [
        ("From: a@example.com\nfrom: b@other.example", "From", "repeated"),
        ("FROM: a@example.com\nX: y\nfRoM: a@example.com", "From", "repeated"),
        ("From: a@example.com\nFrom : b@other.example", "", "malformed_header"),
        ("From: a@example.com\n\u{a0}From: b@other.example", "", "malformed_header"),
        ("From: a@example.com\nFrom\u{200b}: b@other.example", "", "malformed_header"),
        ("From: <a@example.com> <b@other.example>", "From", "invalid"),
        ("From: b@other.example <a@example.com>", "From", "invalid"),
        ("From: a@example.com (b@other.example)", "From", "invalid"),
        ("From: =?utf-8?q?b=40other.example=00?=@example.com", "From", "invalid"),
        ("From: \u{202e}elpmaxe <a@example.com>", "From", "invalid"),
    ] {
        for template in ["", "X-Waxwing-Template: t\n"] {
            let text = format!("{template}{from}\n\n");
            assert_eq!(faults(&text), pairs(&[(field, code)]), "{text:?}");
        }
    }
}

#[test]
fn a_name_cannot_bring_a_header() {
    for name in ["=?utf-8?q?Ada=0D=0ABcc=3A_b=40x.example?=", "\"=?utf-8?b?QQ0KQg==?=\""] {
        let text = format!("X-Waxwing-Template: t\nFrom: {name} <a@example.com>\n\n");
        assert_eq!(faults(&text), pairs(&[("From", "invalid")]), "{name}");
    }
    let references = with("References: =?utf-8?q?x=0D=0ABcc:_b@x.example?=");
    assert_eq!(faults(&references), pairs(&[("References", "invalid")]));
}

#[test]
fn octets_that_are_no_text_are_refused_and_not_replaced() {
    for value in [&b"{\"a\":\"\xff\"}"[..], b"=?utf-8?q?{=22a=22:=22=FF=22}?="] {
        let mut broken = mail("X-Waxwing-Template: t\nFrom: a@example.com\n\n");
        let data = [b"X-Waxwing-Data: ", value, b"\r\n", &broken.data].concat();
        broken.data = data;
        let (mut items, _) = read_mail(broken).expect("readable");
        let faults = items.swap_remove(0).expect_err("faulty").faults;
        assert_eq!(
            (faults[0].field.as_str(), faults[0].code.as_str()),
            ("X-Waxwing-Data", "invalid")
        );
    }
    let kept = with("X-Waxwing-Data: {\"a\":\"\u{fffd}\"}");
    assert_eq!(filled(&kept).1.data.parsed()["a"], "\u{fffd}");
}

#[test]
fn depth_and_number_do_not_cost_more_than_they_weigh() {
    let comments = format!("From: {}a@example.com\n\n", "(\n ".repeat(50_000));
    assert_eq!(faults(&comments), pairs(&[("From", "invalid")]));
    let words = format!("From: {}<a@example.com>\n\n", "=?utf-8?q?x?=\n ".repeat(15_000));
    assert_eq!(raw(&words).1.message.author().to_string(), "a@example.com");
    let list = format!("From: {}a@example.com\n\n", "a@example.com,\n ".repeat(15_000));
    assert_eq!(raw(&list).1.message.authors().len(), 15_001);

    let messages = "Content-Type: message/rfc822\n\n".repeat(100_000);
    assert_eq!(
        filled(&format!("X-Waxwing-Template: t\nFrom: a@example.com\n{messages}"))
            .1
            .attachments
            .len(),
        1
    );
    let empty = format!(
        "X-Waxwing-Template: t\nFrom: a@example.com\nContent-Type: multipart/mixed; boundary=b\n\n{}",
        "--b\n".repeat(500_000)
    );
    assert_eq!(faults(&empty), pairs(&[("", "malformed_mime")]));
    let tags = format!("{}From: a@example.com\n\n", "X-Waxwing-Tag: x\n".repeat(900));
    assert_eq!(faults(&tags), pairs(&[("X-Waxwing-Tag", "too_many")]));
}
