//! Which version of a plugin it was: for records, logs and comparisons.

use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Which component it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    #[serde(default)]
    pub slot: String,
    /// The plugin's name.
    pub name: String,
    /// The plugin's version.
    pub version: String,
    /// SHA-256 of the component, as `sha256:<hex>`.
    pub digest: String,
    /// The revision of its settings; 0 for none.
    pub settings_revision: u32,
}

/// The identity of a generation, and its text in the records of all that it decides. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SharedIdentity(Arc<(Identity, Arc<str>)>);

impl SharedIdentity {
    /// As a JSON object.
    #[must_use]
    pub fn record(&self) -> Arc<str> {
        Arc::clone(&self.0.1)
    }
}

impl From<Identity> for SharedIdentity {
    fn from(identity: Identity) -> Self {
        let record = serde_json::to_string(&identity).expect("an identity has string keys only");
        Self(Arc::new((identity, record.into())))
    }
}

impl Deref for SharedIdentity {
    type Target = Identity;

    fn deref(&self) -> &Identity {
        &self.0.0
    }
}

impl Serialize for SharedIdentity {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}
