//! Servers that accept sends over HTTP, to compare the accept path with.

use std::io;
use std::net::SocketAddr;

use tempfile::TempDir;
use tokio::process::Child;

use super::{floor, node};
use crate::args::{AcceptPeer, Args};
use crate::process;
use crate::round::Subject;

/// The templates of the generator, a folder each.
pub(super) const TEMPLATES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/load/templates");

/// A running server. Its processes are killed when this is dropped.
pub struct Backend {
    pub kind: AcceptPeer,
    pub(super) address: SocketAddr,
    pub(super) api_key: &'static str,
    /// Without their children.
    pub(super) processes: Vec<Child>,
    pub(super) directory: TempDir,
}

impl Backend {
    /// Starts one, with its data where Waxwing has its own.
    pub async fn start(kind: AcceptPeer, args: &Args) -> io::Result<Self> {
        let directory = args.setup.work_dir()?;
        match kind {
            AcceptPeer::Floor => floor::start(directory).await,
            AcceptPeer::Node => node::start(args, directory).await,
        }
    }

    pub fn subject(&self) -> Subject<'_> {
        let pids = self.processes.iter().filter_map(Child::id).collect();
        Subject { address: self.address, api_key: self.api_key, pids }
    }

    /// Peak memory of all its processes, added up.
    pub fn peak_kib(&self) -> io::Result<u64> {
        process::peak_kib(&self.subject().pids)
    }

    /// Ends it. What it holds is thrown away.
    pub async fn stop(mut self) -> io::Result<()> {
        for process in &mut self.processes {
            process.kill().await?;
        }
        self.directory.close()
    }
}
