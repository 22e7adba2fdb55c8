//! Postfix: the installed binaries with a configuration, a queue and a password file of their own.
//! Messages go to the hold queue. It wants to be started by root.

use std::fs::Permissions;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use super::{PeerSetup, Prepared, fill, need, text};
use crate::start::run;

const MAIN: &str = include_str!("postfix/main.cf");
const MASTER: &str = include_str!("postfix/master.cf");
const SASL: &str = include_str!("postfix/smtpd.conf");
/// Behind `MAIN`, where it relays what is released.
const RELAY: &str = include_str!("postfix/relay.cf");
/// Where messages are between their release and their end.
const ON_THEIR_WAY: [&str; 4] = ["maildrop", "incoming", "active", "deferred"];
/// Processes beside those that serve sessions.
const SPARE: u32 = 50;

pub(super) async fn prepare(
    directory: &Path,
    address: SocketAddr,
    peer_setup: &PeerSetup<'_>,
) -> io::Result<Prepared> {
    need("postconf", "postfix").await?;
    need("saslpasswd2", "sasl2-bin libsasl2-modules").await?;
    // Its daemons run as another user.
    std::fs::set_permissions(directory, Permissions::from_mode(0o755))?;
    let place = |name: &str| directory.join(name);
    for name in ["conf", "conf/sasl", "queue", "data"] {
        std::fs::create_dir(place(name))?;
    }
    run(Command::new("chown").arg(ask("mail_owner").await?).arg(place("data"))).await?;
    for name in ["cert.pem", "key.pem"] {
        std::fs::copy(peer_setup.authority.with_file_name(name), place(name))?;
    }
    let (user, realm) =
        peer_setup.login.user.split_once('@').unwrap_or((&peer_setup.login.user, "load.example"));
    let processes = (peer_setup.sessions + SPARE).to_string();
    let (address, port) = (address.ip().to_string(), address.port().to_string());
    let values = [
        ("directory", text(directory)?),
        ("realm", realm),
        ("address", address.as_str()),
        ("port", port.as_str()),
        ("processes", processes.as_str()),
    ];
    let mut main = fill(MAIN, &values);
    if let Some(relays_to) = peer_setup.relays_to {
        let (host, port) = (relays_to.ip().to_string(), relays_to.port().to_string());
        main.push_str(&fill(RELAY, &[("relay_host", &host), ("relay_port", &port)]));
    }
    std::fs::write(place("conf/main.cf"), main)?;
    std::fs::write(place("conf/master.cf"), fill(MASTER, &values))?;
    // Where Debian's Postfix looks, whatever it is told.
    std::fs::write(place("conf/sasl/smtpd.conf"), fill(SASL, &values))?;
    save_password(user, realm, &peer_setup.login.password, &place("conf/sasl/passwords")).await?;
    let mut check = Command::new("postfix");
    run(check.arg("-c").arg(place("conf")).arg("check").stderr(Stdio::null())).await?;
    let mut command = Command::new(Path::new(&ask("daemon_directory").await?).join("master"));
    // It becomes the leader of a session of its own, and stays where it was started.
    command.arg("-s").arg("-c").arg(place("conf"));
    Ok(Prepared { command, spool: place("queue/hold") })
}

/// Takes everything out of the hold queue; it waits for [`deliver`].
pub async fn release(directory: &Path) -> io::Result<()> {
    let mut release = Command::new("postsuper");
    release.arg("-c").arg(directory.join("conf")).args(["-H", "ALL"]);
    run(release.stderr(Stdio::null())).await
}

/// Lets everything that waits be delivered now.
pub async fn deliver(directory: &Path) -> io::Result<()> {
    run(Command::new("postqueue").arg("-c").arg(directory.join("conf")).arg("-f")).await
}

/// How many messages are on their way.
pub fn on_their_way(directory: &Path) -> io::Result<u64> {
    let queue = directory.join("queue");
    ON_THEIR_WAY.iter().map(|name| files(&queue.join(name))).sum()
}

/// Files in a directory and in those below it.
fn files(directory: &Path) -> io::Result<u64> {
    let mut count = 0;
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        // A file may have gone since the directory was read.
        let Ok(kind) = entry.file_type() else { continue };
        count += if kind.is_dir() { files(&entry.path())? } else { 1 };
    }
    Ok(count)
}

/// A default of the installed Postfix.
async fn ask(parameter: &str) -> io::Result<String> {
    let output = Command::new("postconf").args(["-d", "-h", parameter]).output().await?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

async fn save_password(user: &str, realm: &str, password: &str, file: &Path) -> io::Result<()> {
    let mut child = Command::new("saslpasswd2")
        .args(["-p", "-c", "-u", realm, "-f"])
        .arg(file)
        .arg(user)
        .stdin(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut stdin = child.stdin.take().expect("it was asked for");
    stdin.write_all(password.as_bytes()).await?;
    drop(stdin);
    if !child.wait().await?.success() {
        return Err(io::Error::other("saslpasswd2 did not save a password; see above"));
    }
    // The server's user reads it.
    std::fs::set_permissions(file, Permissions::from_mode(0o644))
}
