//! Messages of every kind that is signed.

use super::*;
use crate::mail::mime::{Attachment, Outgoing, compose};

/// A message and what it is a sample of.
pub(super) type Sample = (String, Vec<u8>);

/// Bodies as they are after the empty line; "no empty line" stands for itself.
pub(super) fn bodies() -> Vec<Sample> {
    let longest = format!("{}\r\n{}\r\nend\r\n", "x".repeat(998), "y z".repeat(332) + "zz");
    let texts: [(&str, &[u8]); 22] = [
        ("empty", b""),
        ("one empty line", b"\r\n"),
        ("empty lines only", b"\r\n\r\n\r\n"),
        ("a space", b" "),
        ("lines of white space only", b" \r\n\t\r\n \t \r\n"),
        ("white space at the end without a line end", b"Hello \t"),
        ("no line end", b"Hello"),
        ("one line", b"Hello\r\n"),
        ("empty lines at the end", b"Hello\r\n\r\n\r\n\r\n"),
        ("white space lines at the end", b"Hello\r\n \r\n\t\t\r\n"),
        ("white space lines at the end, no line end", b"Hello\r\n \r\n\t"),
        ("white space at line ends", b"Hello \r\nAda\t\r\nand\t \r\nBob  \r\n"),
        ("runs of white space", b"a  b\t\tc \t d\te\r\n\tf\r\n  g\r\n"),
        ("an empty line first", b"\r\nHello\r\n"),
        ("white space lines first", b" \t\r\n\r\n\r\nHello\r\n"),
        ("dots at line starts", b".\r\n..\r\n.a\r\n...\r\n \r\n.\r\n"),
        ("UTF-8", "Grüße aus Köln\r\n株式会社 \u{3000}\u{a0}\r\n🎉\r\n".as_bytes()),
        ("latin-1", b"Gr\xfc\xdfe\xa0\r\n\x85\xff \xfe\r\n"),
        ("control characters", b"a\x0b\r\n\x0c b\x00\x1f\x7f\r\n\x0b\x0c\r\n"),
        ("lines of 998 octets", longest.as_bytes()),
        ("looks like a header", b"From: b@example.net\r\nSubject: y\r\n\r\nx\r\n"),
        ("mbox", b"From here\r\n>From there\r\n-- \r\nsignature\r\n"),
    ];
    let header = "From: Ada <ada@example.com>\r\nTo: bob@example.net\r\nSubject: Hello there\r\n\
                  Date: Wed, 01 Jul 2026 00:00:00 +0000\r\nMessage-ID: <1@example.com>\r\n";
    let mut samples: Vec<_> = texts
        .iter()
        .map(|(what, body)| ((*what).to_owned(), [header.as_bytes(), b"\r\n", body].concat()))
        .collect();
    samples.push(("no empty line".to_owned(), header.into()));
    let cut = header.trim_end();
    samples.push(("no empty line and no line end".to_owned(), cut.into()));
    samples
}

pub(super) fn headers() -> Vec<Sample> {
    let references = "References: <1@example.com>\r\n\t<2@example.com>\r\n <3@example.com>\r\n";
    let long = format!("Subject: {}\r\n", "word ".repeat(190).trim_end());
    let many: String = (0..400).fold(String::new(), |many, at| many + &format!("Cc: {at}\r\n"));
    let folded = format!("To: {}x@example.net\r\n", "x@example.net,\r\n  ".repeat(900));
    let texts: [(&str, &str); 17] = [
        ("none but From", ""),
        ("an empty subject", "Subject:\r\n"),
        ("a subject of white space", "Subject: \t \r\n"),
        ("a subject that continues with white space only", "Subject: a\r\n \t\r\n b\r\n"),
        ("a value that begins on the second line", "Subject:\r\n a\r\n"),
        ("white space at line ends", "Subject: a  \t\r\nTo: b \r\n c\t\r\n"),
        ("no white space after the colon", "Subject:a\r\nTo:b@example.net\r\n"),
        ("colons", "Subject: a : b:c ; d=e; b=f\r\n"),
        ("two To", "To: a@example.net\r\nX-A: 1\r\nTo: b@example.net\r\n"),
        ("several References", &[references, "X-A: 1\r\n", "references: <4@x>\r\n"].concat()),
        ("a long line", &long),
        ("many fields", &many),
        ("a long folded field", &folded),
        ("UTF-8", "To: Jürgen <jürgen@bücher.example>\r\nSubject: Grüße, 株式会社\r\n"),
        ("names in any case", "SUBJECT: a\r\nmessage-id: <1@x>\r\nmImE-vErSiOn: 1.0\r\n"),
        (
            "fields of lists and complaints",
            "List-Unsubscribe: <https://example.com/u>,\r\n <mailto:u@example.com>\r\n\
             List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\nList-Id: news <n.example.com>\r\n\
             Feedback-ID: 1:2:3:example\r\nAuto-Submitted: auto-generated\r\n",
        ),
        (
            "fields of the way here",
            "Received: from a by b; 1 Jul 2026 00:00:00 +0000\r\nReturn-Path: <x@example.com>\r\n\
             Authentication-Results: b; none\r\nResent-From: c@example.com\r\nX-A: b\r\n\
             Reply-To: d@example.com\r\nSender: e@example.com\r\nIn-Reply-To: <1@x>\r\n",
        ),
    ];
    let message =
        |text: &str| format!("{text}From: ada@example.com\r\n\r\nHello\r\n\r\nAda \r\n").into();
    texts.iter().map(|(what, text)| (format!("header with {what}"), message(text))).collect()
}

/// What is composed here, and what clients give to the relay.
pub(super) fn whole() -> Vec<Sample> {
    let [from, to] = ["shop@example.com", "ada@example.org"].map(|it| it.parse().expect("valid"));
    let content: Vec<u8> = (0..3_000_u32).flat_map(u32::to_be_bytes).collect();
    let attachments = [
        Attachment {
            filename: "Rechnung März.pdf".to_owned(),
            content_type: "application/pdf".to_owned(),
            content,
            content_id: None,
        },
        Attachment {
            filename: "logo.png".to_owned(),
            content_type: "image/png".to_owned(),
            content: b"\x89PNG\r\n\0".to_vec(),
            content_id: Some("logo".to_owned()),
        },
    ];
    let composed = compose(&Outgoing {
        message_id: "01JCZ0@example.com",
        date: AT,
        from_name: Some("Grüße, \"Shop\""),
        from: &from,
        to: &to,
        reply_to: Some(&from),
        subject: "Ein längerer Betreff mit Umlauten, der auf mehr als eine Zeile gefaltet wird",
        text: Some("Grüße\n\n-- \nShop   \n\n\n"),
        html: Some("<p>Grüße</p>\n<img src=\"cid:logo\">\n\n"),
        attachments: &attachments,
        headers: &[("List-Unsubscribe".to_owned(), "<https://example.com/u>".to_owned())],
    });
    vec![("composed".to_owned(), composed)]
}

/// An attachment of a megabyte.
pub(super) fn large() -> Sample {
    let octets: Vec<u8> = (0..250_000_u32).flat_map(u32::to_le_bytes).collect();
    let mut message = "From: ada@example.com\r\nMIME-Version: 1.0\r\n\
         Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nHello\r\n--b\r\n\
         Content-Type: application/octet-stream\r\nContent-Transfer-Encoding: base64\r\n\r\n"
        .to_owned();
    let encoded = STANDARD.encode(octets);
    let mut rest = encoded.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at_checked(76).unwrap_or((rest, ""));
        message.push_str(line);
        message.push_str("\r\n");
        rest = after;
    }
    message.push_str("--b--\r\n");
    ("an attachment of a megabyte".to_owned(), message.into_bytes())
}
