//! Addresses: what is one is accepted and delivered, what is none is refused.

use std::time::Duration;

use waxwing_tests::{Server, until_async};

use crate::fixture::{Database, assert_unharmed, message};

#[tokio::test]
async fn addresses_that_are_none_are_refused() {
    let server = Server::dev();
    let long_local = format!("{}@example.com", "l".repeat(65));
    let long = format!("a@{}.example", vec!["d".repeat(60); 5].join("."));
    for to in [
        "",
        " ",
        "ada",
        "@",
        "@example.com",
        "ada@",
        "ada@example",
        "ada@.com",
        "ada@example..com",
        "ada@-example.com",
        "ada@exa_mple.com",
        "a b@example.com",
        ".a@example.com",
        "a.@example.com",
        "a..b@example.com",
        "Ada <ada@example.com>",
        "<ada@example.com>",
        "a@example.com,b@example.com",
        "a@example.com;b@example.com",
        "a@b@example.com",
        "\"a@example.com",
        "\"a\"b@example.com",
        "a@[300.0.0.1]",
        "a@[::1]",
        "a@[IPv6:zz]",
        "a@192.0.2.1",
        "mailto:a@example.com ",
        "a@example.com ",
        " a@example.com",
        "a@exam\u{200b}ple.com\u{0}",
        "ada\u{7f}@example.com",
        "(comment)ada@example.com",
        &long_local,
        &long,
    ] {
        let answer = server.send(server.key(), &message(to)).await;
        answer.assert_faults(&["to"]);
    }
    assert_unharmed(&server, 0).await;
}

#[tokio::test]
async fn addresses_of_every_valid_kind_are_accepted_and_delivered() {
    let server = Server::dev();
    let longest = format!("{}@example.com", "l".repeat(64));
    let addresses = [
        ("ada@bücher.example", "ada@xn--bcher-kva.example"),
        ("用户@例え.example", "用户@xn--r8jz45g.example"),
        ("δοκιμή@παράδειγμα.example", "δοκιμή@xn--hxajbheg2az3al.example"),
        ("josé@example.com", "josé@example.com"),
        ("\"odd @ one\"@example.com", "\"odd @ one\"@example.com"),
        ("\"a\\\"b\\\\c\"@example.com", "\"a\\\"b\\\\c\"@example.com"),
        ("\"<x> %41 y\"@example.com", "\"<x> %41 y\"@example.com"),
        ("o'brien+tag=x@example.com", "o'brien+tag=x@example.com"),
        ("!#$%&'*+-/=?^_`{|}~@example.com", "!#$%&'*+-/=?^_`{|}~@example.com"),
        ("a@[192.0.2.1]", "a@[192.0.2.1]"),
        ("a@[IPv6:2001:db8::1]", "a@[IPv6:2001:db8::1]"),
        ("UPPER@EXAMPLE.COM", "UPPER@example.com"),
        (&longest, &longest),
    ];
    let mut ids = Vec::new();
    for (to, _) in addresses {
        ids.push(server.send(server.key(), &message(to)).await.message_id());
    }
    let mails = server.wait_for_mails(addresses.len()).await;
    for (to, arrived) in addresses {
        assert!(mails.iter().any(|mail| mail.to == arrived), "{to} arrives as {arrived}");
    }
    let database = Database::of(&server).await;
    let delivered = "SELECT count(*) FROM messages WHERE state = 'delivered'";
    let wanted = i64::try_from(ids.len()).expect("a small number");
    let (database, what) = (&database, "all count as delivered");
    let ask = || async move { (database.number(delivered).await == wanted).then_some(()) };
    until_async(what, Duration::from_secs(20), ask).await;
    assert_unharmed(&server, ids.len()).await;
}
