//! DATA.

use insta::assert_snapshot;

use super::{Session, accepted, settings};
use crate::server::dialog::{Accepted, BareNewline, SessionSettings, Stage};

#[test]
fn a_message_is_queued_and_the_transaction_is_over() {
    let mut session = Session::with_envelope();
    session.message = Ok(accepted(1));
    session.says(&["DATA", "Subject: hello", "", "..dots", ".", "RCPT TO:<bob@example.net>"]);
    assert_snapshot!(session.transcript);
}

#[test]
fn several_recipients_are_counted() {
    let mut session = Session::with_envelope();
    session.message = Ok(accepted(3));
    session.says(&["DATA", "."]);
    assert_snapshot!(session.transcript);
}

#[test]
fn dots_are_taken_out_where_they_were_put_in() {
    let mut session = Session::with_envelope();
    session.says(&["DATA"]).sends(b"...\r\n.a\r\n. \r\na.\r\n\r\n..\r\n.\r\nNOOP\r\n");
    assert_snapshot!(session.transcript);
}

#[test]
fn data_needs_an_accepted_recipient() {
    let mut session = Session::logged_in();
    session.says(&["DATA", "MAIL FROM:<ada@example.com>", "DATA", "RCPT TO:<bob>", "DATA"]);
    session.says(&["RCPT TO:<bob@example.net>", "DATA now", "DATA"]);
    assert_snapshot!(session.transcript);
}

#[test]
fn a_message_over_the_limit_is_swallowed_to_its_end() {
    let mut session = Session::with_envelope();
    session.says(&["DATA"]).sends_quietly(&b"0123456\r\n".repeat(200));
    assert_eq!(session.dialog.held_bytes(), 0);
    session.says(&[".", "NOOP"]);
    assert_snapshot!(session.transcript);
}

#[test]
fn the_limit_counts_the_message_without_stuffing_and_end() {
    for (octets, queued) in [(1000, true), (1001, false)] {
        let mut session = Session::with_envelope();
        session.says(&["DATA", ".."]);
        let rest = vec![b'a'; octets - 5];
        session.sends_quietly(&rest).says(&["", "."]);
        assert_eq!(session.mails.len(), usize::from(queued), "{octets}");
    }
}

#[test]
fn a_flood_ends_the_session_in_bounded_memory() {
    let mut session = Session::with_envelope();
    session.says(&["DATA"]);
    let piece = b"0123456\r\n".repeat(1000);
    let mut sent = 0;
    while !session.transcript.contains("D: close") {
        session.sends_quietly(&piece);
        sent += piece.len();
        assert!(session.dialog.held_bytes() <= 2000);
    }
    assert!((4000 + 1024 * 1024..4000 + 1024 * 1024 + 2 * piece.len()).contains(&sent), "{sent}");
    assert_snapshot!(session.transcript);
}

#[test]
fn a_message_that_finds_no_memory_is_swallowed_and_can_be_sent_again() {
    let mut session = Session::with_envelope();
    session.says(&["DATA", "first line"]);
    assert!(session.dialog.held_bytes() > 0);
    session.dialog.out_of_memory();
    assert_eq!(session.dialog.held_bytes(), 0);
    session.says(&["second line", ".", "NOOP"]);
    assert_snapshot!(session.transcript);
}

#[test]
fn content_that_other_servers_choke_on_is_refused() {
    let mut session =
        Session::logged_in_under(SessionSettings { message_bytes: 2000, ..settings() });
    session.says(&["MAIL FROM:<ada@example.com>", "RCPT TO:<bob@example.net>"]);
    session.says(&["DATA"]).sends_quietly(b"a\0b").says(&["", "."]);
    session.says(&["MAIL FROM:<ada@example.com>", "RCPT TO:<bob@example.net>"]);
    session.says(&["DATA"]).sends_quietly(&[b'a'; 998]).sends_quietly(b"\r\n.\r\n");
    assert_snapshot!(session.replies());
}

#[test]
fn after_a_bare_line_ending_nothing_more_is_taken() {
    let mut transcript = String::new();
    for content in ["a\nb\rc", "a\rb"] {
        let mut session = Session::with_envelope();
        let after =
            "MAIL FROM:<ada@example.com>\r\nRCPT TO:<bob@example.net>\r\nDATA\r\nb\r\n.\r\n";
        session.says(&["DATA"]);
        session.sends_quietly(format!("{content}\r\n.\r\n{after}").as_bytes());
        assert!(session.mails.is_empty(), "{content:?}");
        transcript.push_str(&session.replies());
    }
    assert_snapshot!(transcript);
}

#[test]
fn a_message_with_bare_line_feeds_is_taken_and_nothing_that_came_with_it() {
    let mut session = Session::with_envelope();
    session.says(&["DATA"]).sends(b"Subject: a\n\nb\n.c\n..d\n.\n\r\n.\r\n");
    session.says(&["MAIL FROM:<ada@example.com>", "RCPT TO:<bob@example.net>", "DATA"]);
    session.sends(b"a\n\r\n.\r\nMAIL FROM:<eve@example.com>\r\n");
    assert_eq!(session.mails.len(), 2);
    assert_snapshot!(session.transcript);
}

#[test]
fn a_server_can_be_set_to_refuse_bare_line_feeds() {
    let refusing = SessionSettings { bare_newline: BareNewline::Refuse, ..settings() };
    let mut session = Session::logged_in_under(refusing);
    session.says(&["MAIL FROM:<ada@example.com>", "RCPT TO:<bob@example.net>", "DATA"]);
    session.transcript.clear();
    session.sends(b"a\nb\r\n.\r\n");
    assert!(session.mails.is_empty());
    assert_snapshot!(session.replies());
}

#[test]
fn a_message_to_suppressed_recipients_says_so() {
    let mut transcript = String::new();
    for (count, suppressed) in [(1, 1), (3, 3), (3, 1)] {
        let mut session = Session::with_envelope();
        session.message = Ok(Accepted { suppressed, ..accepted(count) });
        session.says(&["DATA"]);
        session.transcript.clear();
        session.says(&["Subject: a", "", "."]);
        transcript.push_str(&session.replies());
        transcript.push('\n');
    }
    assert_snapshot!(transcript);
}

#[test]
fn the_stage_follows_the_message() {
    let mut session = Session::tls();
    let mut stages = vec![session.dialog.stage()];
    let login = format!("AUTH PLAIN {}", super::KEY_PLAIN);
    for line in ["EHLO a", &login, "MAIL FROM:<>", "RCPT TO:<bob@example.net>", "DATA", "a", "."] {
        session.says(&[line]);
        stages.push(session.dialog.stage());
    }
    let open = [Stage::Transaction, Stage::Transaction];
    let content = [Stage::Data, Stage::Data];
    assert_eq!(
        stages,
        [&[Stage::Login, Stage::Login, Stage::Idle][..], &open, &content, &[Stage::Idle]].concat()
    );
}
