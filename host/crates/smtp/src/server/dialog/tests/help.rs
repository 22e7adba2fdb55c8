//! HELP.

use insta::assert_snapshot;

use super::Session;

#[test]
fn help_names_the_documentation() {
    assert_snapshot!(Session::plain().says(&["HELP", "HELP MAIL"]).transcript);
}
