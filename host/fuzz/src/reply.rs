//! What another server says, read by the client. The first octet says how the stream is cut into pieces.

use waxwing_mail::status::{ServerReply, Stage, classify};
use waxwing_smtp::client::extensions::Extensions;
use waxwing_smtp::client::reader::{ReplyLines, ReplyReader};
use waxwing_smtp::client::reply::Reply;
use waxwing_smtp::client::transcript::Transcript;
use waxwing_smtp::client::violation::Violation;

pub fn check(input: &[u8]) {
    let Some((piece, stream)) = input.split_first() else { return };
    let (whole, violation) = read(stream, stream.len().max(1));
    let pieces = read(stream, usize::from(*piece) + 1);
    assert_eq!(pieces, (whole.clone(), violation), "pieces make no difference");
    for lines in whole {
        replied(lines);
    }
}

/// All replies of a stream that comes in pieces of that size.
fn read(stream: &[u8], piece: usize) -> (Vec<ReplyLines>, Option<Violation>) {
    let (mut reader, mut transcript) = (ReplyReader::default(), Transcript::default());
    let (mut replies, mut violation) = (Vec::new(), None);
    'stream: for piece in stream.chunks(piece) {
        reader.push(piece);
        loop {
            match reader.next_reply(&mut transcript) {
                Ok(Some(lines)) => replies.push(lines),
                Ok(None) => break,
                Err(it) => {
                    violation = Some(it);
                    break 'stream;
                }
            }
        }
    }
    reader.discard(&mut transcript);
    assert!(reader.is_empty(), "what is discarded is gone");
    let shown = transcript.take();
    assert!(shown.len() <= 8 << 10, "a transcript is bounded");
    assert!(shown.chars().all(|c| c == '\n' || !c.is_control()), "a transcript is printable");
    (replies, violation)
}

fn replied(lines: ReplyLines) {
    assert!((200..600).contains(&lines.code));
    assert!((1..=200).contains(&lines.texts.len()));
    assert!(lines.texts.iter().all(|it| !it.chars().any(char::is_control)));
    let extensions = Extensions::parse(&lines);
    assert!(extensions.limit().is_none_or(|it| it > 0));
    let reply = Reply::from(lines);
    assert!(reply.text.chars().count() <= 1_000);
    let enhanced = reply.enhanced;
    if let Some(it) = enhanced {
        let first = |it: &str| it.chars().next();
        assert_eq!(first(&it.to_string()), first(&reply.code.to_string()), "one class");
    }
    for stage in [Stage::Session, Stage::Recipient, Stage::Later] {
        let _class =
            classify(ServerReply { code: Some(reply.code), enhanced, text: &reply.text, stage });
    }
}
