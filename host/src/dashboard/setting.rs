//! What the wiring tells the pages of the server's certificate.

use std::fmt;
use std::sync::Arc;

use crate::clock::Timestamp;

/// Tells when the certificate of the SMTP relay ends that is live at that moment.
#[derive(Clone)]
pub struct CertificateEnd(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl CertificateEnd {
    pub fn new(tell: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }

    #[must_use]
    pub fn ends(&self) -> Timestamp {
        (self.0)()
    }
}

impl fmt::Debug for CertificateEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CertificateEnd")
    }
}
