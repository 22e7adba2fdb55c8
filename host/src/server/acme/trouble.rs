//! Why there is no new certificate, for the checks of the server's health.

use std::sync::{Arc, Mutex, PoisonError};

/// The last failure; nothing where the last order went well.
#[derive(Debug, Clone, Default)]
pub struct Trouble(Arc<Mutex<Option<String>>>);

impl Trouble {
    #[must_use]
    pub fn told(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn tell(&self, trouble: Option<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = trouble;
    }
}
