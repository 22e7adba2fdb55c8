//! HTML's character references that mail has in it.

/// Names of U+00A0 to U+00FF.
const LATIN: [&str; 96] = [
    "nbsp", "iexcl", "cent", "pound", "curren", "yen", "brvbar", "sect", "uml", "copy", "ordf",
    "laquo", "not", "shy", "reg", "macr", "deg", "plusmn", "sup2", "sup3", "acute", "micro",
    "para", "middot", "cedil", "sup1", "ordm", "raquo", "frac14", "frac12", "frac34", "iquest",
    "Agrave", "Aacute", "Acirc", "Atilde", "Auml", "Aring", "AElig", "Ccedil", "Egrave", "Eacute",
    "Ecirc", "Euml", "Igrave", "Iacute", "Icirc", "Iuml", "ETH", "Ntilde", "Ograve", "Oacute",
    "Ocirc", "Otilde", "Ouml", "times", "Oslash", "Ugrave", "Uacute", "Ucirc", "Uuml", "Yacute",
    "THORN", "szlig", "agrave", "aacute", "acirc", "atilde", "auml", "aring", "aelig", "ccedil",
    "egrave", "eacute", "ecirc", "euml", "igrave", "iacute", "icirc", "iuml", "eth", "ntilde",
    "ograve", "oacute", "ocirc", "otilde", "ouml", "divide", "oslash", "ugrave", "uacute", "ucirc",
    "uuml", "yacute", "thorn", "yuml",
];

const OTHERS: [(&str, char); 38] = [
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("hellip", '…'),
    ("mdash", '—'),
    ("ndash", '–'),
    ("lsquo", '‘'),
    ("rsquo", '’'),
    ("sbquo", '‚'),
    ("ldquo", '“'),
    ("rdquo", '”'),
    ("bdquo", '„'),
    ("lsaquo", '‹'),
    ("rsaquo", '›'),
    ("bull", '•'),
    ("euro", '€'),
    ("trade", '™'),
    ("larr", '←'),
    ("uarr", '↑'),
    ("rarr", '→'),
    ("darr", '↓'),
    ("minus", '−'),
    ("ensp", ' '),
    ("emsp", ' '),
    ("thinsp", ' '),
    ("zwnj", '\u{200C}'),
    ("zwj", '\u{200D}'),
    ("dagger", '†'),
    ("permil", '‰'),
    ("check", '✓'),
    ("star", '☆'),
    ("starf", '★'),
    ("hearts", '♥'),
    ("OElig", 'Œ'),
    ("oelig", 'œ'),
    ("infin", '∞'),
];

/// References as characters; a non-breaking space is a space, unknown names stay.
#[must_use]
pub fn decode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        let named = after.split_once(';').filter(|(name, _)| name.len() <= 10);
        match named.and_then(|(name, after)| Some((character(name)?, after))) {
            Some(('\u{A0}', after)) => {
                out.push(' ');
                rest = after;
            }
            // Invisible filler.
            Some(('\u{AD}' | '\u{200B}' | '\u{200C}' | '\u{200D}' | '\u{34F}', after)) => {
                rest = after;
            }
            Some((c, after)) => {
                out.push(c);
                rest = after;
            }
            None => {
                out.push('&');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

fn character(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code).filter(|it| !it.is_control() || it.is_whitespace());
    }
    if let Some(at) = LATIN.iter().position(|it| *it == name) {
        return char::from_u32(0xA0 + u32::try_from(at).ok()?);
    }
    OTHERS.iter().find(|(it, _)| *it == name).map(|(_, it)| *it)
}
