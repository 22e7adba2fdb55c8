//! Which partials a source calls, as its text says.

use std::collections::HashSet;

use crate::template::source::{LocaleSource, TemplateSource};

/// What the path of an `mj-include` may end in beside the name of a partial.
const EXTENSIONS: [&str; 4] = [".mjml", ".html", ".css", ".liquid"];

/// The names that `render` and `include` tags of a source call, and its `mj-include`s, in their order.
pub fn calls(source: &TemplateSource) -> Vec<String> {
    let mut names = Names::default();
    let of_locale = |it: &LocaleSource| {
        [&it.subject, &it.preheader, &it.html, &it.mjml, &it.text].map(Option::clone)
    };
    let own = [
        Some(source.subject.clone()),
        source.preheader.clone(),
        source.html.clone(),
        source.mjml.clone(),
        source.text.clone(),
    ];
    let others = source.locales.values().flat_map(of_locale);
    for text in own.into_iter().chain(others).flatten() {
        called_in(&text, &mut names);
    }
    let mjml = source.locales.values().map(|it| &it.mjml);
    for text in std::iter::once(&source.mjml).chain(mjml).flatten() {
        included_in(text, &mut names);
    }
    names.in_order
}

/// Names without repetitions: a text of some hundred KiB can call tens of thousands.
#[derive(Default)]
struct Names {
    in_order: Vec<String>,
    known: HashSet<String>,
}

impl Names {
    fn add(&mut self, name: &str) {
        if !self.known.contains(name) {
            self.known.insert(name.to_owned());
            self.in_order.push(name.to_owned());
        }
    }
}

/// The names in the paths of `mj-include`; the compiler reads them as XML, and has the last word.
fn included_in(mjml: &str, names: &mut Names) {
    for tag in mjml.split("<mj-include").skip(1) {
        let tag = tag.split('>').next().unwrap_or_default();
        let path = tag.split("path").nth(1).map(|it| it.trim_start().trim_start_matches('='));
        let Some(path) = path.and_then(|it| quoted(it.trim_start())) else { continue };
        let path = path.strip_prefix("./").unwrap_or(path);
        let name = EXTENSIONS.iter().find_map(|it| path.strip_suffix(it)).unwrap_or(path);
        names.add(name);
    }
}

fn called_in(text: &str, names: &mut Names) {
    let tags = || text.split("{%").skip(1).map(|it| it.split("%}").next().unwrap_or_default());
    let mut is_computed = false;
    for tag in tags() {
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
            match name.map(quoted) {
                Some(Some(name)) => names.add(name),
                Some(None) => is_computed = true,
                None => {}
            }
        }
    }
    // A name that is computed is made of texts of the tags, as in {% assign foot = "footer" %}{% include foot %}.
    if is_computed {
        for tag in tags() {
            tag.split(['"', '\'']).skip(1).step_by(2).for_each(|it| names.add(it));
        }
    }
}

/// The text within quotes at the beginning.
fn quoted(text: &str) -> Option<&str> {
    let quote = text.chars().next().filter(|it| matches!(it, '\'' | '"'))?;
    let rest = text.get(1..)?;
    rest.split_once(quote).map(|(name, _)| name)
}

/// Whether a layout names what it surrounds, or calls a partial, which may.
pub fn may_show_content(source: &TemplateSource) -> bool {
    let own = [&source.html, &source.mjml];
    let of_locales = source.locales.values().flat_map(|it| [&it.html, &it.mjml]);
    let mut markup = own.into_iter().chain(of_locales).flatten();
    let in_tag = |text: &str, opening: &str| {
        let mut tags = text.split(opening).skip(1).filter_map(|it| it.split(['}', '%']).next());
        tags.any(|it| it.contains("content"))
    };
    !calls(source).is_empty() || markup.any(|it| in_tag(it, "{{") || in_tag(it, "{%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_partial_that_a_tag_names_is_found() {
        let mut names = Names::default();
        let text = "{% render 'a' %}{%- include \"b\", x: 1 -%}{%render'c'%} render 'd' \
                    {% liquid\n  render 'e'\n  include 'a'\n%}{% render name %}{{ 'render' }}";
        called_in(text, &mut names);
        // One is computed: so each text in a tag may be a name.
        assert_eq!(names.in_order, ["a", "b", "c", "e"]);
    }

    #[test]
    fn the_texts_of_tags_may_be_names_where_a_name_is_computed() {
        let called = |text: &str| {
            let mut names = Names::default();
            called_in(text, &mut names);
            names.in_order
        };
        let text =
            "{% assign foot = 'footer' %}{% if dark == \"yes\" %}{% include foot %}{% endif %}";
        assert_eq!(called(text), ["footer", "yes"]);
        assert!(called("{% assign foot = 'footer' %}{{ foot }}").is_empty());
    }

    #[test]
    fn every_partial_that_mjml_includes_is_found() {
        let mut names = Names::default();
        let mjml = "<mj-include path=\"./a.mjml\" /><mj-include type='css' path = 'b'></mj-include>\
                    <mj-include path=\"a\"/><mj-include/><mj-text>path=\"c\"</mj-text>";
        included_in(mjml, &mut names);
        assert_eq!(names.in_order, ["a", "b"]);
    }
}
