//! A mail server under load: where it is, how to log in, what it has stored.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rustls::client::Resumption as Sessions;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_rustls::TlsConnector;

use crate::args::{Pipelining, Resumption};
use crate::metrics;
use crate::smtp::letter::Letter;

/// A server, and how its clients behave.
pub struct Target {
    pub address: SocketAddr,
    /// An `AUTH PLAIN` line.
    pub login: String,
    pub tls: TlsConnector,
    pub pipelining: Pipelining,
    /// A message that it takes and keeps.
    pub letter: Letter,
    /// Its processes, without their children.
    pub pids: Vec<u32>,
    pub spool: Spool,
}

/// Where a server keeps what it took.
#[derive(Debug, Clone)]
pub enum Spool {
    /// In its database; this is where it answers `/metrics`.
    Database(SocketAddr),
    /// A file each.
    Directory(PathBuf),
}

/// A name and a password.
#[derive(Debug, Clone)]
pub struct Login {
    pub user: String,
    pub password: String,
}

impl Spool {
    /// How many messages wait there.
    pub async fn count(&self) -> io::Result<u64> {
        match self {
            Self::Database(http) => metrics::read(*http).await.map(|counters| counters.waiting),
            Self::Directory(directory) => {
                let mut count = 0;
                for entry in std::fs::read_dir(directory)? {
                    let entry = entry?;
                    // A name with a dot in front is one that is being written.
                    let whole = !entry.file_name().as_encoded_bytes().starts_with(b".");
                    count += u64::from(whole && entry.file_type()?.is_file());
                }
                Ok(count)
            }
        }
    }
}

impl Login {
    /// RFC 4616, with the initial response of RFC 4954.
    pub fn line(&self) -> String {
        let Self { user, password } = self;
        format!("AUTH PLAIN {}\r\n", BASE64_STANDARD.encode(format!("\0{user}\0{password}")))
    }
}

/// TLS that trusts what this file holds.
pub fn tls(authority: &Path, resumption: Resumption) -> io::Result<TlsConnector> {
    let mut roots = RootCertStore::empty();
    let certificate = CertificateDer::from_pem_file(authority).map_err(io::Error::other)?;
    roots.add(certificate).map_err(io::Error::other)?;
    let mut provider = aws_lc_rs::default_provider();
    // What every peer has, so that a handshake means the same work to each.
    provider.kx_groups = vec![aws_lc_rs::kx_group::X25519];
    let mut config = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.resumption = match resumption {
        Resumption::Off => Sessions::disabled(),
        Resumption::On => Sessions::default(),
    };
    Ok(TlsConnector::from(Arc::new(config)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_one_line() {
        let login = Login { user: "tim".to_owned(), password: "tanstaaftanstaaf".to_owned() };
        assert_eq!(login.line(), "AUTH PLAIN AHRpbQB0YW5zdGFhZnRhbnN0YWFm\r\n");
    }

    #[tokio::test]
    async fn a_file_that_is_being_written_does_not_count() {
        let directory = tempfile::tempdir().expect("a directory");
        for name in ["a", "b", ".c"] {
            std::fs::write(directory.path().join(name), "x").expect("written");
        }
        let spool = Spool::Directory(directory.path().to_owned());
        assert_eq!(spool.count().await.expect("counted"), 2);
    }
}
