//! What the wiring tells the pages: the settings that the server runs with, and its certificate.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;

use crate::clock::Timestamp;

/// One key of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub section: String,
    pub key: String,
    pub value: String,
    /// Where it comes from: the environment, the file, or nowhere, so that the default holds.
    pub source: String,
}

impl Setting {
    #[must_use]
    pub fn is_default(&self) -> bool {
        self.source == "default"
    }
}

/// All of them. A reload replaces them.
#[derive(Debug, Clone, Default)]
pub struct Settings(Arc<ArcSwap<Vec<Setting>>>);

impl Settings {
    pub fn replace(&self, settings: Vec<Setting>) {
        self.0.store(Arc::new(settings));
    }

    /// One of them.
    #[must_use]
    pub fn value(&self, section: &str, key: &str) -> Option<String> {
        let all = self.0.load();
        all.iter().find(|it| it.section == section && it.key == key).map(|it| it.value.clone())
    }

    #[must_use]
    pub fn all(&self) -> Arc<Vec<Setting>> {
        self.0.load_full()
    }
}

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
