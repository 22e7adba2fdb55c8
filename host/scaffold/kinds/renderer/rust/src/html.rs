//! Text into HTML, and HTML into text.

const ENTITIES: [(&str, char); 6] = [
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("#39", '\''),
    ("nbsp", ' '),
];
/// Tags that end a line of the text.
const LINE_ENDS: [&str; 13] = [
    "br", "hr", "/p", "/div", "/h1", "/h2", "/h3", "/h4", "/h5", "/h6", "/li", "/tr", "/table",
];
/// Elements whose content is not for readers.
const HIDDEN: [&str; 3] = ["style", "script", "title"];

/// Text that stands for itself in HTML.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for it in text.chars() {
        match it {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
    }
    out
}

/// The text of HTML: blocks become lines, style sheets and scripts go.
pub fn text(html: &str) -> String {
    let mut out = String::with_capacity(html.len());
    let mut rest = html;
    while let Some((before, tag)) = rest.split_once('<') {
        put(&mut out, before);
        let Some((inside, after)) = tag.split_once('>') else {
            return out;
        };
        let end = |it: char| !(it.is_ascii_alphanumeric() || it == '/');
        let name = inside.split(end).next().unwrap_or_default();
        let name = name.strip_suffix('/').unwrap_or(name).to_ascii_lowercase();
        rest = after;
        if HIDDEN.contains(&name.as_str()) {
            let closing = format!("</{name}");
            let close = after
                .to_ascii_lowercase()
                .find(&closing)
                .unwrap_or(after.len());
            rest = after[close..].split_once('>').map_or("", |(_, rest)| rest);
        } else if LINE_ENDS.contains(&name.as_str()) {
            out.push('\n');
        }
    }
    put(&mut out, rest);
    out
}

/// Trimmed lines, none of them empty.
pub fn lines(text: &str) -> String {
    let lines = text.lines().map(str::trim).filter(|it| !it.is_empty());
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

/// Appends what stands between tags: any white space is a space, and entities are characters.
fn put(out: &mut String, text: &str) {
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let entity = ENTITIES.into_iter().find_map(|(name, character)| {
            let after = rest
                .strip_prefix('&')?
                .strip_prefix(name)?
                .strip_prefix(';')?;
            Some((after, character))
        });
        let (after, character) = entity.unwrap_or((&rest[first.len_utf8()..], first));
        if !character.is_whitespace() {
            out.push(character);
        } else if !out.ends_with([' ', '\n']) {
            out.push(' ');
        }
        rest = after;
    }
}
