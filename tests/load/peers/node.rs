//! Fastify, `LiquidJS` and `BullMQ` on a Redis that syncs every write.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;

use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::accept::{Backend, TEMPLATES};
use crate::args::{AcceptPeer, Args};
use crate::start::{free_port, listens, npm_install, run};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/load/peers/node");
const FILES: [&str; 3] = ["package.json", "package-lock.json", "server.js"];
const API_KEY: &str = "node";

/// Installs what is missing, and starts Redis and Node. Node's workers end with Node.
pub(super) async fn start(args: &Args, directory: TempDir) -> io::Result<Backend> {
    let redis_port = free_port()?;
    let redis = redis(directory.path(), redis_port).await?;
    install(directory.path()).await?;
    let address = SocketAddr::from(([127, 0, 0, 1], free_port()?));
    let cores = std::thread::available_parallelism()?.get();
    let workers = args.workers.map_or(cores.to_string(), |workers| workers.to_string());
    let mut node = Command::new("node")
        .arg("server.js")
        .current_dir(directory.path())
        .env("NODE_ENV", "production")
        .env("API_KEY", API_KEY)
        .env("PORT", address.port().to_string())
        .env("REDIS_PORT", redis_port.to_string())
        .env("TEMPLATES", TEMPLATES)
        .env("WORKERS", workers)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let stdout = node.stdout.take().expect("it was asked for");
    if BufReader::new(stdout).lines().next_line().await?.is_none() {
        return Err(io::Error::other("Node's server did not start; see above"));
    }
    Ok(Backend {
        kind: AcceptPeer::Node,
        address,
        api_key: API_KEY,
        processes: vec![node, redis],
        directory,
    })
}

async fn redis(directory: &Path, port: u16) -> io::Result<Child> {
    if run(Command::new("redis-server").arg("--version")).await.is_err() {
        run(Command::new("apt-get").args(["install", "-y", "-qq", "redis-server"])).await?;
    }
    let child = Command::new("redis-server")
        .args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--save", ""])
        .args(["--appendonly", "yes", "--appendfsync", "always", "--loglevel", "warning"])
        .args(["--maxmemory-policy", "noeviction", "--dir"])
        .arg(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    listens(SocketAddr::from(([127, 0, 0, 1], port))).await?;
    Ok(child)
}

/// The pinned packages, into the temporary directory: none of it is ever in the repository.
async fn install(directory: &Path) -> io::Result<()> {
    for file in FILES {
        std::fs::copy(Path::new(FOLDER).join(file), directory.join(file))?;
    }
    npm_install(directory, &[]).await
}
