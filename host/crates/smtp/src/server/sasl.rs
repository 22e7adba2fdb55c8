//! AUTH PLAIN and LOGIN (RFC 4954, RFC 4616): the password is an API key, and so is the user name unless a
//! setting allows another one.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use subtle::ConstantTimeEq;

use crate::server::reply::{Answer, Reply};

/// What LOGIN asks for: `Username:` and `Password:`.
const USER_PROMPT: &str = "VXNlcm5hbWU6";
const PASSWORD_PROMPT: &str = "UGFzc3dvcmQ6";

/// What a client logged in with. Its debug form does not show the key.
#[derive(Clone, PartialEq, Eq)]
pub enum Credentials {
    /// The text that was both the user name and the password.
    Key(String),
    /// They differ: a failed login like that of an unknown key, unless a setting allows this user name.
    Named { user: String, key: String },
    /// They are no text, or the client wants to act for another user: a failed login.
    Unusable,
}

impl Credentials {
    /// The key, where it is the user name too.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Key(key) => Some(key),
            Self::Named { .. } | Self::Unusable => None,
        }
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Key(_) => "Key(..)",
            Self::Named { .. } => "Named(..)",
            Self::Unusable => "Unusable",
        })
    }
}

/// An exchange that waits for the client's next line.
pub enum Exchange {
    /// PLAIN: all of it.
    Plain,
    /// LOGIN: the user name.
    User,
    /// LOGIN: the password of this user.
    Password(Vec<u8>),
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "Plain",
            Self::User => "User",
            Self::Password(_) => "Password(..)",
        })
    }
}

/// What a line comes to.
#[derive(Debug)]
pub enum Progress {
    /// The server sends a challenge.
    More(Exchange),
    /// The client has sent everything.
    Done(Credentials),
}

impl Exchange {
    /// The exchange of a mechanism, in any case of letters.
    pub fn of(mechanism: &str) -> Result<Self, Answer> {
        if mechanism.eq_ignore_ascii_case("PLAIN") {
            Ok(Self::Plain)
        } else if mechanism.eq_ignore_ascii_case("LOGIN") {
            Ok(Self::User)
        } else {
            Err(Reply::UnknownMechanism.into())
        }
    }

    /// What the client is asked.
    #[must_use]
    pub fn prompt(&self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::User => USER_PROMPT,
            Self::Password(_) => PASSWORD_PROMPT,
        }
    }

    /// Takes the response that stands in the AUTH command, where `=` is an empty one.
    ///
    /// # Errors
    /// It is not base64, or not what the mechanism wants.
    pub fn initial(self, response: &[u8]) -> Result<Progress, Answer> {
        if response == b"=" { self.take(Vec::new()) } else { self.take(decode(response)?) }
    }

    /// Takes a line of the client.
    ///
    /// # Errors
    /// It is `*`, not base64, or not what the mechanism wants.
    pub fn respond(self, line: &[u8]) -> Result<Progress, Answer> {
        if line == b"*" { Err(Reply::LoginCanceled.into()) } else { self.take(decode(line)?) }
    }

    fn take(self, response: Vec<u8>) -> Result<Progress, Answer> {
        match self {
            Self::Plain => plain(&response).map(Progress::Done),
            Self::User => Ok(Progress::More(Self::Password(response))),
            Self::Password(user) => Ok(Progress::Done(credentials(&user, response))),
        }
    }
}

/// `[authzid] NUL authcid NUL passwd`: nobody may act for another identity.
fn plain(response: &[u8]) -> Result<Credentials, Answer> {
    let mut parts = response.split(|byte| *byte == 0);
    let (Some(acting), Some(user), Some(password), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(Reply::BadBase64.into());
    };
    let own = acting.is_empty() || bool::from(acting.ct_eq(user));
    Ok(if own { credentials(user, password.to_vec()) } else { Credentials::Unusable })
}

fn credentials(user: &[u8], password: Vec<u8>) -> Credentials {
    let equal = bool::from(user.ct_eq(&password));
    match (String::from_utf8(user.to_vec()), String::from_utf8(password)) {
        (_, Ok(key)) if equal => Credentials::Key(key),
        (Ok(user), Ok(key)) => Credentials::Named { user, key },
        (Err(_), _) | (_, Err(_)) => Credentials::Unusable,
    }
}

fn decode(text: &[u8]) -> Result<Vec<u8>, Answer> {
    STANDARD.decode(text).map_err(|_| Reply::BadBase64.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain_of(text: &str) -> Result<Progress, Answer> {
        Exchange::Plain.initial(STANDARD.encode(text).as_bytes())
    }

    #[test]
    fn plain_takes_one_key_twice() {
        for text in ["\0key\0key", "key\0key\0key"] {
            assert!(
                matches!(plain_of(text), Ok(Progress::Done(Credentials::Key(key))) if key == "key")
            );
        }
        for text in ["\0key\0other", "key\0key\0other", "\0key\0", "\0\0key", "\0ключ\0ключ2"]
        {
            let result = plain_of(text);
            assert!(matches!(result, Ok(Progress::Done(Credentials::Named { .. }))), "{text}");
        }
    }

    #[test]
    fn nobody_acts_for_another_user_and_no_password_is_other_than_text() {
        for response in [&b"other\0key\0key"[..], b"other\0apikey\0key", b"\0apikey\0\xff"] {
            let result = Exchange::Plain.initial(STANDARD.encode(response).as_bytes());
            let text = response.escape_ascii();
            assert!(matches!(result, Ok(Progress::Done(Credentials::Unusable))), "{text}");
        }
    }

    #[test]
    fn what_is_not_of_the_form_of_plain_is_an_error() {
        for text in ["", "key", "key\0key", "\0a\0b\0c"] {
            assert_eq!(plain_of(text).err().map(|it| it.reply), Some(Reply::BadBase64), "{text}");
        }
        for response in [&b"!"[..], b"AGtleQBrZXk", b"AGtleQBrZXk= ", b"A", b"=="] {
            let reply = Exchange::Plain.initial(response).err().map(|it| it.reply);
            assert_eq!(reply, Some(Reply::BadBase64), "{}", response.escape_ascii());
        }
    }

    #[test]
    fn no_secret_stands_in_a_debug_form() {
        let key = Credentials::Key("wx_live_secret".to_owned());
        let exchange = Exchange::Password(b"wx_live_secret".to_vec());
        let plain = ["\0secret\0secret", "\0apikey\0secret"].map(plain_of);
        let shown = format!("{key:?} {exchange:?} {plain:?}");
        assert!(!shown.contains("secret") && !shown.contains("115"), "{shown}");
    }
}
