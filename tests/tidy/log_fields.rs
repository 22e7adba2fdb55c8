//! A log line has one `message`: its text.

use crate::sources::{assert_no_violations, host_and_crates};

#[test]
fn no_field_of_a_log_line_is_called_message() {
    let mut broken = Vec::new();
    for source in host_and_crates() {
        let lines: Vec<&str> = source.lines.iter().map(|(_, line)| line.as_str()).collect();
        let calls = calls(&lines.join("\n"));
        let wrong = calls.into_iter().filter(|it| has_message(it));
        broken.extend(wrong.map(|it| format!("{}: {it}", source.path)));
    }
    assert_no_violations(
        &broken,
        "tracing keeps the text of a line in `message`, and JSON would have it twice",
    );
}

#[test]
fn a_field_called_message_is_noticed_and_other_uses_of_the_word_are_not() {
    for wrong in [
        "tracing::info!(message = %id, \"sent\")",
        "tracing::warn!(\nmessage = id,\n\"sent\"\n)",
        "tracing::warn!(%message, \"sent\")",
        "tracing::debug!(account, message, \"sent\")",
    ] {
        assert_eq!(calls(wrong).len(), 1, "{wrong}");
        assert!(calls(wrong).iter().all(|it| has_message(it)), "{wrong}");
    }
    for right in [
        "tracing::info!(message_id = %id, \"message = (1)\")",
        "tracing::info!(id = %message.id, account = %(message), \"sent\")",
    ] {
        assert_eq!(calls(right).len(), 1, "{right}");
        assert!(!calls(right).iter().any(|it| has_message(it)), "{right}");
    }
}

/// What stands between the parentheses of each of tracing's macros, without texts.
fn calls(code: &str) -> Vec<String> {
    let calls = code.split("tracing::").skip(1).filter_map(|rest| {
        let (name, arguments) = rest.split_once("!(")?;
        name.chars().all(char::is_alphanumeric).then(|| inside(arguments))
    });
    calls.collect()
}

fn inside(arguments: &str) -> String {
    let (mut depth, mut is_text, mut is_escaped) = (1_u32, false, false);
    let is_inside = |it: &char| {
        match it {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = is_text,
            '"' => is_text = !is_text,
            '(' if !is_text => depth += 1,
            ')' if !is_text => depth -= 1,
            _ => {}
        }
        depth > 0
    };
    let arguments: String = arguments.chars().take_while(is_inside).collect();
    // Every second part is a text; one with a quotation mark inside is split once more, which changes nothing.
    arguments.split('"').step_by(2).collect()
}

/// Fields are `name = value`, `%name`, `?name` or `name`, with commas between.
fn has_message(arguments: &str) -> bool {
    arguments.split(',').any(|field| {
        let name = field.split('=').next().unwrap_or_default();
        name.trim().trim_start_matches(['%', '?']) == "message"
    })
}
