//! Certificates of a certificate authority (CA), by ACME (RFC 8555): ordered, proven, kept, and renewed in time. A CA that
//! is down, or refuses, changes nothing that runs; the log, a metric and the page of the server's health say so.

mod challenges;
mod client;
mod dns_hook;
mod error;
mod https;
mod renewal;
mod renewer;
mod tls_alpn;
mod trouble;

use std::path::PathBuf;

use reqwest::Client;
use rustix::fs::Access;

use crate::config::Acme;
use crate::trust::{self, TrustError};

pub use challenges::{Challenges, router};
pub use renewer::Renewer;
pub use tls_alpn::server_config;
pub use trouble::Trouble;

/// Why certificates cannot be ordered with these settings.
#[derive(Debug, thiserror::Error)]
pub enum AcmeSetupError {
    #[error("acme.ca_file: {0}")]
    Trust(#[from] TrustError),
    #[error("the client for the CA cannot be set up: {0}")]
    Client(#[from] reqwest::Error),
    #[error("acme.dns_hook: {path} cannot be run by this user: {source}")]
    Hook { path: PathBuf, source: std::io::Error },
    #[error("signals cannot be received: {0}")]
    Signals(std::io::Error),
    #[error(transparent)]
    DataDir(#[from] super::data_dir::DataDirError),
}

/// What is wrong with the files that the settings name; nobody is asked.
#[must_use]
pub fn check(acme: &Acme) -> Vec<AcmeSetupError> {
    if !acme.enabled {
        return Vec::new();
    }
    let hook = acme.dns_hook.iter().filter_map(|path| {
        let access = rustix::fs::access(path, Access::EXEC_OK);
        let source = access.err()?.into();
        Some(AcmeSetupError::Hook { path: path.clone(), source })
    });
    hook.chain(https_client(acme).err()).collect()
}

/// What speaks HTTPS to the CA.
fn https_client(acme: &Acme) -> Result<Client, AcmeSetupError> {
    let tls = trust::https(acme.ca_file.as_deref())?;
    Ok(https::client(tls)?)
}
