//! Parses command lines: the verb and its argument (RFC 5321 section 4.1).

pub mod bdat;
pub mod mail;
mod parameters;
mod path;
pub mod rcpt;

use crate::server::reply::{Answer, Reply};

/// Octets of the client's EHLO or HELO name, at most (RFC 5321 section 4.5.3.1.2).
const MAX_CLIENT_NAME_OCTETS: usize = 255;

/// The SMTP commands that the server knows; any other is answered with 500.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// Names the client and asks for the extensions.
    Ehlo,
    /// Names the client.
    Helo,
    /// Asks for a TLS handshake (RFC 3207).
    StartTls,
    /// Logs in (RFC 4954).
    Auth,
    /// Begins a message.
    Mail,
    /// Adds a recipient.
    Rcpt,
    /// Begins the text of the message.
    Data,
    /// Hands over a chunk of the message (RFC 3030).
    Bdat,
    /// Ends the transaction.
    Rset,
    /// Does nothing.
    Noop,
    /// Asks whether an address exists.
    Vrfy,
    /// Asks who is on a list.
    Expn,
    /// Asks for help.
    Help,
    /// Ends the session.
    Quit,
}

const VERBS: [(&str, Verb); 14] = [
    ("EHLO", Verb::Ehlo),
    ("HELO", Verb::Helo),
    ("STARTTLS", Verb::StartTls),
    ("AUTH", Verb::Auth),
    ("MAIL", Verb::Mail),
    ("RCPT", Verb::Rcpt),
    ("DATA", Verb::Data),
    ("BDAT", Verb::Bdat),
    ("RSET", Verb::Rset),
    ("NOOP", Verb::Noop),
    ("VRFY", Verb::Vrfy),
    ("EXPN", Verb::Expn),
    ("HELP", Verb::Help),
    ("QUIT", Verb::Quit),
];

/// Splits a command line into its verb and its argument, without the blanks around it.
pub fn split_verb(line: &[u8]) -> Result<(Verb, &[u8]), Answer> {
    let end = line.iter().position(|byte| *byte == b' ').unwrap_or(line.len());
    let (word, rest) = line.split_at_checked(end).unwrap_or((line, b""));
    VERBS
        .iter()
        .find(|(name, _)| word.eq_ignore_ascii_case(name.as_bytes()))
        .map(|(_, verb)| (*verb, rest.trim_ascii()))
        .ok_or(Reply::UnknownCommand.into())
}

/// Checks a command that takes no argument.
///
/// # Errors
/// The command has an argument.
pub fn expect_no_argument(argument: &[u8]) -> Result<(), Answer> {
    if argument.is_empty() {
        Ok(())
    } else {
        Err(Reply::BadArgument.with("this command takes no argument"))
    }
}

/// The client's EHLO or HELO name. Many clients send no valid domain, so any printable text is accepted.
///
/// # Errors
/// The name is empty, too long, not UTF-8, or holds a control character.
pub fn client_name(argument: &[u8]) -> Result<&str, Answer> {
    let name = str::from_utf8(argument).map_err(|_| Answer::from(Reply::BadLine))?;
    if name.is_empty() || name.len() > MAX_CLIENT_NAME_OCTETS || name.chars().any(char::is_control)
    {
        return Err(Reply::BadArgument
            .with("name empty, too long or not printable: EHLO client.example.com"));
    }
    Ok(name)
}

/// What follows a keyword with its colon, and the blanks that some clients put there.
fn after_keyword<'a>(text: &'a str, keyword: &str) -> Option<&'a str> {
    let (word, rest) = text.split_at_checked(keyword.len())?;
    word.eq_ignore_ascii_case(keyword).then_some(rest.trim_start_matches(' '))
}

#[cfg(test)]
mod tests;
