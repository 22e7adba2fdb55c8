//! What the pages need.

use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::Arc;

use crate::api::Api;
use crate::people::People;

/// What the pages need.
#[derive(Debug, Clone)]
pub struct Dashboard(Arc<DashboardParts>);

#[derive(Debug)]
pub struct DashboardParts {
    pub api: Api,
    pub people: Arc<People>,
    /// Where programs hand mail in over SMTP, for the settings that a new key is shown with.
    pub smtp: SmtpSettings,
}

/// Where programs hand mail in over SMTP.
#[derive(Debug, Clone, Default)]
pub struct SmtpSettings {
    /// The name in the certificate; none where the server has none of its own.
    pub host: Option<String>,
    pub starttls: Option<SocketAddr>,
    pub tls: Option<SocketAddr>,
}

impl From<DashboardParts> for Dashboard {
    fn from(parts: DashboardParts) -> Self {
        Self(Arc::new(parts))
    }
}

impl Deref for Dashboard {
    type Target = DashboardParts;

    fn deref(&self) -> &DashboardParts {
        &self.0
    }
}
