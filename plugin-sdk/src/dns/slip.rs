//! Copy-and-paste mistakes in a TXT record: quotation marks, zone-file escapes or invisible characters in its value.

/// A kind of stray character without which the record's value would be right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slip {
    /// Quotation marks that became part of the value.
    Quotes,
    /// Backslashes: escapes of zone files that became part of the value.
    Backslashes,
    /// Invisible or look-alike characters, such as curly quotation marks from a word processor.
    Foreign,
    /// More than one of these.
    Several,
}

impl Slip {
    /// What is wrong and what to do, as the end of a sentence that begins "This record …".
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Quotes => {
                "has quotation marks as part of its value; your DNS provider adds them by itself \
                 where they are needed, so enter the value without any"
            }
            Self::Backslashes => {
                "has backslashes as part of its value; your DNS provider adds them by itself where \
                 they are needed, so enter the value without any"
            }
            Self::Foreign => {
                "has characters in its value that are no plain letters, such as invisible spaces or \
                 curly quotation marks; copy the value again, not through a text document"
            }
            Self::Several => {
                "has quotation marks, backslashes or invisible characters as part of its value; \
                 enter the value without any"
            }
        }
    }

    fn mend(self, record: &str) -> String {
        let belongs = |it: char| match self {
            Self::Quotes => it != '"',
            Self::Backslashes => it != '\\',
            Self::Foreign => is_plain(it),
            Self::Several => is_plain(it) && it != '"' && it != '\\',
        };
        // What looks like a space stood for one.
        let mended = |it: char| if it.is_whitespace() { ' ' } else { it };
        record.chars().map(mended).filter(|it| belongs(*it)).collect()
    }
}

/// Finds the first kind of stray character whose removal makes `record` pass `right`.
pub fn slip(record: &str, right: impl Fn(&str) -> bool) -> Option<Slip> {
    [Slip::Quotes, Slip::Backslashes, Slip::Foreign, Slip::Several].into_iter().find(|it| {
        let mended = it.mend(record);
        mended != record && right(mended.trim())
    })
}

fn is_plain(it: char) -> bool {
    it == ' ' || it.is_ascii_graphic()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(record: &str) -> Option<Slip> {
        slip(record, |it| it == "v=spf1 -all")
    }

    #[test]
    fn each_slip_is_told_from_the_others() {
        assert_eq!(of(r#""v=spf1 -all""#), Some(Slip::Quotes));
        assert_eq!(of(r#""v=spf1" -all"#), Some(Slip::Quotes));
        assert_eq!(of(r"v\=spf1 -all"), Some(Slip::Backslashes));
        assert_eq!(of("\u{201c}v=spf1\u{a0}-all\u{200b}\u{201d}"), Some(Slip::Foreign));
        assert_eq!(of(r#"\"v=spf1 -all\""#), Some(Slip::Several));
    }

    #[test]
    fn a_value_that_is_right_or_another_one_has_no_slip() {
        for record in ["v=spf1 -all", "", "v=spf1 ~all", r#""v=spf1 ~all""#] {
            assert_eq!(of(record), None, "{record}");
        }
    }
}
