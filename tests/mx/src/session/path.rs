//! The arguments of MAIL and RCPT.

use crate::behaviour::Behaviour;
use crate::situation::Recipient;

/// Reads `FROM:<address> PARAMETER…`, or `TO:`; none where it is written otherwise.
pub(crate) fn path(argument: &str, keyword: &str) -> Option<Recipient> {
    let (found, rest) = argument.split_at_checked(keyword.len())?;
    let rest = rest.strip_prefix('<')?;
    if !found.eq_ignore_ascii_case(keyword) {
        return None;
    }
    let (mut quoted, mut escaped) = (false, false);
    let end = rest.find(|it| {
        let ends = it == '>' && !quoted;
        if it == '"' && !escaped {
            quoted = !quoted;
        }
        escaped = it == '\\' && !escaped;
        ends
    })?;
    let (address, parameters) = rest.split_at_checked(end)?;
    let parameters = parameters.strip_prefix('>')?;
    if !parameters.is_empty() && !parameters.starts_with(' ') {
        return None;
    }
    let parameters = parameters.split_whitespace().map(str::to_owned).collect();
    Some(Recipient { address: address.to_owned(), parameters })
}

/// The first parameter that the server has not offered.
pub(crate) fn unknown<'a>(path: &'a Recipient, behaviour: &Behaviour) -> Option<&'a str> {
    let offered = |parameter: &&String| {
        let word = parameter.split('=').next().unwrap_or_default().to_ascii_uppercase();
        match word.as_str() {
            "SIZE" => behaviour.offers("SIZE"),
            "BODY" => behaviour.offers("8BITMIME"),
            "SMTPUTF8" => behaviour.offers("SMTPUTF8"),
            "AUTH" => behaviour.login.is_some(),
            "RET" | "ENVID" | "NOTIFY" | "ORCPT" => behaviour.offers("DSN"),
            other => behaviour.offers(other),
        }
    };
    path.parameters.iter().find(|it| !offered(it)).map(String::as_str)
}

/// The value of a parameter.
pub(crate) fn value<'a>(path: &'a Recipient, word: &str) -> Option<&'a str> {
    path.parameters.iter().find_map(|it| {
        let (name, value) = it.split_once('=').unwrap_or((it, ""));
        name.eq_ignore_ascii_case(word).then_some(value)
    })
}
