use std::process::{Command, Stdio};

use super::BuildError;
use super::tool::Tool;
use crate::plugin::inspect::imports;

const ABSENT: Tool = Tool {
    name: "waxwing-no-such-tool",
    needed_for: "it is needed for this test",
    get: "There is none.",
    advice: None,
};

#[test]
fn a_missing_tool_is_named_with_its_purpose_and_its_source() {
    let error = ABSENT.run(".".as_ref(), &["--version"]).unwrap_err().to_string();
    let expected =
        "`waxwing-no-such-tool` is not installed: it is needed for this test. There is none.";
    assert_eq!(error, expected);
    assert!(!ABSENT.is_there());
}

#[test]
fn a_tool_that_fails_is_quoted_with_its_arguments() {
    let cargo = Tool { name: "cargo", advice: Some("Try again."), ..ABSENT };
    let mut command = Command::new(cargo.name);
    command.args(["metadata", "--no-such-option"]).stdout(Stdio::null());
    let error = cargo.finish(&mut command).unwrap_err();
    assert!(matches!(error, BuildError::Failed { .. }), "{error}");
    let text = error.to_string();
    assert!(text.starts_with("`cargo metadata --no-such-option` failed (exit"), "{text}");
    assert!(text.ends_with("above. Try again."), "{text}");
}

#[test]
fn only_the_components_own_imports_are_listed() {
    let component = wat::parse_str(
        r#"(component
            (import "waxwing:plugin/types@0.1.0" (instance))
            (component (import "inner" (func)))
            (core module (import "env" "f" (func)))
            (import "wasi:io/poll@0.2.0" (instance)))"#,
    )
    .unwrap();
    let expected = ["wasi:io/poll@0.2.0", "waxwing:plugin/types@0.1.0"];
    assert_eq!(imports(&component).unwrap(), expected);
}

#[test]
fn what_is_no_component_is_told_apart() {
    let module = wat::parse_str("(module)").unwrap();
    assert!(imports(&module).unwrap_err().to_string().contains("core WebAssembly module"));
    assert!(imports(b"\x7fELF").unwrap_err().to_string().contains("does not begin"));
    let mut cut = wat::parse_str(r#"(component (import "a" (func)))"#).unwrap();
    cut.truncate(cut.len() - 3);
    assert!(imports(&cut).is_err());
}
