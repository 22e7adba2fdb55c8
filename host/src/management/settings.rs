//! The settings that the server runs with, as its operator sees them.

use std::sync::Arc;

use arc_swap::ArcSwap;

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

/// All settings. A reload replaces them.
#[derive(Debug, Clone, Default)]
pub struct Settings(Arc<ArcSwap<Vec<Setting>>>);

impl Settings {
    pub fn replace(&self, settings: Vec<Setting>) {
        self.0.store(Arc::new(settings));
    }

    /// The value of one setting.
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
