//! The one provider of cryptography.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs};

/// None is installed for the process.
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}
