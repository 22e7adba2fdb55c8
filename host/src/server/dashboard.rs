//! The dashboard and the people who use it.

use std::net::SocketAddr;
use std::sync::Arc;

use super::data_dir::{DataDir, DataDirError};
use super::limits::LiveLimits;
use crate::api::{Api, Mailer};
use crate::clock::Clock;
use crate::config::Config;
use crate::dashboard::state::{Dashboard, DashboardParts, SmtpSettings};
use crate::people::{Passwords, People};
use crate::store::Store;
use crate::store::seal::{Purpose, Seal};

/// Who logs in; guesses of passwords fill the bucket of guesses of keys.
pub fn people(
    data: &DataDir,
    store: &Store,
    clock: &Clock,
    limits: &LiveLimits,
) -> Result<Arc<People>, DataDirError> {
    Ok(Arc::new(People {
        store: store.clone(),
        clock: clock.clone(),
        passwords: Passwords::default(),
        seal: Seal::of(&data.key_ring()?, Purpose::Factors),
        rate_limits: Arc::clone(&limits.rate_limits),
    }))
}

/// The pages, beside the API.
pub fn dashboard(
    config: &Config,
    api: &Api,
    people: &Arc<People>,
    (starttls, tls): (&[SocketAddr], &[SocketAddr]),
) -> Dashboard {
    Dashboard::from(DashboardParts {
        api: api.clone(),
        people: Arc::clone(people),
        smtp: SmtpSettings {
            host: config.smtp.hostname.as_ref().map(|it| it.as_str().to_owned()),
            starttls: starttls.first().copied(),
            tls: tls.first().copied(),
        },
    })
}

/// With what the server sends e-mails of its own.
pub fn mailer(config: &Config) -> Option<Mailer> {
    let (key, url) = (config.people.mail_key.as_ref()?, config.people.base()?);
    Some(Mailer { key: key.0.clone(), url })
}
