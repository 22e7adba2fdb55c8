//! What the command line on the same machine shows to be let in.

use subtle::ConstantTimeEq;

use crate::hexadecimal::hexadecimal;
use crate::id::fill_random;

/// A secret of this run of the server, for the command line on the same machine.
#[derive(Clone)]
pub struct ControlToken(String);

impl ControlToken {
    #[must_use]
    pub fn random() -> Self {
        let mut bytes = [0; 32];
        fill_random(&mut bytes);
        Self(format!("wx_control_{}", hexadecimal(&bytes)))
    }

    /// Its text, for the file that only this server's user can read.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.0
    }

    /// Whether somebody presents it.
    #[must_use]
    pub fn is(&self, presented: &str) -> bool {
        self.0.as_bytes().ct_eq(presented.as_bytes()).into()
    }
}

impl std::fmt::Debug for ControlToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ControlToken")
    }
}
