//! Why a server does not start.

use super::accept::ListenError;
use super::data_dir::DataDirError;
use super::delivery::DeliverySetupError;
use super::tls::CertificateError;
use super::{domains, webhooks};
use crate::inbox::InboxError;
use crate::plugin::PluginsError;
use crate::store::StoreError;

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The data directory.
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Plugins(#[from] PluginsError),
    /// The master key.
    #[error(transparent)]
    MasterKey(#[from] domains::MasterKeyError),
    /// The name servers.
    #[error(transparent)]
    Domains(#[from] domains::VerifierError),
    #[error(transparent)]
    Delivery(#[from] DeliverySetupError),
    /// What posts to webhooks.
    #[error(transparent)]
    Webhooks(#[from] webhooks::WebhooksError),
    /// The sandbox inbox.
    #[error(transparent)]
    Inbox(#[from] InboxError),
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The certificate of the relay.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The operating system does not give signals.
    #[error("signals cannot be received: {0}")]
    Signals(std::io::Error),
    #[error("metrics cannot be collected: {0}")]
    Metrics(#[from] metrics_exporter_prometheus::BuildError),
}
