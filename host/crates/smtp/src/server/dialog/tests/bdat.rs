//! BDAT (RFC 3030).

use insta::assert_snapshot;

use super::Session;
use crate::server::dialog::Stage;

#[test]
fn chunks_are_joined_to_one_message() {
    let mut session = Session::with_envelope();
    session.sends(b"BDAT 6\r\n.a\r\n.\r");
    assert_eq!(session.dialog.stage(), Stage::Data);
    session.sends(b"BDAT 3\r\n\nb\n").says(&["RSET"]);
    session.transcript.clear();
    session.says(&["MAIL FROM:<ada@example.com>", "RCPT TO:<bob@example.net>"]);
    session.sends(b"BDAT 6\r\n.a\r\n.\r").sends(b"BDAT 2\r\n\nb").sends(b"bdat 0 last\r\n");
    session.says(&["NOOP"]);
    assert_snapshot!(session.transcript);
}

#[test]
fn one_last_chunk_is_a_message() {
    let mut session = Session::with_envelope();
    session.sends(b"BDAT 17 LAST\r\nSubject: a\r\n\r\nb\r\nNOOP\r\n");
    assert_snapshot!(session.transcript);
}

#[test]
fn an_empty_message_is_one() {
    assert_snapshot!(Session::with_envelope().says(&["BDAT 0 LAST"]).transcript);
}

#[test]
fn the_joined_message_keeps_the_rules_of_any_message() {
    let mut transcript = String::new();
    for content in [&b"BDAT 3 LAST\r\na\nb"[..], b"BDAT 3 LAST\r\na\rb", b"BDAT 3 LAST\r\na\0b"] {
        let mut session = Session::with_envelope();
        session.sends(content).says(&["DATA"]);
        transcript.push_str(&session.transcript);
    }
    assert_snapshot!(transcript);
}

#[test]
fn octets_of_an_unwanted_chunk_are_never_commands() {
    let chunk = b"BDAT 6 LAST\r\nQUIT\r\n";
    let mut session = Session::plain();
    session.sends(chunk).says(&["EHLO client.example"]).sends(chunk);
    let mut logged_in = Session::logged_in();
    logged_in.sends(chunk).says(&["MAIL FROM:<ada@example.com>"]).sends(chunk);
    logged_in.says(&["MAIL FROM:<ada@example.com>", "RCPT TO:<bob>"]).sends(chunk);
    logged_in.says(&["RCPT TO:<bob@example.net>"]);
    assert_snapshot!(session.transcript + &logged_in.transcript);
}

#[test]
fn a_chunk_whose_end_is_unknown_ends_the_session() {
    let mut transcript = String::new();
    for line in ["BDAT", "BDAT LAST", "BDAT -1", "BDAT 1 2", "BDAT 1 LAST x", "BDAT 0x10"] {
        let mut session = Session::with_envelope();
        session.says(&[line, "QUIT"]);
        transcript.push_str(&session.transcript);
    }
    assert_snapshot!(transcript);
}

#[test]
fn a_chunk_of_absurd_size_ends_the_session() {
    let mut transcript = String::new();
    for line in ["BDAT 4001", "BDAT 99999999999999999999999 LAST"] {
        transcript.push_str(&Session::with_envelope().says(&[line]).transcript);
    }
    assert_snapshot!(transcript);
}

#[test]
fn after_a_chunk_that_failed_all_fail_until_rset() {
    let mut session = Session::with_envelope();
    session.says(&["BDAT 1100"]).sends_quietly(&[b'a'; 1100]);
    assert_eq!(session.dialog.held_bytes(), 0);
    session.sends(b"BDAT 4\r\nNOOP").says(&["RCPT TO:<bob@example.net>", "DATA"]);
    session.says(&["MAIL FROM:<ada@example.com>", "RSET", "MAIL FROM:<ada@example.com>"]);
    assert_snapshot!(session.transcript);
}

#[test]
fn the_last_chunk_ends_the_transaction_also_when_it_fails() {
    let mut session = Session::with_envelope();
    session.says(&["BDAT 600"]).sends_quietly(&[b'a'; 600]);
    session.says(&["BDAT 600"]).sends_quietly(&[b'a'; 600]);
    session.sends(b"BDAT 2 LAST\r\nab").says(&["MAIL FROM:<ada@example.com>"]);
    assert_snapshot!(session.transcript);
}

#[test]
fn a_chunk_that_finds_no_memory_can_be_sent_again_later() {
    let mut session = Session::with_envelope();
    session.sends(b"BDAT 4\r\nab");
    session.dialog.out_of_memory();
    session.sends(b"cd").says(&["RSET", "MAIL FROM:<ada@example.com>"]);
    assert_snapshot!(session.transcript);
}

#[test]
fn memory_that_ends_between_two_chunks_is_a_reason_to_try_again() {
    let mut session = Session::with_envelope();
    session.sends(b"BDAT 4\r\nabcd");
    session.dialog.out_of_memory();
    session.sends(b"BDAT 4\r\nefgh").sends(b"BDAT 4 LAST\r\nijkl");
    let mut last = Session::with_envelope();
    last.sends(b"BDAT 4\r\nabcd");
    last.dialog.out_of_memory();
    last.sends(b"BDAT 4 LAST\r\nefgh").says(&["MAIL FROM:<ada@example.com>"]);
    assert_snapshot!(session.transcript + &last.transcript);
}

#[test]
fn data_and_chunks_are_not_mixed() {
    let mut session = Session::with_envelope();
    session.sends(b"BDAT 2\r\nab").says(&["DATA", "RCPT TO:<eve@example.net>", "BDAT 0 LAST"]);
    assert_snapshot!(session.transcript);
}
