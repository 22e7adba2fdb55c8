//! The tag list of DKIM and DMARC records (RFC 6376 section 3.2), strict where verifiers are.

/// Tags in their order, values without outer white space.
#[derive(Debug)]
pub struct Tags<'a>(Vec<(&'a str, &'a str)>);

/// Why a text is not a tag list.
#[derive(Debug, PartialEq, Eq)]
pub enum TagFault {
    /// `;` is written as `\;`: an escape of zone files that became part of the value.
    Escaped,
    /// A part between two `;` is not `name=value`.
    NotATag(String),
    /// A tag twice: the whole list is invalid.
    Repeated(String),
}

impl TagFault {
    /// What is wrong, as the end of "This record …".
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::Escaped => r"has `\;` where `;` belongs; remove the backslashes".to_owned(),
            Self::NotATag(part) => format!("has `{part}`, which is not of the form `name=value`"),
            Self::Repeated(name) => format!("has the tag `{name}` more than once"),
        }
    }
}

impl<'a> Tags<'a> {
    /// Parses a whole record.
    ///
    /// # Errors
    /// It is no tag list that verifiers would read.
    pub fn parse(text: &'a str) -> Result<Self, TagFault> {
        if text.contains("\\;") {
            return Err(TagFault::Escaped);
        }
        let mut tags: Vec<(&str, &str)> = Vec::new();
        for part in text.split(';').map(str::trim).filter(|it| !it.is_empty()) {
            let Some((name, value)) = part.split_once('=') else {
                return Err(TagFault::NotATag(part.chars().take(40).collect()));
            };
            let name = name.trim();
            if tags.iter().any(|(it, _)| *it == name) {
                return Err(TagFault::Repeated(name.chars().take(40).collect()));
            }
            tags.push((name, value.trim()));
        }
        Ok(Self(tags))
    }

    /// The first tag.
    #[must_use]
    pub fn first(&self) -> Option<(&'a str, &'a str)> {
        self.0.first().copied()
    }

    /// A tag by its name in lower case, as RFC 6376 has it.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(it, _)| *it == name).map(|(_, value)| *value)
    }

    /// A tag by its name in any case, as the grammar of RFC 7489 has it.
    #[must_use]
    pub fn value_any_case(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(it, _)| it.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_and_a_last_semicolon_do_not_matter() {
        let tags = Tags::parse(" v = DKIM1 ;k=rsa;\tp= A B ; ").expect("a tag list");
        assert_eq!(tags.first(), Some(("v", "DKIM1")));
        assert_eq!((tags.value("k"), tags.value("p")), (Some("rsa"), Some("A B")));
        assert_eq!(tags.value("t"), None);
    }

    #[test]
    fn a_value_may_have_equal_signs() {
        assert_eq!(Tags::parse("p=MII==").expect("a tag list").value("p"), Some("MII=="));
    }

    #[test]
    fn what_verifiers_refuse_is_refused() {
        assert_eq!(Tags::parse(r"v=DKIM1\; p=A").expect_err("escaped"), TagFault::Escaped);
        let not = Tags::parse("v=DKIM1 p").map(|_| ()).and(Tags::parse("hello").map(|_| ()));
        assert_eq!(not, Err(TagFault::NotATag("hello".to_owned())));
        let twice = Tags::parse("p=a; p=b").expect_err("twice");
        assert_eq!(twice, TagFault::Repeated("p".to_owned()));
    }
}
