//! Running other programs: to their end, or until they listen.

use std::ffi::OsStr;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::process::Command;

const PATIENCE: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(20);

/// Runs a command to its end; standard output is kept for this program's one line.
pub async fn run(command: &mut Command) -> io::Result<()> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).kill_on_drop(true);
    let status = command.status().await?;
    if status.success() {
        return Ok(());
    }
    let program = command.as_std().get_program().to_owned();
    Err(io::Error::other(format!("{} failed: {status}", OsStr::display(&program))))
}

/// The pinned packages of a folder with a `package.json` and its lock; `options` are npm's.
pub async fn npm_install(folder: &Path, options: &[&str]) -> io::Result<()> {
    let mut npm = Command::new("npm");
    // Not `npm ci`: it refuses where a registry lacks an optional package of another platform.
    npm.args(["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]);
    run(npm.args(options).current_dir(folder)).await
}

/// A port that was free a moment ago.
pub fn free_port() -> io::Result<u16> {
    TcpListener::bind(("127.0.0.1", 0))?.local_addr().map(|address| address.port())
}

/// Waits until somebody listens there.
pub async fn listens(address: SocketAddr) -> io::Result<()> {
    let answers = async {
        while TcpStream::connect(address).await.is_err() {
            tokio::time::sleep(POLL).await;
        }
    };
    tokio::time::timeout(PATIENCE, answers).await.map_err(io::Error::from)
}
