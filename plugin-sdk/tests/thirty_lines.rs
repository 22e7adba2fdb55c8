//! A complete plan policy needs fewer than 30 lines of its author: counted, and run.

use waxwing_plugin::testing::{cases, configured};

use example::FreeAndPaid;

#[path = "../examples/free_and_paid.rs"]
mod example;

#[test]
fn a_complete_plan_policy_has_fewer_than_thirty_lines_of_its_own() {
    let source = include_str!("../examples/free_and_paid.rs");
    let lines = source.lines().map(str::trim);
    let own = lines.filter(|it| !it.is_empty() && !it.starts_with("//")).count();
    assert!(own < 30, "{own} lines");
}

#[test]
fn it_decides_its_golden_cases() {
    cases::<FreeAndPaid>("examples/free_and_paid/cases");
}

#[test]
fn its_settings_are_checked_with_their_path() {
    let settings = r#"{"freeDailyLimit":1,"paidPrice":-1}"#;
    let faults = configured::<FreeAndPaid>(settings).err().expect("refused");
    assert_eq!(faults[0].path.as_deref(), Some("paidPrice"));
}
