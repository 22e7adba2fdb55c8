//! Where a page of the audit log goes on.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::id::AccountId;
use crate::store::seal::Seal;

/// The number of a row, sealed: it would tell each account how much all others change.
#[derive(Debug)]
pub struct Cursor<'a> {
    pub seal: &'a Seal,
    /// Whose log; none for that of the server.
    pub account: Option<AccountId>,
}

impl Cursor<'_> {
    fn identity(&self) -> String {
        match self.account {
            Some(account) => format!("audit {account}"),
            None => "audit of the server".to_owned(),
        }
    }

    #[must_use]
    pub fn tell(&self, number: i64) -> String {
        URL_SAFE_NO_PAD.encode(self.seal.seal(&self.identity(), &number.to_be_bytes()))
    }

    /// The number of the row; none where the text is of another log, or made up.
    #[must_use]
    pub fn read(&self, text: &str) -> Option<i64> {
        let sealed = URL_SAFE_NO_PAD.decode(text).ok()?;
        let opened = self.seal.open(&self.identity(), &sealed).ok()?;
        opened.try_into().ok().map(i64::from_be_bytes)
    }
}
