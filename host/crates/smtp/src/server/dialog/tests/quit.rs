//! QUIT.

use bytes::BytesMut;
use insta::assert_snapshot;

use super::Session;
use crate::server::dialog::Step;

#[test]
fn quit_ends_the_session_and_nothing_after_it_counts() {
    let mut session = Session::with_envelope();
    session.says(&["QUIT now"]).sends(b"QUIT\r\nNOOP\r\n");
    assert_snapshot!(session.transcript);
    let mut more = BytesMut::from(&b"NOOP\r\n"[..]);
    assert_eq!(session.dialog.next(&mut more), Step::Close);
    assert!(session.dialog.output().is_empty());
}
