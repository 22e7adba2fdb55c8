//! What the wiring tells the pages of the server's certificate.

use std::fmt;
use std::sync::Arc;

use crate::clock::Timestamp;

/// When the certificate ends that is live at this moment, and why the last order of a new one brought none.
type State = (Timestamp, Option<String>);

/// Tells how the server's certificate stands.
#[derive(Clone)]
pub struct CertificateState(Arc<dyn Fn() -> State + Send + Sync>);

impl CertificateState {
    pub fn new(tell: impl Fn() -> State + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    #[must_use]
    pub fn told(&self) -> State {
        (self.0)()
    }
}

impl fmt::Debug for CertificateState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CertificateState")
    }
}
