//! `RCPT TO:<recipient>`; no parameter is offered for it.

use waxwing_mail::address::EmailAddress;

use super::parameters::{self, unknown};
use super::path::Path;
use crate::server::reply::{Answer, Reply};

/// A parsed RCPT command.
#[derive(Debug, PartialEq, Eq)]
pub struct RcptTo {
    pub recipient: EmailAddress,
    /// Whether it was written in a way that is allowed only after SMTPUTF8.
    pub needs_utf8: bool,
}

/// Reads what follows the verb.
pub fn parse(argument: &[u8]) -> Result<RcptTo, Answer> {
    let text = str::from_utf8(argument).map_err(|_| bad_recipient("it is not UTF-8"))?;
    let path = super::after_keyword(text, "TO:")
        .ok_or_else(|| Reply::BadArgument.with("write RCPT TO:<user@example.com>"))?;
    let (path, rest) = Path::take_from(path).map_err(bad_recipient)?;
    if let Some(parameter) = parameters::parse(rest)?.first() {
        return Err(unknown(*parameter));
    }
    let recipient = path.address().map_err(bad_recipient)?;
    Ok(RcptTo { recipient, needs_utf8: path.needs_utf8() })
}

fn bad_recipient(why: impl std::fmt::Display) -> Answer {
    Reply::BadRecipient.with(format!("BAD_REQUEST the recipient: {why}"))
}
