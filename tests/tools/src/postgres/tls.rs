//! A cluster that listens on a network address, where sessions can be encrypted.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use super::{Cluster, NOBODY, USER, is_root, wait};
use crate::Need;

impl Cluster {
    /// One that also listens at port 5432 of an address of this machine, which it answers; none where PostgreSQL is not
    /// installed, and `unproven` is noted then.
    ///
    /// # Panics
    /// It does not start.
    #[must_use]
    pub fn on_loopback(unproven: &str) -> Option<(Self, String)> {
        if !Need::Postgres.is_met(unproven) {
            return None;
        }
        // All of 127.0.0.0/8 is this machine: no other process of tests has this address, and the port may stay.
        let [.., high, middle, low] = std::process::id().to_be_bytes();
        let address = format!("127.{}.{middle}.{low}", 64 + high % 64);
        let listen = format!("listen_addresses={address}");
        Some((Self::start(None, &["-c", &listen]), address))
    }

    /// The URL of one of its databases at its network address.
    #[must_use]
    pub fn url_at(address: &str, database: &str) -> String {
        format!("postgres://{USER}@{address}/{database}")
    }

    /// Lets sessions be encrypted with this certificate and its key, and refuses those over the network that are not.
    ///
    /// # Panics
    /// The files cannot be copied, or the server does not take them.
    pub fn demand_tls(&self, certificate: &Path, key: &Path) {
        for (from, name) in [(certificate, "server.crt"), (key, "server.key")] {
            let file = self.folder.join("data").join(name);
            fs::copy(from, &file).expect("the file is copied");
            if is_root() {
                chown(&file, Some(NOBODY), Some(NOBODY)).expect("root may");
            }
            fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("it is ours");
        }
        let rules = "local all all trust\nhostssl all all 127.0.0.0/8 trust\n";
        fs::write(self.folder.join("data/pg_hba.conf"), rules).expect("the rules are written");
        drop(self.run("postgres", "ALTER SYSTEM SET ssl = on"));
        drop(self.run("postgres", "SELECT pg_reload_conf()"));
        wait("the server has TLS", || self.run("postgres", "SHOW ssl") == "on");
    }
}
