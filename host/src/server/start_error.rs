//! Why a server does not start.

use super::acme::AcmeSetupError;
use super::backup::BackupSetupError;
use super::data_dir::DataDirError;
use super::delivery::DeliverySetupError;
use super::master_key::MasterKeyError;
use super::membership::MembershipError;
use super::tcp_listener::ListenError;
use super::tls::CertificateError;
use super::{domain_checks, webhooks};
use crate::inbox::InboxError;
use crate::plugin::PluginsError;
use crate::store::StoreError;

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    DataDir(#[from] DataDirError),
    #[error(transparent)]
    Backup(#[from] BackupSetupError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Plugins(#[from] PluginsError),
    #[error(transparent)]
    MasterKey(#[from] MasterKeyError),
    #[error(transparent)]
    Membership(#[from] MembershipError),
    #[error(transparent)]
    Domains(#[from] domain_checks::VerifierError),
    #[error(transparent)]
    Delivery(#[from] DeliverySetupError),
    #[error(transparent)]
    Webhooks(#[from] webhooks::WebhooksError),
    #[error(transparent)]
    Inbox(#[from] InboxError),
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    #[error(transparent)]
    Acme(#[from] AcmeSetupError),
    /// The operating system does not give signals.
    #[error("signals cannot be received: {0}")]
    Signals(std::io::Error),
    #[cfg(feature = "otlp")]
    #[error("traces cannot be sent ([telemetry] otlp_endpoint): {0}")]
    Traces(#[from] opentelemetry_otlp::ExporterBuildError),
    #[error("metrics cannot be collected: {0}")]
    Metrics(#[from] metrics_exporter_prometheus::BuildError),
}
