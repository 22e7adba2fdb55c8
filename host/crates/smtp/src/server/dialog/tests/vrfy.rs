//! VRFY and EXPN.

use insta::assert_snapshot;

use super::Session;

#[test]
fn nobody_learns_which_addresses_exist() {
    let mut session = Session::logged_in();
    session.says(&["VRFY ada@example.com", "VRFY", "EXPN staff"]);
    assert_snapshot!(session.transcript);
}
