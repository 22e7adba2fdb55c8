//! DATA and BDAT: end of data, dot-stuffing, bare line endings, limits.

use bytes::BytesMut;

use super::*;

fn message(octets: &[u8]) -> Result<Vec<u8>, Answer> {
    let mut content = Content::new(10_000, BareNewline::Refuse);
    content.push(octets);
    content.into_message()
}

fn received(input: &[u8]) -> (Progress, Vec<u8>, BytesMut) {
    let mut receiver = Receiver::new(10_000, BareNewline::Refuse);
    let mut input = BytesMut::from(input);
    let progress = receiver.receive(&mut input);
    let mut content = receiver.into_content();
    let octets = std::mem::replace(&mut content.octets, Ok(Vec::new()));
    (progress, octets.unwrap_or_default(), input)
}

#[test]
fn the_end_is_taken_and_what_follows_is_left() {
    let (progress, octets, rest) = received(b"a\r\n.\r\nNOOP\r\n");
    assert_eq!((progress, octets.as_slice()), (Progress::End, &b"a\r\n"[..]));
    assert_eq!(rest.as_ref(), b"NOOP\r\n");
    assert_eq!(received(b".\r\n").0, Progress::End);
    assert_eq!(received(b"a\r\n.\r").0, Progress::More);
}

#[test]
fn dots_are_taken_out_at_the_beginning_of_lines_only() {
    for (sent, kept) in [
        (&b"..\r\n"[..], &b".\r\n"[..]),
        (b"...\r\n", b"..\r\n"),
        (b".a\r\n", b"a\r\n"),
        (b"a..\r\n", b"a..\r\n"),
        (b"a\n..\r\n", b"a\n.\r\n"),
        (b"a\n.b\r\n", b"a\n.b\r\n"),
        (b"a\n.\n..\n", b"a\n.\n.\n"),
        (b"a\r..\r\n", b"a\r..\r\n"),
        (b".\ra", b"\ra"),
        (b".\r\r\n..b", b"\r\r\n.b"),
        (b".\n.\r\n", b".\n.\r\n"),
    ] {
        let (progress, octets, _) = received(sent);
        assert_eq!(progress, Progress::More, "{}", sent.escape_ascii());
        assert_eq!(octets, kept, "{}", sent.escape_ascii());
    }
}

#[test]
fn a_message_gets_the_line_end_that_its_last_chunk_lacks() {
    assert_eq!(message(b"").as_deref(), Ok(&b""[..]));
    assert_eq!(message(b"a").as_deref(), Ok(&b"a\r\n"[..]));
    assert_eq!(message(b"a\r\n").as_deref(), Ok(&b"a\r\n"[..]));
    assert_eq!(message(b"a\r\nb").as_deref(), Ok(&b"a\r\nb\r\n"[..]));
}

#[test]
fn a_bare_line_end_is_found_wherever_it_stands() {
    for octets in
        [&b"\n"[..], b"\r", b"a\n", b"a\r", b"\na", b"a\r\n\nb\r\n", b"\r\r\n", b"a\n\r\n"]
    {
        let reply = message(octets).err().map(|it| it.reply);
        assert_eq!(reply, Some(Reply::BareLineEnding), "{}", octets.escape_ascii());
    }
}

#[test]
fn a_bare_line_feed_becomes_crlf_and_a_bare_cr_does_not() {
    for (octets, kept) in [
        (&b"a\nb\r\nc\n"[..], &b"a\r\nb\r\nc\r\n"[..]),
        (b"\n\n", b"\r\n\r\n"),
        (b"a\r\n\nb", b"a\r\n\r\nb\r\n"),
    ] {
        for size in 1..octets.len() {
            let mut content = Content::new(10_000, BareNewline::Normalise);
            octets.chunks(size).for_each(|piece| content.push(piece));
            assert!(content.was_normalised());
            assert_eq!(content.into_message().as_deref(), Ok(kept), "pieces of {size}");
        }
    }
    for octets in [&b"a\rb\n"[..], b"a\n\rb", b"\r\r\n"] {
        let mut content = Content::new(10_000, BareNewline::Normalise);
        content.push(octets);
        assert_eq!(content.into_message(), Err(Reply::BareLineEnding.into()));
    }
}

#[test]
fn the_limit_holds_for_what_line_feeds_become() {
    let mut content = Content::new(4, BareNewline::Normalise);
    content.push(b"\n\n");
    assert_eq!(content.held_bytes(), 4);
    content.push(b"\n");
    assert_eq!(content.loss(), Some(too_large(4)));
}

#[test]
fn a_discarded_message_keeps_its_first_reason() {
    let mut content = Content::new(3, BareNewline::Refuse);
    content.push(b"abc");
    assert_eq!(content.held_bytes(), 3, "no more than a message may have");
    content.push(b"d");
    content.lose();
    content.push(b"a");
    assert_eq!((content.held_bytes(), content.loss()), (0, Some(too_large(3))));
    let mut content = Content::new(3, BareNewline::Refuse);
    content.lose();
    content.push(b"abcd");
    assert_eq!(content.into_message(), Err(Reply::MemoryFull.into()));
}
