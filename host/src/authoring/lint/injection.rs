//! Data where escaping does not protect: in the name of a tag, in links and in styles.

use std::collections::HashMap;

use super::around::root;
use super::page::{Attribute, Page};
use crate::account::brand::BrandField;
use crate::authoring::liquid::{Token, TokenKind};
use crate::template::source::DeclaredVariable;
use crate::template::variable::VariableType;

/// Filters whose result is a number.
const NUMBER_FILTERS: [&str; 11] = [
    "abs",
    "at_least",
    "at_most",
    "ceil",
    "divided_by",
    "floor",
    "minus",
    "modulo",
    "plus",
    "round",
    "times",
];

/// Bytes of a path in the data that are kept: names stand for names, and each could make the next one longer.
const MAX_PATH: usize = 200;

/// What outputs print: data, of which its author declares something, or what the template itself wrote.
pub struct Printed<'a> {
    variables: &'a [DeclaredVariable],
    /// What names stand for: `item` for `items[]`; none for what the template writes itself.
    names: HashMap<&'a str, Option<String>>,
}

impl<'a> Printed<'a> {
    pub fn new(page: &Page<'a>, variables: &'a [DeclaredVariable]) -> Self {
        Self { variables, names: names(page) }
    }

    /// Data that names an element can be any element, with any attributes.
    pub fn in_tag_name(&self, page: &Page<'_>, at: usize) -> Option<String> {
        let rest = page.masked.get(at..).unwrap_or_default();
        let ends = |c: char| c.is_whitespace() || c == '>';
        let end = at + rest.find(ends).unwrap_or(rest.len());
        let path = page.outputs(&(at..end)).find_map(|it| self.data_of(page, it))?;
        Some(format!(
            "`{path}` stands in the name of a tag, where data can be any tag with any attributes; choose between \
             tags: `{{% if {path} == \"h1\" %}}<h1>{{% else %}}<p>{{% endif %}}`"
        ))
    }

    /// A link that begins with data may be `javascript:`.
    pub fn begins_link(&self, page: &Page<'_>, it: &Attribute, output: &Token) -> Option<String> {
        let before = page.text.get(it.range.start..output.range.start).unwrap_or_default();
        // Whichever way a choice goes, nothing may stand before the data.
        let mut written = before.split("{%").map(|it| it.rsplit("%}").next().unwrap_or_default());
        if written.any(|it| !it.trim().is_empty()) {
            return None;
        }
        let path = self.data_of(page, output)?;
        let is_checked = BrandField::of_variable(&path).is_some()
            || self
                .variables
                .iter()
                .any(|it| it.path == path && it.format.as_deref() == Some("url"));
        (!is_checked).then(|| {
            format!(
                "the link is whatever `{path}` says, `javascript:` too; declare `{path}` with the format `url`, or \
                 write how the link begins: `https://example.com/{{{{ {path} }}}}`"
            )
        })
    }

    /// Data can end a declaration of a style and begin another, which shows or loads something else.
    pub fn in_style(&self, page: &Page<'_>, it: &Attribute) -> Option<String> {
        let unchecked = page.outputs(&it.range).find_map(|output| {
            let path = self.data_of(page, output)?;
            let declared = self.variables.iter().find(|it| it.path == path);
            let kind = declared.and_then(|it| it.value_type);
            let format = declared.and_then(|it| it.format.as_deref());
            let is_checked = BrandField::of_variable(&path).is_some()
                || matches!(kind, Some(VariableType::Number | VariableType::Boolean))
                || format == Some("money");
            let filter = page.inside(output).rsplit('|').next().map(root);
            let is_number = filter.is_some_and(|it| NUMBER_FILTERS.contains(&it));
            (!is_checked && !is_number).then_some(path)
        });
        unchecked.map(|path| {
            format!(
                "`{path}` stands in a style, where data can begin other declarations, as `url(…)` that loads a picture; \
                 declare `{path}` with the type `number`, take a colour of the brand, or choose between styles with \
                 `{{% if %}}`"
            )
        })
    }

    /// The path in the data that an output prints; none where the template itself wrote what is printed.
    pub fn data_of(&self, page: &Page<'_>, output: &Token) -> Option<String> {
        let expression = page.inside(output);
        let path = expression.split('|').next().unwrap_or_default().trim();
        if path.starts_with(['"', '\'']) {
            return None;
        }
        let name = root(path);
        match self.names.get(name) {
            Some(None) => None,
            Some(Some(of)) => Some(joined(of, path.get(name.len()..).unwrap_or_default())),
            None => Some(joined("", path)),
        }
    }
}

/// A path and what follows it, cut to [`MAX_PATH`].
fn joined(path: &str, rest: &str) -> String {
    let mut joined = format!("{path}{rest}");
    joined.truncate(joined.floor_char_boundary(MAX_PATH));
    joined
}

/// Whether a link runs a script.
pub fn is_script(link: &str) -> bool {
    has_scheme(link, &["javascript:", "vbscript:"])
}

/// Whether a link is a `data:` URL.
pub fn is_data_url(link: &str) -> bool {
    has_scheme(link, &["data:"])
}

/// Clients leave out blanks and control characters.
fn has_scheme(link: &str, schemes: &[&str]) -> bool {
    let is_kept = |c: &char| !c.is_whitespace() && !c.is_control();
    let begin: String = link.chars().filter(is_kept).take(11).collect();
    let begin = begin.to_ascii_lowercase();
    schemes.iter().any(|it| begin.starts_with(*it))
}

/// What loops, assignments and captures call something.
fn names<'a>(page: &Page<'a>) -> HashMap<&'a str, Option<String>> {
    let mut names: HashMap<&str, Option<String>> = HashMap::new();
    // The name of a capture, and where what it captures begins.
    let mut capture: Option<(&str, usize)> = None;
    for token in &page.liquid {
        if token.kind == TokenKind::Output
            && let Some((name, start)) = capture.take()
            && page.text.get(start..token.range.start).is_some_and(|it| it.trim().is_empty())
        {
            let path = page.inside(token).split('|').next().unwrap_or_default().trim();
            names.insert(name, Some(joined("", path)));
        }
        if token.kind != TokenKind::Other {
            continue;
        }
        let inside = page.text.get(token.range.start + 2..token.range.end - 2).unwrap_or_default();
        let inside = inside.trim_start_matches('-').trim_end_matches('-').trim();
        let mut words = inside.split_whitespace();
        let (tag, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let of = words.nth(1).unwrap_or_default();
        let resolved = |path: &str, names: &HashMap<&str, Option<String>>| {
            let first = root(path);
            match names.get(first) {
                Some(Some(of)) => joined(of, path.get(first.len()..).unwrap_or_default()),
                Some(None) | None => joined("", path),
            }
        };
        match tag {
            "for" => {
                let path = joined(&resolved(of, &names), "[]");
                names.insert(name, Some(path));
            }
            "assign" if of.starts_with(['"', '\'']) => {
                names.insert(name, None);
            }
            "assign" => {
                let path = resolved(of, &names);
                names.insert(name, Some(path));
            }
            "capture" => {
                names.insert(name, None);
                capture = Some((name, token.range.end));
            }
            "endcapture" => capture = None,
            _ => {}
        }
    }
    names
}
