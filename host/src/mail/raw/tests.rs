//! What a relayed message keeps, loses and gets.

use proptest::prelude::*;

use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

fn arrival(hello: &str) -> Arrival {
    let (hello, hostname) = (hello.to_owned(), "mx.waxwing.example".to_owned());
    Arrival { hello, hostname, protocol: Protocol::Esmtp }
}

fn read(data: &str) -> Result<RawMessage, Vec<Unfit>> {
    RawMessage::read(data.replace('\n', "\r\n").into_bytes(), arrival("client.example"))
}

fn refused(data: &str) -> Vec<Unfit> {
    read(data).map(|_| ()).expect_err("it is refused")
}

/// The relayed message with line feeds, and its ULID.
fn relay(data: &str) -> (String, String) {
    let id = MessageId::new(NOW);
    let relayed = read(data).expect("fit").relayed(id, NOW);
    (String::from_utf8(relayed).expect("UTF-8").replace("\r\n", "\n"), id.ulid())
}

fn received(hello: &str, protocol: Protocol) -> String {
    let arrival = Arrival { protocol, ..arrival(hello) };
    received::field(&arrival, "01j", NOW)
}

const COMPLETE: &str = "Date: Fri, 15 Jan 2027 08:00:00 +0000\nMessage-ID: <1@example.com>\n\
                        From: Ada <ada@example.com>\nTo: b@example.net\nSubject: Hi\n\nBody\n";

#[test]
fn a_complete_message_gets_only_a_received_field() {
    let (relayed, ulid) = relay(COMPLETE);
    let expected = format!(
        "Received: from client.example\n by mx.waxwing.example with ESMTPSA id {ulid};\n \
         Fri, 15 Jan 2027 08:00:00 +0000\n{COMPLETE}"
    );
    assert_eq!(relayed, expected);
}

#[test]
fn date_and_message_id_are_added_where_missing() {
    let (relayed, ulid) = relay("from: Ada <ada@example.com>, b@example.org\n\nBody\n");
    let (_, rest) = relayed.split_once("+0000\n").expect("a Received field");
    assert_eq!(
        rest,
        format!(
            "Date: Fri, 15 Jan 2027 08:00:00 +0000\nMessage-ID: <{ulid}@example.com>\n\
             from: Ada <ada@example.com>, b@example.org\n\nBody\n"
        )
    );
    let (relayed, _) =
        relay(&COMPLETE.replace("Date:", "DATE:").replace("Message-ID", "message-id"));
    assert_eq!(relayed.to_lowercase().matches("message-id:").count(), 1);
    assert_eq!(relayed.to_lowercase().matches("\ndate:").count(), 1);
}

#[test]
fn a_renewed_message_keeps_all_but_the_marks_of_its_first_sending() {
    let (first, old) = relay(&COMPLETE.replace("To:", "DKIM-Signature: v=1;\n b=x\nTo:"));
    let sent = first.replace('\n', "\r\n");
    let renewed = RawMessage::renewed(sent.as_bytes()).expect("fit");
    let (id, later) = (MessageId::new(NOW), Timestamp::from_millis(NOW.millis() + 3_600_000));
    let again = String::from_utf8(renewed.relayed(id, later)).expect("UTF-8").replace("\r\n", "\n");
    assert_eq!(
        again,
        format!(
            "Date: Fri, 15 Jan 2027 09:00:00 +0000\nMessage-ID: <{}@example.com>\n\
             From: Ada <ada@example.com>\nTo: b@example.net\nSubject: Hi\n\nBody\n",
            id.ulid()
        )
    );
    assert!(!again.contains(&old) && !again.contains("<1@example.com>"));
}

#[test]
fn fields_of_the_envelope_and_our_own_do_not_travel() {
    let secret = "Bcc: secret@example.org,\n secret2@example.org\nbCC:\nResent-Bcc: secret3@x.example\n\
                  Return-Path: <secret4@x.example>\nX-WAXWING-Tag: secret5\nx-waxwing-Data: {\n \"a\":1}\n";
    let (relayed, _) = relay(&format!("{secret}{COMPLETE}"));
    assert!(relayed.ends_with(COMPLETE));
    assert!(!relayed.contains("secret") && !relayed.contains("\"a\":1"));
    assert!(!relayed.to_lowercase().contains("bcc") && !relayed.contains("Return-Path"));

    let body = format!("{COMPLETE}Bcc: this is text\n");
    assert!(relay(&body).0.ends_with(&body));
    let similar = COMPLETE.replace("Subject", "X-Waxwings: 1\nX-Bcc: 2\nSubject");
    assert!(relay(&similar).0.ends_with(&similar));
}

#[test]
fn the_client_is_named_without_a_public_address() {
    let shown = |hello: &str| {
        let field = received(hello, Protocol::Esmtp);
        let rest = field.strip_prefix("Received: from ").expect("a Received field").to_owned();
        rest.split_once("\r\n").expect("two lines").0.to_owned()
    };
    for hello in
        ["client.example", "PRINTER-2", "xn--r8jz45g.example", "[127.0.0.1]", "[IPv6:fd00::1]"]
    {
        assert_eq!(shown(hello), hello);
    }
    for hello in [
        "",
        "[198.51.100.7]",
        "[IPv6:2001:db8::1]",
        "198.51.100.7",
        "a b",
        "a_b",
        "-a",
        "a..b",
        "x (y)",
        "a\r\nBcc: b@example.com",
        "bücher.example",
        "[127.0.0.1",
        &"a.".repeat(200),
    ] {
        assert_eq!(shown(hello), "unknown", "{hello:?}");
    }
    assert!(received("a", Protocol::Utf8Smtp).contains(" with UTF8SMTPSA id 01j;"));
}

#[test]
fn authors_are_those_of_from_and_sender() {
    let message = read(
        "From: A <a@example.com>, \"x@y\" <b@example.org>\nSender: c@example.net\n\
         Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\n =?utf-8?q?=0D=0A_aus?= Wien\n\n",
    );
    let message = message.expect("fit");
    let authors: Vec<String> = message.authors().iter().map(ToString::to_string).collect();
    assert_eq!(authors, ["a@example.com", "b@example.org", "c@example.net"]);
    assert_eq!(message.author().to_string(), "a@example.com");
    assert_eq!(message.subject(), "Grüße   aus Wien");
}

#[test]
fn who_wrote_it_must_be_certain() {
    let mailboxes = |field, reason| vec![Unfit::Mailboxes { field, reason }];
    for (data, expected) in [
        ("Subject: x\n\n", vec![Unfit::Missing { field: "From" }]),
        ("\nFrom: a@example.com\n", vec![Unfit::Missing { field: "From" }]),
        ("From: a@example.com\nFROM: b@example.com\n\n", vec![Unfit::Repeated { field: "From" }]),
        ("From:\n\n", mailboxes("From", InvalidMailbox::Missing)),
        ("From: a: b@example.com;\n\n", mailboxes("From", InvalidMailbox::Group)),
        (
            "From: a@example.com\nSender: a@example.com, b@example.com\n\n",
            vec![Unfit::TooMany { field: "Sender" }],
        ),
        (
            "Sender: a@example.com\nsender: b@example.com\n\n",
            vec![Unfit::Missing { field: "From" }, Unfit::Repeated { field: "Sender" }],
        ),
        (
            "From : a@example.com\n\n",
            vec![Unfit::Header(InvalidHeader::SpaceBeforeColon { line: 1 })],
        ),
    ] {
        assert_eq!(refused(data), expected, "{data:?}");
    }
    let latin1 =
        RawMessage::read(b"From: J\xfcrgen <j@example.com>\r\n\r\n".to_vec(), arrival("a"));
    assert_eq!(latin1.expect_err("no text"), mailboxes("From", InvalidMailbox::Encoding));
    assert!(
        read("From: a@example.com\nTo: b@x.example\nTo: c@x.example\nDate: x\nDate: y\n\n").is_ok()
    );
}

#[test]
fn a_message_that_goes_in_circles_is_refused() {
    let circle = |times| format!("{}{COMPLETE}", "Received: by a\n".repeat(times));
    assert!(read(&circle(MAX_RECEIVED)).is_ok());
    assert_eq!(refused(&circle(MAX_RECEIVED + 1)), [Unfit::Loop]);
}

proptest! {
    #[test]
    fn what_may_travel_is_the_end_of_what_is_relayed(
        fields in prop::collection::vec("[A-Wa-wY-Zy-z][a-z-]{0,8}:[ -~\u{80}-\u{ff}]{0,30}(\r\n[ \t][!-~ ]{0,20}){0,2}\r\n", 0..8),
        body in prop::option::of("([ -~\u{100}-\u{200}]{0,40}\r\n){0,5}"),
    ) {
        let mut data = COMPLETE.replace('\n', "\r\n").split_once("\r\n\r\n").expect("a body").0.to_owned();
        data.push_str("\r\n");
        let own = |field: &str| ["bcc:", "from:", "sender:"].iter().any(|name| {
            field.to_ascii_lowercase().starts_with(name)
        });
        data.extend(fields.into_iter().filter(|field| !own(field)));
        if let Some(body) = body {
            data.push_str("\r\n");
            data.push_str(&body);
        }
        let message = RawMessage::read(data.clone().into_bytes(), arrival("a")).expect("fit");
        let relayed = message.relayed(MessageId::new(NOW), NOW);
        let before = relayed.strip_suffix(data.as_bytes()).expect("the message is unchanged");
        let before = Message::split(before).expect("a header");
        let names: Vec<&str> = before.fields.iter().map(|field| field.name).collect();
        prop_assert_eq!(names, ["Received"]);
    }
}
