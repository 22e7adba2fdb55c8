//! Haraka: the pinned packages from npm, one process a core. Messages go to its outbound queue,
//! whose deliveries are switched off.

use std::io;
use std::net::SocketAddr;
use std::path::Path;

use tokio::process::Command;

use super::{PeerSetup, Prepared, fill, need};
use crate::start::{npm_install, run};

const PACKAGES: [(&str, &str); 2] = [
    ("package.json", include_str!("haraka/package.json")),
    ("package-lock.json", include_str!("haraka/package-lock.json")),
];
/// In place of the shipped files.
const CONFIGURATION: [(&str, &str); 8] = [
    ("me", "haraka.load.example\n"),
    ("smtp.ini", include_str!("haraka/smtp.ini")),
    ("outbound.ini", include_str!("haraka/outbound.ini")),
    // It would make its own beside the measurement: the well-known group of RFC 7919.
    ("dhparams.pem", include_str!("haraka/dhparams.pem")),
    ("tls.ini", include_str!("haraka/tls.ini")),
    ("auth_flat_file.ini", include_str!("haraka/auth_flat_file.ini")),
    ("plugins", include_str!("haraka/plugins")),
    ("log.ini", include_str!("haraka/log.ini")),
];

pub(super) async fn prepare(
    directory: &Path,
    address: SocketAddr,
    peer_setup: &PeerSetup<'_>,
) -> io::Result<Prepared> {
    need("node", "nodejs").await?;
    need("npm", "npm").await?;
    for (name, text) in PACKAGES {
        std::fs::write(directory.join(name), text)?;
    }
    npm_install(directory, &["--omit=optional"]).await?;
    let config = directory.join("config");
    let shipped = directory.join("node_modules/Haraka/config");
    run(Command::new("cp").arg("-r").arg(shipped).arg(&config)).await?;
    let (address, nodes) = (address.to_string(), std::thread::available_parallelism()?.to_string());
    let values = [
        ("address", address.as_str()),
        ("nodes", nodes.as_str()),
        ("user", peer_setup.login.user.as_str()),
        ("password", peer_setup.login.password.as_str()),
    ];
    for (name, text) in CONFIGURATION {
        std::fs::write(config.join(name), fill(text, &values))?;
    }
    for (from, to) in [("cert.pem", "tls_cert.pem"), ("key.pem", "tls_key.pem")] {
        std::fs::copy(peer_setup.authority.with_file_name(from), config.join(to))?;
    }
    let mut command = Command::new("node");
    command
        .arg(directory.join("node_modules/Haraka/bin/haraka"))
        .arg("-c")
        .arg(directory)
        .current_dir(directory)
        .env("NODE_ENV", "production");
    Ok(Prepared { command, spool: directory.join("queue") })
}
