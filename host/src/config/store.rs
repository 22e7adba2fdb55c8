//! `[store]`: where everything is kept, and what of it stays in memory.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::delivery::Secret;
use super::violations::Violations;

/// `[store]`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Store {
    /// The directory of the database, the master key and the caches.
    pub data_dir: PathBuf,
    /// A database of PostgreSQL 15 or later, as in `postgres://user:password@host:5432/waxwing`, in place of the one in
    /// the directory. Several hosts, as in `host1:5432,host2:5432`, are a primary and its standbys: whichever is the
    /// primary is used. Several servers may share it: see `[node]`.
    #[serde(skip_serializing)]
    pub url: Option<Secret>,
    /// The file of the master key, 32 bytes, in place of `master.key` in the directory: for nodes that share a database, which
    /// all need the same key. The server does not make it.
    pub master_key_file: Option<PathBuf>,
    /// Memory for published templates, in bytes of their texts; a template that is not in memory is read again when it
    /// is sent.
    pub template_memory_bytes: u64,
}

impl Store {
    pub(super) fn check(&self, violations: &mut Violations<'_>) {
        let is_url = |it: &Secret| {
            ["postgres://", "postgresql://"].iter().any(|scheme| it.0.starts_with(scheme))
        };
        violations.must(
            self.url.as_ref().is_none_or(is_url),
            "store.url: as in postgres://user:password@host:5432/waxwing",
        );
        violations.must(
            (1 << 20..=1 << 40).contains(&self.template_memory_bytes),
            "store.template_memory_bytes: 1048576 to 2^40",
        );
    }
}

impl Default for Store {
    fn default() -> Self {
        Self {
            data_dir: PathBuf::from("waxwing-data"),
            url: None,
            master_key_file: None,
            template_memory_bytes: 64 << 20,
        }
    }
}
