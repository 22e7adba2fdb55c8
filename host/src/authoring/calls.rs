//! Which partials a source calls, as its text says.

use crate::template::source::{LocaleSource, TemplateSource};

/// The names that `render` and `include` tags of a source call, in their order.
pub fn calls(source: &TemplateSource) -> Vec<String> {
    let mut names = Vec::new();
    let of_locale = |it: &LocaleSource| {
        [it.subject.clone(), it.preheader.clone(), it.html.clone(), it.text.clone()]
    };
    let own = [
        Some(source.subject.clone()),
        source.preheader.clone(),
        source.html.clone(),
        source.text.clone(),
    ];
    let others = source.locales.values().flat_map(of_locale);
    for text in own.into_iter().chain(others).flatten() {
        called_in(&text, &mut names);
    }
    names
}

fn called_in(text: &str, names: &mut Vec<String>) {
    for tag in text.split("{%").skip(1) {
        let tag = tag.split("%}").next().unwrap_or_default();
        let mut words = tag.split_whitespace().peekable();
        while let Some(word) = words.next() {
            let word = word.trim_start_matches('-');
            // Also without a blank between: {%render'footer'%}.
            let name = ["render", "include"].iter().find_map(|it| word.strip_prefix(it));
            let name = match name {
                Some("") => words.peek().copied(),
                Some(name) => Some(name),
                None => None,
            };
            if let Some(name) = name.and_then(quoted)
                && !names.iter().any(|it| it == name)
            {
                names.push(name.to_owned());
            }
        }
    }
}

/// The text within quotes at the beginning.
fn quoted(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|it| matches!(it, '\'' | '"'))?;
    let rest = text.get(1..)?;
    rest.split_once(quote).map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_partial_that_a_tag_names_is_found() {
        let mut names = Vec::new();
        let text = "{% render 'a' %}{%- include \"b\", x: 1 -%}{%render'c'%} render 'd' \
                    {% liquid\n  render 'e'\n  include 'a'\n%}{% render name %}{{ 'render' }}";
        called_in(text, &mut names);
        assert_eq!(names, ["a", "b", "c", "e"]);
    }
}
