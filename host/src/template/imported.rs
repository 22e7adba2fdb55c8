//! HTML that another tool has made of a template: React escapes Liquid as it escapes text.

/// The HTML with its Liquid as it was written: `{{ plan | default: &quot;free&quot; }}` has quotation
/// marks again.
///
/// A piece of Liquid with a quotation mark in it was not escaped and stays. Outside of quotation marks
/// Liquid has no `&`, so nothing that is good Liquid changes.
#[must_use]
pub fn with_unescaped_liquid(html: &str) -> String {
    let mut out = String::with_capacity(html.len());
    let mut rest = html;
    while let Some((before, liquid, after)) = next_liquid(rest) {
        out.push_str(before);
        if liquid.contains(['"', '\'']) {
            out.push_str(liquid);
        } else {
            out.push_str(&unescaped(liquid));
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// The HTML of which [`with_unescaped_liquid`] makes this one.
#[must_use]
pub fn with_escaped_liquid(html: &str) -> String {
    let mut out = String::with_capacity(html.len());
    let mut rest = html;
    while let Some((before, liquid, after)) = next_liquid(rest) {
        out.push_str(before);
        if liquid.contains(['"', '\'']) {
            out.push_str(liquid);
        } else {
            out.push_str(&liquid.replace('&', "&amp;"));
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Text before the next output or tag, that, and what follows.
fn next_liquid(html: &str) -> Option<(&str, &str, &str)> {
    let starts = ["{{", "{%"].map(|it| html.find(it));
    let start = starts.into_iter().flatten().min()?;
    let (before, rest) = html.split_at(start);
    let close = if rest.starts_with("{{") { "}}" } else { "%}" };
    let (liquid, after) = rest.split_at(rest.find(close)? + close.len());
    Some((before, liquid, after))
}

/// `&amp;` comes last: `&amp;lt;` was written as `&lt;`.
fn unescaped(liquid: &str) -> String {
    let quotes = liquid.replace("&quot;", "\"").replace("&#x27;", "'").replace("&#39;", "'");
    quotes.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn liquid_that_react_has_escaped_is_liquid_again() {
        let html = "<p>A &amp; {{ plan | default: &quot;free&quot; }} {% if a &lt; 2 %}&lt;{% endif %} \
                    {{ b | append: &#x27;&amp;&#x27; }}</p>";
        let expected = "<p>A &amp; {{ plan | default: \"free\" }} {% if a < 2 %}&lt;{% endif %} \
                        {{ b | append: '&' }}</p>";
        assert_eq!(with_unescaped_liquid(html), expected);
    }

    #[test]
    fn liquid_that_was_not_escaped_stays() {
        for html in
            ["{{ a | append: \"&amp;\" }} {{ b | replace: '&lt;', '<' }}", "{{ a", "{% %} }}"]
        {
            assert_eq!(with_unescaped_liquid(html), html);
            assert_eq!(with_unescaped_liquid(&with_escaped_liquid(html)), html);
        }
        let html = "{{ a | default: &quot;&amp;b&quot; }} &amp; {{ b";
        assert_eq!(with_unescaped_liquid(&with_escaped_liquid(html)), html);
    }
}
