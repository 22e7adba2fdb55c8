//! NOOP.

use insta::assert_snapshot;

use super::Session;

#[test]
fn noop_does_nothing_with_any_argument() {
    let mut session = Session::plain();
    session.says(&["NOOP", "noop for a while"]);
    assert_snapshot!(session.transcript);
}
