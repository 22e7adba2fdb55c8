//! Lists the links of a message: the sandboxed preview opens none, and a login link has to be clicked.

use super::content::Content;

const MAX_LINKS: usize = 100;

/// The web addresses of the HTML, or of the text where there is no HTML; each once, in order.
pub fn of(content: &Content) -> Vec<String> {
    let mut links = Vec::new();
    let found = match (&content.html, &content.text) {
        (Some(html), _) => hrefs(html),
        (None, Some(text)) => written_out(text),
        (None, None) => Vec::new(),
    };
    for link in found {
        if is_web(&link) && !links.contains(&link) && links.len() < MAX_LINKS {
            links.push(link);
        }
    }
    links
}

/// Only these are made clickable: no `javascript:`, no `data:`.
fn is_web(link: &str) -> bool {
    ["http://", "https://"]
        .iter()
        .any(|scheme| link.get(..scheme.len()).is_some_and(|it| it.eq_ignore_ascii_case(scheme)))
}

/// The quoted values of all `href` attributes.
fn hrefs(html: &str) -> Vec<String> {
    let folded = html.to_ascii_lowercase();
    let after_names =
        folded.match_indices("href").filter_map(|(at, name)| html.get(at + name.len()..));
    after_names.filter_map(quoted_value).map(unescaped).collect()
}

fn quoted_value(after_name: &str) -> Option<&str> {
    let value = after_name.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|first| ['"', '\''].contains(first))?;
    value.strip_prefix(quote)?.split(quote).next().map(str::trim)
}

fn unescaped(value: &str) -> String {
    value
        .replace("&#38;", "&")
        .replace("&#x26;", "&")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&amp;", "&")
}

/// Words of a text that are web addresses, without the punctuation around them.
fn written_out(text: &str) -> Vec<String> {
    text.split(|c: char| c.is_whitespace() || "<>\"()[]".contains(c))
        .map(|word| word.trim_end_matches(['.', ',', ';', ':', '!', '?', '\'']).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_the_html_are_found_once_and_only_web_addresses_count() {
        let html = "<a href=\"https://a.example/?x=1&amp;y=2\">a</a><a HREF='../no'>b</a>\
                    <a HREF = 'http://b.example'>c</a><a href=\"https://a.example/?x=1&amp;y=2\">d</a>\
                    <a href=\"javascript:alert(1)\">e</a><a href=https://unquoted.example>f</a>href";
        let content = Content { html: Some(html.to_owned()), ..Content::default() };
        assert_eq!(of(&content), ["https://a.example/?x=1&y=2", "http://b.example"]);
    }

    #[test]
    fn links_of_a_text_lose_the_punctuation_around_them() {
        let text = "See https://a.example/x, (https://b.example) or <HTTPS://c.example/?q=1>.";
        let content = Content { text: Some(text.to_owned()), ..Content::default() };
        assert_eq!(
            of(&content),
            ["https://a.example/x", "https://b.example", "HTTPS://c.example/?q=1"]
        );
    }
}
