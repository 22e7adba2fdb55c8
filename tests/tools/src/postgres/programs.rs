//! A cluster for measurements, and PostgreSQL's own programs that ask a cluster.

use std::env;
use std::path::Path;
use std::process::Command;

use super::{Cluster, USER, binaries};

/// Settings as in production: what PostgreSQL has acknowledged is on the disk. `shared_buffers` suits a small machine.
const DURABLE: [&str; 10] = [
    "-c",
    "fsync=on",
    "-c",
    "full_page_writes=on",
    "-c",
    "synchronous_commit=on",
    "-c",
    "shared_buffers=256MB",
    "-c",
    "max_wal_size=4GB",
];

impl Cluster {
    /// Starts one in a folder of `parent`, with the settings of production.
    ///
    /// # Errors
    /// PostgreSQL is not installed: what to install.
    ///
    /// # Panics
    /// It does not start.
    pub fn durable(parent: &Path) -> Result<Self, String> {
        if binaries().is_none() {
            let why = "PostgreSQL is not installed; `apt-get install postgresql` brings it";
            return Err(why.to_owned());
        }
        Ok(Self::start_in(parent, None, &DURABLE))
    }

    /// A program of PostgreSQL that connects to this cluster, as `psql` or `pgbench`.
    ///
    /// # Errors
    /// It is not installed: what to install.
    pub fn client(&self, program: &str) -> Result<Command, String> {
        let path = binaries().map(|it| it.join(program)).filter(|it| it.exists());
        let path = path.ok_or_else(|| {
            format!(
                "{program} is not beside the server's own programs; `apt-get install postgresql \
                 postgresql-contrib` brings it"
            )
        })?;
        let mut command = Command::new(path);
        command.args(["--username", USER, "--host"]).arg(&self.folder);
        Ok(command)
    }

    /// What an environment needs in which people type commands of PostgreSQL for this cluster.
    ///
    /// # Panics
    /// The folder of the cluster is not UTF-8.
    #[must_use]
    pub fn environment(&self) -> [(&'static str, String); 3] {
        let folder = self.folder.to_str().expect("a path of UTF-8");
        let path = env::var("PATH").unwrap_or_default();
        let programs = binaries().unwrap_or_default();
        [
            ("PGHOST", folder.to_owned()),
            ("PGUSER", USER.to_owned()),
            ("PATH", format!("{}:{path}", programs.display())),
        ]
    }

    /// The first of its processes: all others descend from this one.
    #[must_use]
    pub fn process_id(&self) -> u32 {
        self.keeper.id()
    }
}
