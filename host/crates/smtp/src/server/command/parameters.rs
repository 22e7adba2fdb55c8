//! The parameters of MAIL and RCPT (RFC 5321 section 4.1.2): `KEYWORD` or `KEYWORD=value`.

use crate::server::reply::{Answer, Reply};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter<'a> {
    /// As it was written; compare without regard to case.
    pub keyword: &'a str,
    /// What stands behind the `=`; never empty.
    pub value: Option<&'a str>,
}

/// The parameters in `text`, each of another keyword.
///
/// # Errors
/// One is malformed, or is there twice.
pub fn parse(text: &str) -> Result<Vec<Parameter<'_>>, Answer> {
    let mut all: Vec<Parameter<'_>> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let parameter = parameter(word).ok_or_else(|| malformed(word))?;
        if all.iter().any(|it| it.keyword.eq_ignore_ascii_case(parameter.keyword)) {
            let text = format!("the parameter {} is there twice", parameter.keyword);
            return Err(Reply::BadArgument.with(text));
        }
        all.push(parameter);
    }
    Ok(all)
}

/// The answer to a parameter that cannot be read.
#[must_use]
pub fn malformed(word: &str) -> Answer {
    Reply::BadArgument.with(format!("the parameter {word} is malformed"))
}

/// The answer to a parameter that is not offered.
#[must_use]
pub fn unknown(parameter: Parameter<'_>) -> Answer {
    Reply::UnknownParameter.with(format!("the parameter {} is not known", parameter.keyword))
}

fn parameter(word: &str) -> Option<Parameter<'_>> {
    let (keyword, value) = match word.split_once('=') {
        Some((keyword, value)) => (keyword, Some(value)),
        None => (word, None),
    };
    let first = keyword.chars().next()?;
    let valid_keyword = first.is_ascii_alphanumeric()
        && keyword.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let valid_value =
        |it: &str| !it.is_empty() && !it.contains(|c: char| c == '=' || c.is_control());
    (valid_keyword && value.is_none_or(valid_value)).then_some(Parameter { keyword, value })
}
