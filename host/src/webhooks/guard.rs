//! Where webhooks may point: to the public internet, and to what the operator allows beside it.
//!
//! A name is checked by the addresses that the connection is then made to (`resolver`), so that DNS rebinding gains
//! nothing; an address in a URL is checked here.

use std::net::IpAddr;

use reqwest::Url;

use crate::account::ip_network::IpNetwork;
use crate::dns::not_public;

const MAX_URL_CHARS: usize = 2_048;

/// The rules for URLs of webhooks, and for the addresses that their names lead to.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    pub schemes: Schemes,
    /// Networks that are allowed although they are not public.
    pub allowed: Vec<IpNetwork>,
}

/// The schemes that a webhook's URL may have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Schemes {
    #[default]
    Https,
    /// For laboratories.
    HttpAndHttps,
}

/// An address that a webhook may not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{address} is not a public address: {why}; `webhooks.allow_private` can allow it")]
pub struct NotPublic {
    pub address: IpAddr,
    pub why: &'static str,
}

/// Why a URL cannot be a webhook's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidUrl {
    #[error("must be a whole URL, as in https://example.com/events")]
    Malformed,
    #[error("may have at most {MAX_URL_CHARS} characters")]
    TooLong,
    #[error("must begin with https://")]
    Scheme,
    /// It has a user name or a password.
    #[error("must not hold a user name or a password; check the signature instead")]
    Userinfo,
    /// It has a fragment, which is never sent.
    #[error("must not have a fragment (#…)")]
    Fragment,
    #[error("{0}")]
    Address(#[from] NotPublic),
}

impl Guard {
    /// Checks the URL of a webhook; a name in it is checked when it is looked up.
    pub fn check_url(&self, text: &str) -> Result<Url, InvalidUrl> {
        if text.chars().count() > MAX_URL_CHARS {
            return Err(InvalidUrl::TooLong);
        }
        let url = Url::parse(text).map_err(|_| InvalidUrl::Malformed)?;
        // What is kept is this form, in which one letter may be nine characters; it is ASCII.
        if url.as_str().len() > MAX_URL_CHARS {
            return Err(InvalidUrl::TooLong);
        }
        match (url.scheme(), self.schemes) {
            ("https", _) | ("http", Schemes::HttpAndHttps) => {}
            _ => return Err(InvalidUrl::Scheme),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(InvalidUrl::Userinfo);
        }
        if url.fragment().is_some() {
            return Err(InvalidUrl::Fragment);
        }
        // All spellings of an address (octal, hexadecimal, one number) are one here: the parser has
        // made them so.
        let host = url.host_str().unwrap_or_default();
        let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        match literal {
            Ok(address) => self.check_address(address)?,
            Err(_) if host.is_empty() => return Err(InvalidUrl::Malformed),
            Err(_) => {}
        }
        Ok(url)
    }

    /// Checks an address before it is connected to.
    ///
    /// # Errors
    /// The address is not public, and the operator has not allowed it.
    pub fn check_address(&self, address: IpAddr) -> Result<(), NotPublic> {
        match not_public(address) {
            Some(why) if !self.allowed.iter().any(|it| it.contains(address)) => {
                Err(NotPublic { address, why })
            }
            Some(_) | None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
