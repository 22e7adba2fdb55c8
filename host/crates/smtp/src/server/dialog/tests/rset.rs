//! RSET.

use insta::assert_snapshot;

use super::Session;

#[test]
fn rset_ends_the_transaction_and_keeps_the_login() {
    let mut session = Session::with_envelope();
    session.says(&["RSET", "DATA", "RSET now", "MAIL FROM:<ada@example.com>"]);
    assert_snapshot!(session.transcript);
}

#[test]
fn rset_is_allowed_at_any_time() {
    assert_snapshot!(Session::plain().says(&["rset"]).transcript);
}
