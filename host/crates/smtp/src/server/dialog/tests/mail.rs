//! MAIL.

use insta::assert_snapshot;

use super::{Session, settings};
use crate::server::dialog::SessionSettings;

/// Each line in a new transaction.
fn each(lines: &[&str]) -> String {
    let mut session = Session::logged_in();
    for line in lines {
        session.says(&[line]);
        let kept = session.transcript.clone();
        session.says(&["RSET"]);
        session.transcript = kept;
    }
    session.transcript
}

#[test]
fn senders_are_written_in_many_ways() {
    let transcript = each(&[
        "MAIL FROM:<ada@example.com>",
        "mail from:<Ada.L@EXAMPLE.com>",
        "MAIL  FROM: <ada@example.com>  ",
        "MAIL FROM:<>",
        "MAIL FROM:<@one.example,@two.example:ada@example.com>",
        "MAIL FROM:<\"odd > @ \\\" one\"@example.com>",
        "MAIL FROM:<ada@[192.0.2.1]>",
        "MAIL FROM:<ada@[IPv6:2001:db8::1]>",
        "MAIL FROM:<ada@xn--bcher-kva.example>",
    ]);
    assert_snapshot!(transcript);
}

#[test]
fn parameters_that_are_offered_are_taken() {
    let transcript = each(&[
        "MAIL FROM:<ada@example.com> SIZE=1000",
        "MAIL FROM:<ada@example.com> SIZE=0 BODY=7BIT",
        "MAIL FROM:<ada@example.com> body=8bitmime size=10 smtputf8",
        "MAIL FROM:<ada@example.com>  AUTH=<>",
        "MAIL FROM:<> AUTH=e+3Dmc2@example.com SMTPUTF8",
    ]);
    assert_snapshot!(transcript);
}

#[test]
fn parameters_that_are_wrong_are_named() {
    let transcript = each(&[
        "MAIL FROM:<ada@example.com> SIZE=1001",
        "MAIL FROM:<ada@example.com> SIZE=99999999999999999999",
        "MAIL FROM:<ada@example.com> SIZE=999999999999999999999",
        "MAIL FROM:<ada@example.com> SIZE=",
        "MAIL FROM:<ada@example.com> SIZE",
        "MAIL FROM:<ada@example.com> SIZE=+1",
        "MAIL FROM:<ada@example.com> SIZE=1 size=1",
        "MAIL FROM:<ada@example.com> BODY=BINARYMIME",
        "MAIL FROM:<ada@example.com> SMTPUTF8=yes",
        "MAIL FROM:<ada@example.com> SMTPUTF8 SMTPUTF8",
        "MAIL FROM:<ada@example.com> RET=FULL",
        "MAIL FROM:<ada@example.com> ENVID=1 SIZE=1",
        "MAIL FROM:<ada@example.com> =1",
        "MAIL FROM:<ada@example.com> A=B=C",
        "MAIL FROM:<ada@example.com> X\u{e9}",
    ]);
    assert_snapshot!(transcript);
}

#[test]
fn what_is_no_sender_is_refused() {
    let transcript = each(&[
        "MAIL",
        "MAIL TO:<ada@example.com>",
        "MAIL FROM",
        "MAIL FROM:",
        "MAIL FROM:ada@example.com",
        "MAIL FROM:<ada@example.com",
        "MAIL FROM:<\"ada>@example.com>",
        "MAIL FROM:<ada@example.com>SIZE=1",
        "MAIL FROM:<ada>",
        "MAIL FROM:<@one.example:>",
        "MAIL FROM:<@one.example>",
        "MAIL FROM:<one.example,@two.example:ada@example.com>",
        "MAIL FROM:<ada@localhost>",
        "MAIL FROM:<a b@example.com>",
        "MAIL FROM:<<ada@example.com>>",
    ]);
    assert_snapshot!(transcript);
}

#[test]
fn octets_that_are_no_utf8_are_refused() {
    let mut session = Session::logged_in();
    session.sends(b"MAIL FROM:<ad\xe4@example.com> SMTPUTF8\r\n");
    assert_snapshot!(session.transcript);
}

#[test]
fn utf8_addresses_need_smtputf8() {
    let transcript = each(&[
        "MAIL FROM:<用户@example.com>",
        "MAIL FROM:<ada@bücher.example>",
        "MAIL FROM:<用户@bücher.example> SMTPUTF8",
    ]);
    assert_snapshot!(transcript);
}

#[test]
fn mail_comes_after_ehlo_and_the_login_and_not_in_a_transaction() {
    let mut plain = Session::plain();
    plain.says(&["MAIL FROM:<ada@example.com>", "EHLO client.example", "MAIL bad"]);
    let mut tls = Session::tls();
    tls.says(&["EHLO client.example", "MAIL FROM:<ada@example.com>"]);
    let mut nested = Session::with_envelope();
    nested.says(&["MAIL FROM:<eve@example.com>"]);
    assert_snapshot!(plain.transcript + &tls.transcript + &nested.transcript);
}

#[test]
fn the_size_of_a_larger_server_is_announced_and_taken() {
    let mut session =
        Session::logged_in_under(SessionSettings { message_bytes: 25 * 1024 * 1024, ..settings() });
    session.says(&["EHLO client.example", "MAIL FROM:<ada@example.com> SIZE=26214400"]);
    session.says(&["RSET", "MAIL FROM:<ada@example.com> SIZE=26214401"]);
    assert_snapshot!(session.transcript);
}
