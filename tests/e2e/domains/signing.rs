//! What a verified domain sends is signed with both of its keys, whatever it is and by whichever listener
//! it came; and the signatures hold.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::json;
use waxwing_tests::{Account, Domain, Port, Server, Smtp};

use super::signatures::{Arrived, Verified, texts_of, verify};
use super::{holder, lab, mail, send};
use crate::fixture::{Template, publish, with};

async fn arrived(server: &Server, domain: &Domain, to: &str) -> Arrived {
    let mail = server.wait_for_mail_to(to).await;
    Arrived { raw: server.raw_mail(&mail).await, texts: texts_of(domain) }
}

async fn logged_in(server: &Server, account: &Account) -> Smtp {
    let mut client = Smtp::secured(server, Port::Implicit).await;
    client.log_in(&account.key).await.assert(235);
    client
}

/// Bodies that servers on the way, and verifiers, have got wrong before.
fn bodies() -> Vec<(&'static str, String)> {
    let long = format!("{}\r\n", "x".repeat(998));
    vec![
        ("one line", "Hi\r\n".to_owned()),
        ("no end of line", "Hi".to_owned()),
        ("empty", String::new()),
        ("one empty line", "\r\n".to_owned()),
        ("empty lines only", "\r\n\r\n\r\n".to_owned()),
        ("empty lines at the end", "Hi\r\n\r\n\r\n".to_owned()),
        ("white space lines at the end", "Hi\r\n \r\n\t\r\n \t \r\n".to_owned()),
        ("white space lines only", " \r\n\t\r\n".to_owned()),
        ("white space at line ends", "a \r\nb\t\r\nc \t \r\n".to_owned()),
        ("white space runs", "a  b\t\tc \t d\r\n  indented\r\n\ttab\r\n".to_owned()),
        ("eight bits", "Grüße aus Köln, 東京 🐦\r\n".to_owned()),
        ("long lines", long.repeat(20)),
        ("dots", ".\r\n..\r\n.x\r\n\r\n.\r\nend\r\n".to_owned()),
        ("from", "From me\r\n>From you\r\n".to_owned()),
        ("controls", "a\u{1}b\u{8}c\u{c}d\u{7f}\r\n".to_owned()),
        ("large", "All work and no play.\r\n".repeat(40_000)),
    ]
}

#[tokio::test]
async fn both_signatures_of_every_kind_of_body_verify() {
    let (dns, server) = lab().await;
    let account = holder(&server);
    let name = "bodies.example";
    let domain = server.verified_domain(&dns, &account.key, name).await;
    let from = format!("hello@{name}");
    let mut client = logged_in(&server, &account).await;
    let bodies = bodies();
    for (number, (what, body)) in bodies.iter().enumerate() {
        let to = format!("b{number}@example.com");
        let head = format!("From: {from}\r\nTo: {to}\r\nSubject: {what}\r\n");
        drop(client.send(&from, &[&to], &format!("{head}\r\n{body}")).await.message_id());
    }
    let bare = format!("From: {from}\r\nSubject: no empty line, Ünï\r\n");
    drop(client.send(&from, &["bare@example.com"], &bare).await.message_id());
    let mut messages = Vec::new();
    for number in 0..bodies.len() {
        messages.push(arrived(&server, &domain, &format!("b{number}@example.com")).await);
    }
    messages.push(arrived(&server, &domain, "bare@example.com").await);
    let Some(said) = verify(&messages) else { return };
    for (number, verified) in said.iter().enumerate() {
        let what = bodies.get(number).map_or("no empty line", |it| it.0);
        assert_eq!(verified.verdicts(), [true, true], "{what}: {verified:?}");
        verified.assert_signed_by(name, &domain.selectors("signing"));
    }
}

#[tokio::test]
async fn templates_with_text_html_and_files_are_signed() {
    let (dns, server) = lab().await;
    let account = holder(&server);
    let name = "templates.example";
    let domain = server.verified_domain(&dns, &account.key, name).await;
    let template = Template {
        subject: "{{ s }}",
        html: Some("<p>{{ s }}</p><img src=\"cid:logo\">"),
        text: Some("{{ s }}  \n.\n \n\n"),
    };
    drop(publish(&server, &account.id, "letter", &template, &[]));
    let octets: Vec<u8> = (0..=255).cycle().take(50_000).collect();
    for (to, subject) in [
        ("plain@example.com", "plain"),
        ("wide@example.com", "Grüße  aus   Köln 東京 ".repeat(9).trim()),
    ] {
        let mut body = with(mail(name, to), "template", json!("letter"));
        body["data"] = json!({"s": subject});
        body["fromName"] = json!("Zoë \"Z\" Müller, GmbH");
        body["replyTo"] = json!("answers@example.org");
        body["headers"] =
            json!({"List-Unsubscribe": "<https://example.org/u/1>", "X-Order": "4711"});
        body["attachments"] = json!([
            {"filename": "März.pdf", "contentType": "application/pdf", "content": BASE64.encode(&octets)},
            {"filename": "l.png", "contentType": "image/png", "content": "iVBORw0=", "contentId": "logo"},
        ]);
        server.send(&account.key, &body).await.message_id();
    }
    let mut messages = Vec::new();
    for to in ["plain@example.com", "wide@example.com"] {
        messages.push(arrived(&server, &domain, to).await);
    }
    let Some(said) = verify(&messages) else { return };
    for verified in said {
        verified.assert_signed_by(name, &domain.selectors("signing"));
        let covered = verified.covered();
        for field in [
            "from",
            "to",
            "subject",
            "date",
            "message-id",
            "reply-to",
            "mime-version",
            "content-type",
        ] {
            let times = covered.iter().filter(|it| *it == field).count();
            assert_eq!(times, 2, "{field} is there once, and one more would break it: {covered:?}");
        }
        // What is not there must not come either.
        for field in ["cc", "sender"] {
            assert_eq!(covered.iter().filter(|it| *it == field).count(), 1, "{field}: {covered:?}");
        }
    }
}

#[tokio::test]
async fn a_message_that_was_changed_does_not_verify() {
    let (dns, server) = lab().await;
    let account = holder(&server);
    let name = "changed.example";
    let domain = server.verified_domain(&dns, &account.key, name).await;
    let from = format!("hello@{name}");
    let whole = format!("From: {from}\r\nTo: ada@example.com\r\nSubject: Hi\r\n\r\nPay 10\r\n");
    let mut client = logged_in(&server, &account).await;
    drop(client.send(&from, &["ada@example.com"], &whole).await.message_id());
    let good = arrived(&server, &domain, "ada@example.com").await;
    let text = String::from_utf8(good.raw.clone()).expect("ASCII");
    let changed: Vec<Arrived> = [
        text.clone(),
        // What servers on the way do: fields above, folded anew, white space at line ends.
        format!("Received: from a by b\r\nX-Spam: no\r\n{text}"),
        text.replace("Subject: Hi\r\n", "subject:   Hi \r\n"),
        text.replace("Pay 10\r\n", "Pay  10 \r\n\r\n"),
        // What nobody may do.
        text.replace("Pay 10\r\n", "Pay 1000\r\n"),
        text.replace("Pay 10\r\n", "Pay 10\r\nnow\r\n"),
        text.replace("Subject: Hi\r\n", "Subject: Ho\r\n"),
        text.replace("Subject: Hi\r\n", "Subject: Hi\r\nSubject: Pay\r\n"),
        format!("Subject: Pay\r\n{text}"),
        format!("From: boss@example.org\r\n{text}"),
        format!("Reply-To: thief@example.org\r\n{text}"),
        format!("Content-Type: text/html\r\n{text}"),
        format!("Cc: all@example.org\r\n{text}"),
    ]
    .into_iter()
    .map(|it| Arrived { raw: it.into_bytes(), texts: good.texts.clone() })
    .collect();
    let Some(said) = verify(&changed) else { return };
    let verdicts: Vec<Vec<bool>> = said.iter().map(Verified::verdicts).collect();
    assert_eq!(verdicts[..4], vec![vec![true, true]; 4], "{said:#?}");
    assert_eq!(verdicts[4..], vec![vec![false, false]; 9], "{said:#?}");
}

#[tokio::test]
async fn each_authors_domain_signs_its_own_mail_and_a_sandbox_domain_none() {
    let (dns, server) = lab().await;
    let account = holder(&server);
    let mut domains = Vec::new();
    for name in ["one.example", "two.example"] {
        domains.push(server.verified_domain(&dns, &account.key, name).await);
    }
    let mut client = logged_in(&server, &account).await;
    // The envelope is at the other domain: it is the author who signs.
    let whole = "From: hello@one.example\r\nSubject: Hi\r\n\r\nHi\r\n";
    drop(client.send("bounces@two.example", &["crossed@example.com"], whole).await.message_id());
    for name in ["one.example", "two.example", "sandbox.test"] {
        send(&server, &account.key, name, &format!("{name}@example.com")).await;
    }
    let crossed = arrived(&server, &domains[0], "crossed@example.com").await;
    let one = arrived(&server, &domains[0], "one.example@example.com").await;
    let two = arrived(&server, &domains[1], "two.example@example.com").await;
    let sandbox = arrived(&server, &domains[0], "sandbox.test@example.com").await;
    assert!(!String::from_utf8_lossy(&sandbox.raw).contains("DKIM-Signature"));
    let Some(said) = verify(&[crossed, one, two, sandbox]) else { return };
    said[0].assert_signed_by("one.example", &domains[0].selectors("signing"));
    said[1].assert_signed_by("one.example", &domains[0].selectors("signing"));
    said[2].assert_signed_by("two.example", &domains[1].selectors("signing"));
    assert!(said[3].selectors().is_empty());
}

#[tokio::test]
async fn a_signature_of_somebody_else_stays_below_ours() {
    let (dns, server) = lab().await;
    let account = holder(&server);
    let name = "relayed.example";
    let domain = server.verified_domain(&dns, &account.key, name).await;
    let from = format!("hello@{name}");
    let theirs = "DKIM-Signature: v=1; a=rsa-sha256; d=other.example; s=x; h=from; bh=AA==; b=AA==";
    let whole = format!("{theirs}\r\nFrom: {from}\r\nSubject: Hi\r\n\r\nHi\r\n");
    let mut client = logged_in(&server, &account).await;
    drop(client.send(&from, &["ada@example.com"], &whole).await.message_id());
    let message = arrived(&server, &domain, "ada@example.com").await;
    assert!(String::from_utf8_lossy(&message.raw).contains(theirs));
    let Some(said) = verify(&[message]) else { return };
    assert_eq!(said[0].verdicts(), [true, true, false]);
    assert_eq!(said[0].selectors()[..2], domain.selectors("signing"));
}
