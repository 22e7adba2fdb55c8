use bytes::BytesMut;

use super::*;

fn message(octets: &[u8]) -> Result<Vec<u8>, Answer> {
    let mut content = Content::new(10_000);
    content.push(octets);
    content.into_message()
}

fn received(input: &[u8]) -> (Progress, Vec<u8>, BytesMut) {
    let mut receiver = Receiver::new(10_000);
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
        (b"a\n..\r\n", b"a\n..\r\n"),
        (b"a\r..\r\n", b"a\r..\r\n"),
        (b".\ra", b"\ra"),
        (b".\r\r\n..b", b"\r\r\n.b"),
        (b".\n.\r\n", b"\n.\r\n"),
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
fn the_first_long_line_is_named() {
    let long = [b"a\r\n".to_vec(), vec![b'b'; 999], b"\r\n".to_vec(), vec![b'c'; 999]].concat();
    let text = "BAD_REQUEST line 2 is longer than 998 octets; encode the body as quoted-printable \
                or base64";
    assert_eq!(message(&long), Err(Reply::BadContent.with(text)));
    assert!(message(&[b'a'; 998]).is_ok());
}

#[test]
fn what_is_lost_stays_lost_for_the_same_reason() {
    let mut content = Content::new(3);
    content.push(b"abc");
    assert_eq!(content.held_bytes(), 3, "no more than a message may have");
    content.push(b"d");
    content.lose();
    content.push(b"a");
    assert_eq!((content.held_bytes(), content.loss()), (0, Some(too_large(3))));
    let mut content = Content::new(3);
    content.lose();
    content.push(b"abcd");
    assert_eq!(content.into_message(), Err(Reply::MemoryFull.into()));
}
