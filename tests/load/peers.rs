//! What Waxwing is compared with, each a private instance in a temporary directory: it uses nothing
//! of an instance that the machine may run, and nothing of it is left.
//!
//! Here are the mail servers; `accept` has those that take sends over HTTP. What mail servers have in
//! common: AUTH PLAIN after STARTTLS with Waxwing's own certificate, a message is synced before its 250,
//! and deliveries are held back.

pub mod accept;
pub mod floor;
mod haraka;
mod node;
pub mod postfix;

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::args;
use crate::args::Setup;
use crate::smtp::{Login, Spool};
use crate::start::{free_port, listens, run};

const OUTPUT: &str = "output.log";
/// How long a server may take to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a server is started with.
pub struct PeerSetup<'a> {
    pub setup: &'a Setup,
    /// Sessions at one time.
    pub sessions: u32,
    /// The authority's certificate; the server's own and its key are beside it.
    pub authority: &'a Path,
    pub login: Login,
    /// Where it sends what it is told to release; nothing is released without.
    pub relays_to: Option<SocketAddr>,
}

/// A running server. It is killed when this is dropped; its children end with it.
pub struct Peer {
    child: Child,
    pid: u32,
    address: SocketAddr,
    spool: PathBuf,
    directory: TempDir,
}

/// A server that is configured: its command, and where it puts messages.
struct Prepared {
    command: Command,
    spool: PathBuf,
}

impl Peer {
    /// Configures a server and starts it.
    pub async fn start(kind: args::Peer, peer_setup: &PeerSetup<'_>) -> io::Result<Self> {
        let directory = peer_setup.setup.work_dir()?;
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()?));
        let Prepared { mut command, spool } = match kind {
            args::Peer::Postfix => postfix::prepare(directory.path(), address, peer_setup).await?,
            args::Peer::Haraka => haraka::prepare(directory.path(), address, peer_setup).await?,
        };
        let output = directory.path().join(OUTPUT);
        let file = File::create(&output)?;
        let mut child = command
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .kill_on_drop(true)
            .spawn()?;
        let pid = child.id().ok_or(io::ErrorKind::NotFound)?;
        let up = tokio::select! {
            listening = listens(address) => listening.map_err(|error| error.to_string()),
            ended = child.wait() => Err(format!("it ended: {}", ended?)),
        };
        if let Err(why) = up {
            let said = std::fs::read_to_string(output)?;
            let message = format!("{} did not start: {why}\n{said}", kind.as_str());
            return Err(io::Error::other(message));
        }
        Ok(Self { child, pid, address, spool, directory })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its first process; all others descend from it.
    pub fn pids(&self) -> Vec<u32> {
        vec![self.pid]
    }

    pub fn spool(&self) -> Spool {
        Spool::Directory(self.spool.clone())
    }

    /// Where everything of it is.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Ends it. What it holds is thrown away with its directory.
    pub async fn stop(mut self) -> io::Result<()> {
        run(Command::new("kill").args(["-TERM", &self.pid.to_string()])).await?;
        match tokio::time::timeout(PATIENCE, self.child.wait()).await {
            Ok(ended) => ended.map(|_| ()),
            Err(_) => self.child.kill().await,
        }
    }
}

/// A text with `{name}` in it, filled in.
fn fill(text: &str, values: &[(&str, &str)]) -> String {
    values
        .iter()
        .fold(text.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

fn text(path: &Path) -> io::Result<&str> {
    path.to_str().ok_or_else(|| io::Error::other("the temporary directory's name is no text"))
}

/// Whether a program is there; else what to install.
async fn need(program: &str, packages: &str) -> io::Result<()> {
    let mut found = Command::new("sh");
    found.args(["-c", "command -v \"$0\"", program]);
    // As root's own shell has it; these programs are not for everybody.
    let path = std::env::var("PATH").unwrap_or_default();
    found.env("PATH", format!("{path}:/usr/sbin:/sbin"));
    run(&mut found).await.map_err(|_| {
        io::Error::other(format!(
            "{program} is not installed; `apt-get install {packages}` brings it"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_filled_in_wherever_a_name_stands() {
        let filled = fill("{a} = {b}, {a}, {c}", &[("a", "1"), ("b", "2")]);
        assert_eq!(filled, "1 = 2, 1, {c}");
    }

    #[tokio::test]
    async fn a_missing_program_is_told_with_its_package() {
        need("sh", "dash").await.expect("every system has it");
        let error = need("no-such-program", "some-package").await.expect_err("there is none");
        assert!(error.to_string().contains("apt-get install some-package"), "{error}");
    }
}
