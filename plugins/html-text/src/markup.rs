//! A lenient look at HTML: text, comments, opening and closing tags.

/// A piece of HTML.
#[derive(Debug)]
pub enum Event<'h> {
    Text(&'h str),
    /// A comment, a doctype or a processing instruction.
    Comment(&'h str),
    Open {
        /// In lower case.
        name: String,
        /// All between the name and the `>`.
        inside: &'h str,
    },
    Close(String),
}

/// Cuts HTML into pieces.
pub fn events(html: &str) -> Vec<Event<'_>> {
    let mut out = Vec::new();
    let mut rest = html;
    // What stands before `at` in `rest` is text.
    let mut at = 0;
    while let Some(open) = rest.get(at..).and_then(|it| it.find('<')) {
        let (text, tag) = rest.split_at(at + open);
        let Some((event, length)) = event(tag) else {
            at += open + 1;
            continue;
        };
        out.push(Event::Text(text));
        let verbatim = match &event {
            Event::Open { name, .. } if matches!(name.as_str(), "script" | "style") => {
                Some(name.clone())
            }
            Event::Open { .. } | Event::Close(_) | Event::Comment(_) | Event::Text(_) => None,
        };
        out.push(event);
        rest = tag.get(length..).unwrap_or_default();
        at = 0;
        if let Some(name) = verbatim {
            let end = find_ignoring_case(rest, &format!("</{name}")).unwrap_or(rest.len());
            let (inside, after) = rest.split_at(end);
            out.push(Event::Text(inside));
            rest = after;
        }
    }
    out.push(Event::Text(rest));
    out
}

fn find_ignoring_case(text: &str, wanted: &str) -> Option<usize> {
    text.as_bytes().windows(wanted.len()).position(|it| it.eq_ignore_ascii_case(wanted.as_bytes()))
}

fn event(tag: &str) -> Option<(Event<'_>, usize)> {
    if let Some(comment) = tag.strip_prefix("<!--") {
        let length = comment.find("-->").unwrap_or(comment.len());
        return Some((Event::Comment(comment.get(..length)?), (length + 7).min(tag.len())));
    }
    if tag.starts_with("<!") || tag.starts_with("<?") {
        let length = tag.find('>')?;
        return Some((Event::Comment(tag.get(2..length)?), length + 1));
    }
    let closes = tag.starts_with("</");
    let from = 1 + usize::from(closes);
    let name = tag.get(from..)?;
    let name = name.get(..name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len()))?;
    name.starts_with(|c: char| c.is_ascii_alphabetic()).then_some(())?;
    let end = tag_end(tag)?;
    let inside = tag.get(from + name.len()..end)?;
    let name = name.to_ascii_lowercase();
    let event = if closes { Event::Close(name) } else { Event::Open { name, inside } };
    Some((event, end + 1))
}

/// Where the `>` is that no quotes hide.
fn tag_end(tag: &str) -> Option<usize> {
    let mut quote = None;
    for (i, c) in tag.bytes().enumerate() {
        match (quote, c) {
            (None, b'>') => return Some(i),
            (None, b'"' | b'\'') => quote = Some(c),
            (Some(it), c) if it == c => quote = None,
            (None | Some(_), _) => {}
        }
    }
    tag.find('>')
}

impl Event<'_> {
    /// The value of an attribute of an opening tag.
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let Self::Open { inside, .. } = self else {
            return None;
        };
        let mut all = attributes(inside).into_iter();
        all.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, it)| it)
    }

    /// Whether no mail client shows the element, as preheaders are not shown. What only Outlook does
    /// not show (`mso-hide`) is shown by all others.
    pub fn is_hidden(&self) -> bool {
        let style: String =
            self.attribute("style").unwrap_or_default().split_whitespace().collect();
        let style = style.to_ascii_lowercase();
        let hides = style.split(';').any(|it| {
            let declaration = it.strip_suffix("!important").unwrap_or(it);
            matches!(declaration, "display:none" | "visibility:hidden" | "visibility:collapse")
        });
        self.attribute("hidden").is_some()
            || hides
            || ["class", "id"].iter().any(|it| {
                let names = self.attribute(it).unwrap_or_default();
                names.split_whitespace().any(|it| it.eq_ignore_ascii_case("preheader"))
            })
    }
}

/// Names and values of attributes; a value may be empty.
pub fn attributes(inside: &str) -> Vec<(&str, &str)> {
    let mut out = Vec::new();
    let mut rest = inside.trim_start();
    while !rest.is_empty() {
        let length = rest.find(|c: char| c.is_whitespace() || c == '=').unwrap_or(rest.len());
        let (name, after) = rest.split_at(length);
        let after = after.trim_start();
        let Some(value) = after.strip_prefix('=').map(str::trim_start) else {
            out.push((name, ""));
            rest = after;
            continue;
        };
        let quote = value.chars().next().filter(|it| matches!(it, '"' | '\''));
        let (value, after) = match quote {
            Some(quote) => {
                let value = value.get(1..).unwrap_or_default();
                value.split_once(quote).unwrap_or((value, ""))
            }
            None => value.split_at(value.find(char::is_whitespace).unwrap_or(value.len())),
        };
        out.push((name, value));
        rest = after.trim_start();
    }
    out
}
