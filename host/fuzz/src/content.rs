//! A message that our client writes and our server reads: it arrives as it was, whatever dots it holds. The first
//! octet says how the octets on the wire are cut into pieces.

use bytes::BytesMut;
use waxwing_smtp::client::content::Content;
use waxwing_smtp::server::data::{BareNewline, Progress, Receiver};

const LIMIT: usize = 1 << 20;

pub fn check(input: &[u8]) {
    let Some((piece, message)) = input.split_first() else { return };
    let Some(mut content) = Content::new(message) else {
        assert!(has_bare_line_end(message), "only a bare CR or LF keeps a message from the wire");
        return;
    };
    assert!(!has_bare_line_end(message));
    let octets = content.octets();
    let (mut part, mut wire) = (Vec::new(), Vec::new());
    while content.next(&mut part) {
        wire.extend_from_slice(&part);
    }
    // A pipelined command behind it is not part of it.
    wire.extend_from_slice(b"QUIT\r\n");

    let mut receiver = Receiver::new(LIMIT, BareNewline::Refuse);
    let (mut heard, mut ended) = (BytesMut::new(), false);
    for piece in wire.chunks(usize::from(*piece) + 1) {
        heard.extend_from_slice(piece);
        if !ended {
            ended = match receiver.receive(&mut heard) {
                Progress::End => true,
                Progress::More => false,
                Progress::Flood => panic!("{octets} octets are no flood"),
            };
        }
    }
    assert!(ended, "the final dot is found");
    assert_eq!(&heard[..], b"QUIT\r\n");
    match receiver.into_content().into_message() {
        Ok(received) => {
            assert_eq!(received.len(), octets);
            assert_eq!(received.get(..message.len()), Some(message));
        }
        Err(answer) => assert!(message.contains(&0), "refused: {answer:?}"),
    }
}

fn has_bare_line_end(message: &[u8]) -> bool {
    let text = message.iter().enumerate();
    text.into_iter().any(|(at, octet)| match octet {
        b'\r' => message.get(at + 1) != Some(&b'\n'),
        b'\n' => at == 0 || message.get(at - 1) != Some(&b'\r'),
        _ => false,
    })
}
