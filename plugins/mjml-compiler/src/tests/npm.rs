//! What mrml and npm's mjml make of the same e-mails: the same texts, and the same tags in the same
//! order, but for `tests/npm/known-differences.txt`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use super::{compile, document};

const PACKAGE: &str = include_str!("../../tests/npm/package.json");
const LOCK: &str = include_str!("../../tests/npm/package-lock.json");
const KNOWN: &str = include_str!("../../tests/npm/known-differences.txt");

#[test]
fn npm_mjml_makes_the_same_texts_and_tags_of_nine_emails() {
    let unproven = "that MJML compiles as npm's mjml does it";
    let Some(packages) = waxwing_tools::node_packages("mjml", PACKAGE, LOCK, unproven) else {
        return;
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/npm");
    let script = packages.join("compile.js");
    std::fs::copy(folder.join("compile.js"), &script).expect("a file is copied");
    let output = Command::new("node").arg(&script).arg(folder.join("emails")).output();
    let output = output.expect("node starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let theirs: BTreeMap<String, String> =
        serde_json::from_slice(&output.stdout).expect("HTML by name");
    assert_eq!(theirs.len(), 9);

    let known: Vec<&str> = KNOWN.lines().filter(|it| !it.starts_with('#')).collect();
    let mut found = Vec::new();
    for (name, theirs) in &theirs {
        let source = std::fs::read_to_string(folder.join("emails").join(name)).expect("a source");
        let ours = compile(&document(&source, &[])).expect("it compiles").html;
        let (ours, theirs) = (Shown::of(&ours), Shown::of(theirs));
        assert!(ours.tags.len() > 20 && !ours.texts.is_empty(), "{name} shows something");
        found.extend(difference(name, "text", &ours.texts, &theirs.texts));
        found.extend(difference(name, "tag", &ours.tags, &theirs.tags));
    }
    assert_eq!(found, known, "the differences are not those of known-differences.txt");
}

/// The first place where two lists differ, in a line.
fn difference(name: &str, what: &str, ours: &[String], theirs: &[String]) -> Option<String> {
    let end = "(end)".to_owned();
    let at = (0..ours.len().max(theirs.len())).find(|at| ours.get(*at) != theirs.get(*at))?;
    let of = |it: &[String]| it.get(at).unwrap_or(&end).clone();
    Some(format!("{name}: {what} {at} is `{}`, npm has `{}`", of(ours), of(theirs)))
}

/// What a client other than Outlook shows: comments and styles are left out.
struct Shown {
    texts: Vec<String>,
    tags: Vec<String>,
}

impl Shown {
    fn of(html: &str) -> Self {
        let html = without(&without(html, "<!--", "-->"), "<style", "</style>");
        let (mut texts, mut tags) = (Vec::new(), Vec::new());
        for piece in html.split('<').skip(1) {
            let (tag, text) = piece.split_once('>').unwrap_or((piece, ""));
            let name = tag.split([' ', '\n', '/']).find(|it| !it.is_empty()).unwrap_or_default();
            let end = if tag.starts_with('/') { "/" } else { "" };
            tags.push(format!("{end}{}", name.to_lowercase()));
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            if !text.is_empty() {
                texts.push(text);
            }
        }
        Self { texts, tags }
    }
}

fn without(html: &str, open: &str, close: &str) -> String {
    let mut pieces = html.split(open);
    let mut kept = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        kept.push_str(piece.split_once(close).map_or("", |(_, rest)| rest));
    }
    kept
}
