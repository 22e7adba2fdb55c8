//! A panic's message and place, in one line on standard error: the host keeps its first 4 KiB and
//! shows it to the operator.

/// Makes panics of this instance write one line. Natively the test harness's own report stays.
pub(crate) fn report_in_one_line() {
    #[cfg(target_family = "wasm")]
    std::panic::set_hook(Box::new(|panic| {
        use std::io::Write;

        let place = panic.location().map(ToString::to_string);
        let text = line(place.as_deref(), panic.payload_as_str());
        // Nothing is left to be done about a closed standard error: the trap follows.
        drop(std::io::stderr().write_all(text.as_bytes()));
    }));
}

#[cfg(any(target_family = "wasm", test))]
fn line(place: Option<&str>, message: Option<&str>) -> String {
    let place = place.unwrap_or("an unknown place");
    let mut text = format!("panic at {place}: ");
    for (index, part) in message.unwrap_or("no message").lines().enumerate() {
        if index > 0 {
            text.push_str(" | ");
        }
        text.push_str(part.trim());
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::line;

    #[test]
    fn a_message_of_several_lines_becomes_one() {
        let message = "assertion `left == right` failed\n  left: 1\n right: 2";
        assert_eq!(
            line(Some("src/lib.rs:7:5"), Some(message)),
            "panic at src/lib.rs:7:5: assertion `left == right` failed | left: 1 | right: 2\n"
        );
        assert_eq!(line(None, None), "panic at an unknown place: no message\n");
    }
}
