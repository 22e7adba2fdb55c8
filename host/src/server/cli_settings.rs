//! Saves the settings of a running server for the command line, so that both judge sender domains and post to webhooks
//! alike, and links begin with the same name.

use std::path::PathBuf;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::domain_checks::check_settings;
use crate::config::{Config, Dns, Domains};
use crate::store::{Store, StoreError};

const OF_DOMAINS: &str = "settings of sender domains";
const OF_WEBHOOKS: &str = "settings of webhooks";
const OF_PEOPLE: &str = "settings of people";

/// What the checks of sender domains depend on.
#[derive(Debug, Deserialize)]
struct OfDomains {
    dns: Dns,
    domains: Domains,
    plugins: OfPlugins,
}

/// Where the domain policy is, and how many of its recorded calls are kept.
#[derive(Debug, Deserialize)]
struct OfPlugins {
    dir: Option<PathBuf>,
    samples_kept: u32,
}

/// With what links to the dashboard begin.
#[derive(Debug, Deserialize)]
struct OfPeople {
    url: Option<String>,
}

/// Saves what the command line needs.
pub async fn save_for_cli(config: &Config, store: &Store) -> Result<(), StoreError> {
    let rules = check_settings(config);
    let host = |name: &str| name.parse().ok();
    let domains = Domains {
        spf_include: host(&rules.spf_include),
        return_path_host: host(&rules.return_path_host),
        ..config.domains.clone()
    };
    let dir = config.plugins.dir.as_ref().and_then(|dir| std::path::absolute(dir).ok());
    let plugins = json!({"dir": dir, "samples_kept": config.plugins.samples_kept});
    let of_domains = json!({"dns": config.dns, "domains": domains, "plugins": plugins});
    save(store, OF_DOMAINS, &of_domains).await?;
    save(store, OF_WEBHOOKS, &json!(config.webhooks)).await?;
    save(store, OF_PEOPLE, &json!({"url": config.people.url})).await
}

async fn save(store: &Store, name: &str, settings: &Value) -> Result<(), StoreError> {
    let settings = settings.to_string();
    // A full disk is no reason not to start.
    if store.noted(name).await?.as_ref() == Some(&settings) {
        return Ok(());
    }
    store.note(name, &settings).await
}

/// Replaces the command line's own settings with those that a server has saved.
pub async fn load_saved(config: &mut Config, store: &Store) -> Result<(), StoreError> {
    if let Some(saved) = saved::<OfDomains>(store, OF_DOMAINS).await? {
        (config.dns, config.domains) = (saved.dns, saved.domains);
        config.plugins.dir = saved.plugins.dir;
        config.plugins.samples_kept = saved.plugins.samples_kept;
    }
    if let Some(webhooks) = saved(store, OF_WEBHOOKS).await? {
        config.webhooks = webhooks;
    }
    if let Some(OfPeople { url: Some(url) }) = saved(store, OF_PEOPLE).await? {
        config.people.url = Some(url);
    }
    Ok(())
}

/// None also where another version has saved what this one does not read.
async fn saved<T: DeserializeOwned>(store: &Store, name: &str) -> Result<Option<T>, StoreError> {
    Ok(store.noted(name).await?.and_then(|it| serde_json::from_str(&it).ok()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::data_dir::DataDir;

    async fn data() -> (tempfile::TempDir, DataDir, Store) {
        let directory = tempfile::tempdir().expect("a directory");
        let data = DataDir::open(directory.path()).expect("opened");
        let store = Store::open(&data.database().expect("made")).await.expect("opens");
        (directory, data, store)
    }

    #[tokio::test]
    async fn the_command_line_checks_domains_as_the_server_does() {
        let (_directory, _data, store) = data().await;
        let mut server = Config::default();
        server.dns.nameservers = vec!["127.0.0.1:5300".to_owned().try_into().expect("valid")];
        server.smtp.hostname = Some("mail.example.net".parse().expect("valid"));
        server.people.url = Some("https://mail.example.net".to_owned());
        save_for_cli(&server, &store).await.expect("saved");
        let mut loaded = Config::default();
        load_saved(&mut loaded, &store).await.expect("loaded");
        assert_eq!(loaded.dns, server.dns);
        assert_eq!(check_settings(&loaded).return_path_host, "bounce.mail.example.net");
        assert_eq!(loaded.people.base(), server.people.base(), "links begin alike");
    }
}
