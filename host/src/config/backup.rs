//! `[backup]`: whether the server takes backups by itself, where they are kept, and who can open them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::violations::Violations;
use crate::backup::age::Recipient;

/// `[backup]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Backup {
    /// A directory, or `s3://bucket/prefix`, into which the server takes backups by itself. Not with `store.url`.
    pub to: Option<String>,
    /// Seconds from one backup to the next.
    pub every_s: u64,
    /// The newest backups that are kept there; older ones are deleted.
    pub keep: usize,
    /// Public keys of age (`age1…`); whoever has the identity of one of them can open a backup. `waxwing backup keygen`
    /// makes a pair.
    pub recipients: Vec<Recipient>,
    /// The address of an object store that is not Amazon's, as in `https://s3.example.com`.
    pub s3_endpoint: Option<String>,
    /// The region of the object store.
    pub s3_region: Option<String>,
    /// The identifier of a key of the object store. Without it the key comes from the environment (`AWS_ACCESS_KEY_ID`,
    /// `AWS_SECRET_ACCESS_KEY`), or from the machine's role.
    pub s3_access_key_id: Option<String>,
    /// A file that holds the secret of that key.
    pub s3_secret_access_key_file: Option<PathBuf>,
}

impl Backup {
    pub(super) fn check(&self, violations: &mut Violations<'_>) {
        violations.must(
            self.to.is_none() || !self.recipients.is_empty(),
            "backup.recipients: needed with backup.to, because every backup is encrypted",
        );
        violations.must((60..=2_592_000).contains(&self.every_s), "backup.every_s: 60 to 2592000");
        violations.must((1..=100_000).contains(&self.keep), "backup.keep: 1 to 100000");
        violations.must(
            self.s3_access_key_id.is_some() == self.s3_secret_access_key_file.is_some(),
            "backup.s3_access_key_id: goes together with backup.s3_secret_access_key_file",
        );
    }
}

impl Default for Backup {
    fn default() -> Self {
        Self {
            to: None,
            every_s: 24 * 60 * 60,
            keep: 14,
            recipients: Vec::new(),
            s3_endpoint: None,
            s3_region: None,
            s3_access_key_id: None,
            s3_secret_access_key_file: None,
        }
    }
}
