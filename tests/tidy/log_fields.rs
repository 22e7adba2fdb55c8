//! The lines of the log have one schema, `host/LOGS.md`; and each has one `message`: its text.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Map, Value};

use crate::sources::{assert_no_violations, host_and_crates, workspace};

const DOCUMENT: &str = "host/LOGS.md";
const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];
/// What each line has in JSON beside its own fields.
const OF_ALL: [&str; 4] = ["timestamp", "level", "message", "target"];

/// A line of the log, as the code writes it.
struct Line {
    level: String,
    text: String,
    fields: BTreeSet<String>,
}

#[test]
fn every_field_of_a_log_line_is_in_the_table_and_each_row_is_a_field() {
    let document = document();
    let (_, table) = document.split_once("\n## Fields\n").expect("the table");
    let rows = table.lines().filter_map(|it| it.strip_prefix("| `")?.split_once('`'));
    let documented: BTreeSet<String> = rows.map(|(name, _)| name.to_owned()).collect();
    let used: BTreeSet<String> = lines().into_iter().flat_map(|it| it.fields).collect();
    assert!(used.len() > 80, "the fields are found: {used:?}");
    let missing: Vec<String> = used.difference(&documented).cloned().collect();
    assert_no_violations(&missing, "host/LOGS.md does not say what these fields mean");
    let gone: Vec<String> = documented.difference(&used).cloned().collect();
    assert_no_violations(&gone, "host/LOGS.md has fields that no line has");
}

#[test]
fn every_example_of_a_log_line_is_one_that_the_code_writes() {
    let (document, lines) = (document(), lines());
    let examples = document.lines().filter(|it| it.starts_with('{'));
    let (mut broken, mut looked_at) = (Vec::new(), 0);
    for example in examples {
        looked_at += 1;
        let fields: Map<String, Value> = serde_json::from_str(example).expect("it is JSON");
        let text = fields["message"].as_str().expect("a text");
        let level = fields["level"].as_str().expect("a level").to_ascii_lowercase();
        let own = |it: &&String| !OF_ALL.contains(&it.as_str());
        let own: BTreeSet<String> = fields.keys().filter(own).cloned().collect();
        let is_it = |it: &&Line| it.text == text && it.level == level;
        match lines.iter().find(is_it) {
            None => broken.push(format!("no line has this text and level: {example}")),
            Some(line) if !own.is_subset(&line.fields) => {
                broken.push(format!("it has {:?}: {example}", line.fields));
            }
            Some(_) => {}
        }
    }
    assert!(looked_at > 10, "{looked_at} examples");
    assert_no_violations(&broken, "host/LOGS.md has examples that the code does not write");
}

fn document() -> String {
    fs::read_to_string(workspace().join(DOCUMENT)).expect("the document is readable")
}

/// All lines that the host writes.
fn lines() -> Vec<Line> {
    let mut lines = Vec::new();
    for source in host_and_crates() {
        let code: Vec<&str> = source.lines.iter().map(|(_, line)| line.as_str()).collect();
        let code = code.join("\n");
        for (at, found) in code.match_indices("tracing::") {
            let rest = code.get(at + found.len()..).unwrap_or_default();
            if let Some((level, arguments)) = rest.split_once("!(")
                && LEVELS.contains(&level)
            {
                lines.push(line(level, arguments));
            }
        }
    }
    lines
}

fn line(level: &str, arguments: &str) -> Line {
    let pieces: Vec<String> = pieces(arguments).iter().map(|it| it.trim().to_owned()).collect();
    let is_text = |it: &&String| it.starts_with('"');
    let text = pieces.iter().find(is_text).map(|it| it.trim_matches('"').replace("\\\n", ""));
    // Behind the text stands what its places take.
    let fields = pieces.iter().take_while(|it| !is_text(it)).map(|it| {
        let name = it.split('=').next().unwrap_or_default();
        name.trim().trim_start_matches(['%', '?']).to_owned()
    });
    let fields = fields.filter(|it| !it.is_empty()).collect();
    Line { level: level.to_owned(), text: text.unwrap_or_default(), fields }
}

/// The arguments of a macro up to its end, as they stand between its commas.
fn pieces(arguments: &str) -> Vec<String> {
    let (mut depth, mut is_text, mut is_escaped) = (0_u32, false, false);
    let (mut pieces, mut piece) = (Vec::new(), String::new());
    for it in arguments.chars() {
        let is_quote = it == '"' && !is_escaped;
        is_escaped = is_text && it == '\\' && !is_escaped;
        is_text ^= is_quote;
        match it {
            _ if is_text || is_quote => {}
            '(' | '[' | '{' => depth += 1,
            ')' if depth == 0 => break,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                pieces.push(std::mem::take(&mut piece));
                continue;
            }
            _ => {}
        }
        piece.push(it);
    }
    pieces.push(piece);
    pieces
}

#[test]
fn the_fields_and_the_text_of_a_log_line_are_found() {
    let code = "%error, key = of.map(|(key, _)| show(key, 1)), mode = %format_args!(\"{a}, b\"), count,\n\
                \"one, \\\ntwo {}\", path.display()); other(x)";
    let found = line("warn", code);
    assert_eq!(found.fields.iter().collect::<Vec<_>>(), ["count", "error", "key", "mode"]);
    assert_eq!(found.text, "one, two {}");
}

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
