//! Programs that the tests use and this project did not write.
//!
//! Packages of `PyPI` and npm are installed by the tests themselves, pinned, below the target directory.
//! What only root can install is a [`Need`]: a test asks for its needs first. A need that is not met
//! fails where `CI` is set. Elsewhere the test says on standard error that it proves nothing, and
//! `cargo test --workspace` ends with one list of all such tests and the one command that installs
//! what they lack.

mod node;
mod not_run;
mod pgbouncer;
mod postgres;
mod python;
mod small_disk;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub use node::node_packages;
pub use not_run::{Unmet, noted};
pub use pgbouncer::PgBouncer;
pub use postgres::{Cluster, Greedy, Pair};
pub use python::{python, run_python};
pub use small_disk::SmallDisk;

/// Something on the machine that the tests cannot bring along.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// buildah as root, and curl.
    Buildah,
    /// A Chromium that Playwright can drive.
    Chromium,
    /// curl, with SMTP.
    Curl,
    /// What builds Debian packages, and systemd's own analysis of a unit.
    Debian,
    /// Go with its standard library.
    Go,
    /// msmtp, the sendmail of machines without a mail server.
    Msmtp,
    /// Node.js with npm.
    Node,
    /// The openssl command.
    OpenSsl,
    /// Pebble, the certificate authority that Let's Encrypt tests clients with.
    Pebble,
    /// The pooler of connections to PostgreSQL.
    PgBouncer,
    /// PHP with its extension curl.
    Php,
    /// The binaries of a PostgreSQL server, which the tests start themselves.
    Postgres,
    /// Postfix with SASL, and the right to start a Postfix of our own.
    Postfix,
    /// Prometheus' own check of rules and metrics.
    Promtool,
    /// Python 3 with its standard library.
    Python,
    /// Python 3 that can make virtual environments.
    PythonVenv,
    /// Ruby with its standard library.
    Ruby,
    /// The right to mount a tmpfs.
    SmallDisk,
    /// swaks with TLS.
    Swaks,
}

impl Need {
    /// Whether this machine has it. Where not, `unproven` is noted as what was not tested.
    ///
    /// # Panics
    /// It is missing, and `CI` is set.
    #[must_use]
    pub fn is_met(self, unproven: &str) -> bool {
        let met = self.probes().iter().all(|probe| works(probe))
            && (self != Self::Postgres || postgres::is_installed());
        if !met {
            not_run::note(&Unmet {
                unproven: unproven.to_owned(),
                reason: self.reason().to_owned(),
                packages: self.packages().iter().map(|it| (*it).to_owned()).collect(),
            });
        }
        met
    }

    fn probes(self) -> &'static [&'static [&'static str]] {
        match self {
            Self::Buildah => &[
                &["buildah", "--version"],
                &["sh", "-c", "test \"$(id -u)\" = 0"],
                &["curl", "--version"],
            ],
            Self::Chromium => &[&["chromium", "--version"]],
            Self::Curl => &[&["curl", "--version"]],
            Self::Debian => &[&["dpkg-deb", "--version"], &["systemd-analyze", "--version"]],
            Self::Go => &[&["go", "version"]],
            Self::Msmtp => &[&["msmtp", "--version"]],
            Self::Node => &[&["node", "--version"], &["npm", "--version"]],
            Self::OpenSsl => &[&["openssl", "version"]],
            Self::Pebble => &[&["pebble", "-h"]],
            Self::PgBouncer => &[&["sh", "-c", pgbouncer::VERSION]],
            Self::Php => &[&["php", "-r", "exit(extension_loaded('curl') ? 0 : 1);"]],
            Self::Ruby => &[&["ruby", "-e", "require 'json'; require 'net/http'"]],
            Self::Postfix => &[
                &["/usr/sbin/postconf", "-d", "mail_version"],
                &[
                    "sh",
                    "-c",
                    "ls /usr/lib/*/sasl2/libplain.so* && test -e /etc/ssl/certs/ca-certificates.crt",
                ],
                &["sh", "-c", "test \"$(id -u)\" = 0"],
            ],
            Self::Postgres => &[],
            Self::Promtool => &[&["promtool", "--version"]],
            Self::Python => &[&["python3", "-c", "import email, smtplib, ssl"]],
            Self::PythonVenv => &[&["python3", "-c", "import ensurepip, venv"]],
            Self::SmallDisk => &[&[
                "sh",
                "-c",
                "d=$(mktemp -d) && mount -t tmpfs waxwing-test \"$d\" && umount \"$d\" && rmdir \"$d\"",
            ]],
            Self::Swaks => &[&["swaks", "--version"], &["perl", "-MNet::SSLeay", "-e", "1"]],
        }
    }

    fn reason(self) -> &'static str {
        match self {
            Self::Buildah => "buildah or curl is not installed, or the tests do not run as root",
            Self::Chromium => "chromium is not installed",
            Self::Curl => "curl is not installed",
            Self::Debian => "dpkg-deb or systemd-analyze is not installed",
            Self::Go => "go is not installed",
            Self::Msmtp => "msmtp is not installed",
            Self::Node => "Node.js with npm is not installed",
            Self::OpenSsl => "openssl is not installed",
            Self::Pebble => "pebble is not installed",
            Self::PgBouncer => "pgbouncer is not installed",
            Self::Php => "php with its extension curl is not installed",
            Self::Ruby => "ruby is not installed",
            Self::Postfix => "Postfix with SASL is not installed, or the tests do not run as root",
            Self::Postgres => "the binaries of a PostgreSQL server are not installed",
            Self::Promtool => "promtool is not installed",
            Self::Python => "python3 is not installed",
            Self::PythonVenv => "python3 cannot make virtual environments",
            Self::SmallDisk => "the tests may not mount a tmpfs; run them as root",
            Self::Swaks => "swaks with Perl's Net::SSLeay is not installed",
        }
    }

    /// The Debian packages that bring it.
    fn packages(self) -> &'static [&'static str] {
        match self {
            Self::Buildah => &["buildah", "curl"],
            Self::Chromium => &["chromium"],
            Self::Curl => &["curl"],
            Self::Debian => &["systemd"],
            Self::Go => &["golang-go"],
            Self::Msmtp => &["msmtp"],
            Self::Node => &["nodejs", "npm"],
            Self::OpenSsl => &["openssl"],
            Self::Pebble => &["pebble"],
            Self::PgBouncer => &["pgbouncer"],
            Self::Php => &["php-cli", "php-curl"],
            Self::Ruby => &["ruby"],
            Self::Postfix => &["postfix", "libsasl2-modules", "ca-certificates"],
            Self::Postgres => &["postgresql"],
            Self::Promtool => &["prometheus"],
            Self::Python => &["python3"],
            Self::PythonVenv => &["python3", "python3-venv"],
            Self::SmallDisk => &[],
            Self::Swaks => &["swaks", "libnet-ssleay-perl"],
        }
    }
}

/// Notes that a registry of packages could not be reached, or refused.
///
/// # Panics
/// `CI` is set.
pub fn registry_failed(unproven: &str, reason: &str) {
    not_run::note(&Unmet {
        unproven: unproven.to_owned(),
        reason: reason.to_owned(),
        packages: Vec::new(),
    });
}

/// Whether a command can be started and ends well.
fn works(words: &[&str]) -> bool {
    let mut command = Command::new(words.first().copied().unwrap_or_default());
    command.args(words.iter().skip(1));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|it| it.success())
}

/// The folder below the target directory that holds what the tests install.
fn tools() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own file");
    let target = test.ancestors().find(|it| it.join("CACHEDIR.TAG").is_file());
    target.expect("tests run from cargo's target directory").join("test-tools")
}

/// Makes `folder` hold what `contents` names, once; other processes that want the same wait.
fn install_once(
    folder: &Path,
    contents: &str,
    install: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    std::fs::create_dir_all(folder).expect("a folder below the target directory");
    let lock = std::fs::File::create(folder.join("lock")).expect("a file");
    lock.lock().expect("the folder is free after a while");
    let done = folder.join("done");
    if std::fs::read_to_string(&done).is_ok_and(|of| of == contents) {
        return Ok(());
    }
    install()?;
    std::fs::write(done, contents).expect("a file is written");
    Ok(())
}

/// Runs an installer; answers all that it has said where it fails.
fn run(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{name} does not start: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    Err(format!("{name} fails: {}", String::from_utf8_lossy(&said).trim()))
}

/// Past the test runner, which swallows what a test prints that passes.
fn say(text: &str) {
    let said = std::io::stderr().write_all(text.as_bytes());
    said.expect("standard error takes it");
}
