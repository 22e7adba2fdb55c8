//! The floor as a process of its own: this program, started a second time.

mod server;

use std::io;
use std::net::SocketAddr;
use std::process::Stdio;

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use super::accept::{Backend, TEMPLATES};
use crate::args::AcceptPeer;

pub use server::serve;

const API_KEY: &str = "floor";

pub(super) async fn start(directory: TempDir) -> io::Result<Backend> {
    let mut server = Command::new(std::env::current_exe()?)
        .args(["floor", "--api-key", API_KEY, "--templates", TEMPLATES, "--data-dir"])
        .arg(directory.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let stdout = server.stdout.take().expect("it was asked for");
    let Some(line) = BufReader::new(stdout).lines().next_line().await? else {
        return Err(io::Error::other("the floor did not start; see above"));
    };
    let address: SocketAddr = line.parse().map_err(io::Error::other)?;
    Ok(Backend {
        kind: AcceptPeer::Floor,
        address,
        api_key: API_KEY,
        processes: vec![server],
        directory,
    })
}
