//! `MAIL FROM:<sender> SIZE=… BODY=… SMTPUTF8 AUTH=…` (RFC 5321, 1870, 6152, 6531, 4954).

use waxwing_mail::address::EmailAddress;

use super::parameters::{self, Parameter, malformed, unknown};
use super::path::Path;
use crate::server::data::too_large;
use crate::server::reply::{Answer, Reply};

/// A parsed MAIL command.
#[derive(Debug, PartialEq, Eq)]
pub struct MailFrom {
    /// None is the empty path, `<>`.
    pub sender: Option<EmailAddress>,
    /// Whether SMTPUTF8 is among the parameters.
    pub utf8: bool,
}

/// Reads what follows the verb; `limit` is the largest message.
///
/// # Errors
/// Something in it is wrong, or the message would be too large.
pub fn parse(argument: &[u8], limit: usize) -> Result<MailFrom, Answer> {
    let text = str::from_utf8(argument).map_err(|_| bad_sender("it is not UTF-8"))?;
    let path = super::after_keyword(text, "FROM:")
        .ok_or_else(|| Reply::BadArgument.with("write MAIL FROM:<user@example.com>"))?;
    let (path, rest) = Path::take_from(path).map_err(bad_sender)?;
    let mut utf8 = false;
    for parameter in parameters::parse(rest)? {
        read(parameter, limit, &mut utf8)?;
    }
    if path.needs_utf8() && !utf8 {
        return Err(Reply::Utf8NotAnnounced.into());
    }
    let sender = if path.is_empty() { None } else { Some(path.address().map_err(bad_sender)?) };
    Ok(MailFrom { sender, utf8 })
}

fn bad_sender(why: impl std::fmt::Display) -> Answer {
    Reply::BadSender.with(format!("BAD_REQUEST the sender: {why}"))
}

fn read(parameter: Parameter<'_>, limit: usize, utf8: &mut bool) -> Result<(), Answer> {
    let Parameter { keyword, value } = parameter;
    match (keyword.to_ascii_uppercase().as_str(), value) {
        ("SIZE", Some(size)) => check_size(size, limit),
        ("BODY", Some(body)) => {
            let known = ["7BIT", "8BITMIME"].iter().any(|it| it.eq_ignore_ascii_case(body));
            if known {
                Ok(())
            } else {
                Err(Reply::BadArgument.with("BODY is 7BIT or 8BITMIME; BINARYMIME is not offered"))
            }
        }
        ("SMTPUTF8", None) => {
            *utf8 = true;
            Ok(())
        }
        // AUTH= names the original submitter. It is accepted and ignored, as RFC 4954 section 5 allows.
        ("AUTH", Some(_)) => Ok(()),
        ("SIZE" | "BODY" | "SMTPUTF8" | "AUTH", _) => Err(malformed(keyword)),
        _ => Err(unknown(parameter)),
    }
}

fn check_size(size: &str, limit: usize) -> Result<(), Answer> {
    if size.is_empty() || size.len() > 20 || !size.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(malformed("SIZE"));
    }
    // RFC 1870 allows 20 digits. A number that overflows is over the limit, too.
    let fits = size.parse::<usize>().is_ok_and(|size| size <= limit);
    if fits { Ok(()) } else { Err(too_large(limit)) }
}
