//! What a folder and a server had in common last. So a push knows whether somebody else has changed a template since,
//! whatever happened to revisions and whichever server it was.

use std::collections::BTreeMap;

use serde_json::json;
use sha2::{Digest, Sha256};

use super::files::{Files, STATE};
use crate::authoring::error::{FileFault, FolderError};
use crate::hexadecimal::hexadecimal;
use crate::journey::accept::json::canonical;
use crate::template::source::TemplateSource;

/// The digest of each source, by names such as `layout/base`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    pub digests: BTreeMap<String, String>,
}

impl State {
    /// That of a folder; empty where nothing was pulled or pushed yet.
    pub fn of(files: &Files) -> Result<Self, FolderError> {
        let Some(text) = files.text(STATE) else { return Ok(Self::default()) };
        let digests = serde_json::from_str(text).map_err(|error| FolderError::Malformed {
            path: STATE.into(),
            fault: FileFault::State(error),
        })?;
        Ok(Self { digests })
    }

    /// The file: a line for each, so that two branches of a repository can be put together.
    #[must_use]
    pub fn text(&self) -> String {
        let text = serde_json::to_string_pretty(&self.digests).unwrap_or_default();
        text + "\n"
    }
}

/// The digest of what a source says, in whatever order.
#[must_use]
pub fn digest(source: &TemplateSource) -> String {
    let digest = Sha256::digest(canonical(&json!(source)));
    format!("sha256:{}", hexadecimal(&digest))
}
