//! The dashboard and the people who use it.

use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::{Value, json};

use super::data_dir::{DataDir, DataDirError};
use super::limits::LiveLimits;
use super::tls::Certificates;
use crate::api::Api;
use crate::clock::Clock;
use crate::config::Config;
use crate::dashboard::setting::{CertificateEnd, Setting, Settings};
use crate::dashboard::{Dashboard, DashboardParts, Mailer, SmtpSettings};
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
        seal: Seal::new(&data.master_key()?, Purpose::Factors),
        rate_limits: Arc::clone(&limits.rate_limits),
    }))
}

/// The pages, beside the API.
pub fn dashboard(
    config: &Config,
    api: &Api,
    people: &Arc<People>,
    (starttls, tls): (&[SocketAddr], &[SocketAddr]),
    (settings, certificates): (&Settings, Option<Arc<Certificates>>),
) -> Dashboard {
    Dashboard::from(DashboardParts {
        api: api.clone(),
        people: Arc::clone(people),
        smtp: SmtpSettings {
            host: config.smtp.hostname.as_ref().map(|it| it.as_str().to_owned()),
            starttls: starttls.first().copied(),
            tls: tls.first().copied(),
        },
        mailer: mailer(config),
        settings: settings.clone(),
        certificate: certificates.map(|it| CertificateEnd::new(move || it.expires_at())),
        data_dir: config.store.data_dir.clone(),
    })
}

fn mailer(config: &Config) -> Option<Mailer> {
    let (key, url) = (config.people.mail_key.as_ref()?, config.people.url.as_ref()?);
    Some(Mailer { key: key.0.clone(), url: url.trim_end_matches('/').to_owned() })
}

/// The settings of a configuration, each with where it comes from.
pub fn settings(config: &Config) -> Vec<Setting> {
    let (values, defaults) = (json!(config), json!(Config::default()));
    let mut settings = Vec::new();
    for (section, keys) in values.as_object().into_iter().flatten() {
        for (key, value) in keys.as_object().into_iter().flatten() {
            let variable = format!("WAXWING_{section}__{key}").to_uppercase();
            let is_default = defaults[section][key] == *value;
            let source = match std::env::var_os(&variable) {
                Some(_) => variable,
                None if is_default => "default".to_owned(),
                None => "configuration".to_owned(),
            };
            let value = match value {
                Value::String(text) => text.clone(),
                Value::Null => String::new(),
                other
                @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                    other.to_string()
                }
            };
            let (section, key) = (section.clone(), key.clone());
            settings.push(Setting { section, key, value, source, is_default });
        }
    }
    settings
}
