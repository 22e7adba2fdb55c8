//! What `dev` says when everything listens: one line for scripts, or something to paste.

use std::fmt::Display;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::seed::Seed;
use crate::account::brand::BrandField;

const RECIPIENT: &str = "ada@example.com";

/// Where everything is.
#[derive(Debug)]
pub struct Welcome {
    /// The URL of the HTTP listener.
    pub base: String,
    /// Where the relay listens with STARTTLS, if it does.
    pub starttls: Option<SocketAddr>,
    /// Where it listens with TLS, if it does.
    pub tls: Option<SocketAddr>,
    /// Where the inbox's SMTP server listens, if it does.
    pub inbox_smtp: Option<SocketAddr>,
    /// Where the listener for reports listens, if it does.
    pub reports: Option<SocketAddr>,
    /// What a client of the relay must trust, where its certificate is self-signed.
    pub ca_file: Option<PathBuf>,
    /// What the first start made.
    pub seed: Seed,
    pub data_dir: PathBuf,
    /// The operator's plugins.
    pub plugins_dir: PathBuf,
}

impl Welcome {
    /// The one line of `--json`. What this version does not have yet, or does not run, is null.
    pub fn line(&self) -> Value {
        json!({
            "http": self.base,
            "smtpStarttls": self.starttls.map(|it| it.to_string()),
            "smtpTls": self.tls.map(|it| it.to_string()),
            "apiKey": self.seed.api_key,
            "from": self.seed.from,
            "caFile": self.ca_file,
            "dashboard": {
                "url": format!("{}/app", self.base),
                "email": self.seed.person.email,
                "password": self.seed.person.password,
                "loginUrl": self.login_url(),
            },
            "template": self.seed.template,
            "exampleData": self.seed.example,
            "pluginsDir": self.plugins_dir,
            "inbox": format!("{}/inbox", self.base),
            "inboxSmtp": self.inbox_smtp.map(|it| it.to_string()),
            "bounces": self.reports.map(|it| it.to_string()),
            "accountId": self.seed.account,
        })
    }

    /// The same for people, with commands to paste.
    pub fn text(&self) -> String {
        let (base, key) = (&self.base, &self.seed.api_key);
        let body = json!({
            "to": RECIPIENT,
            "type": "EMAIL",
            "template": self.seed.template,
            "data": self.own_data(),
        });
        let body = quoted(&body);
        let over_smtp = self.over_smtp().unwrap_or_default();
        format!(
            "Waxwing is listening on {base}

Paste this into another terminal:

curl -sS {base}/messages/send \\
  -H 'x-api-key: {key}' \\
  -H 'content-type: application/json' \\
  -d {body}
{over_smtp}
Then look at {base}/inbox

Dashboard: {}
           (works once; later with {} and the password in {})

Data: {}   API: {base}/openapi.json   Stop: Ctrl-C
",
            self.login_url(),
            self.seed.person.email,
            self.data_dir.join("dev.password").display(),
            self.data_dir.display(),
        )
    }

    /// Logs in once.
    fn login_url(&self) -> String {
        format!("{}/login/{}", self.base, self.seed.person.link.reveal())
    }

    /// The example without what the account's brand has anyway.
    fn own_data(&self) -> Map<String, Value> {
        let own =
            self.seed.example.iter().filter(|(name, _)| BrandField::of_variable(name).is_none());
        own.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// The same mail over SMTP, on the port that runs.
    fn over_smtp(&self) -> Option<String> {
        let url = match (self.starttls, self.tls) {
            (Some(address), _) => format!("--ssl-reqd smtp://{address}"),
            (None, Some(address)) => format!("smtps://{address}"),
            (None, None) => return None,
        };
        let authority = self.ca_file.as_ref();
        let trust = authority.map(|it| format!(" --cacert {}", quoted(&it.display())));
        let (trust, key, from) = (trust.unwrap_or_default(), &self.seed.api_key, &self.seed.from);
        Some(format!(
            "
or, over SMTP:

printf 'From: {from}\\r\\nTo: {RECIPIENT}\\r\\nSubject: Hello\\r\\n\\r\\nHello from SMTP\\r\\n' |
  curl -sS {url}{trust} \\
  --user {key}:{key} --mail-from {from} --mail-rcpt {RECIPIENT} -T -
",
        ))
    }
}

/// In single quotes, for a shell: one inside ends them, stands for itself, and begins them again.
fn quoted(text: &impl Display) -> String {
    format!("'{}'", text.to_string().replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::super::seed::SeedPerson;
    use super::*;
    use crate::clock::Timestamp;
    use crate::id::AccountId;
    use crate::people::Secret;

    fn welcome(starttls: Option<&str>, tls: Option<&str>) -> Welcome {
        let address = |text: &str| text.parse().expect("an address");
        Welcome {
            base: "http://127.0.0.1:8080".to_owned(),
            starttls: starttls.map(address),
            tls: tls.map(address),
            inbox_smtp: None,
            reports: None,
            ca_file: Some(PathBuf::from("/srv/tern's/tls/ca.pem")),
            seed: Seed {
                account: AccountId::new(Timestamp::from_millis(0)),
                api_key: "wx_live_k".to_owned(),
                from: "hello@sandbox.test".to_owned(),
                template: "hello".to_owned(),
                example: Map::new(),
                person: SeedPerson {
                    email: "dev@sandbox.test".to_owned(),
                    password: None,
                    link: Secret::random(),
                },
            },
            data_dir: PathBuf::from("/srv/tern's"),
            plugins_dir: PathBuf::from("/srv/tern's/plugins"),
        }
    }

    #[test]
    fn the_line_to_paste_uses_the_port_that_runs() {
        let both = welcome(Some("127.0.0.1:2587"), Some("127.0.0.1:2465")).text();
        assert!(both.contains("curl -sS --ssl-reqd smtp://127.0.0.1:2587 --cacert"), "{both}");
        assert!(both.contains(r"'/srv/tern'\''s/tls/ca.pem'"), "{both}");
        let tls = welcome(None, Some("127.0.0.1:2465")).text();
        assert!(tls.contains("curl -sS smtps://127.0.0.1:2465 --cacert"), "{tls}");
        let none = welcome(None, None).text();
        assert!(!none.contains("smtp"), "{none}");
    }

    #[test]
    fn a_port_that_does_not_run_is_null_for_scripts() {
        let line = welcome(Some("127.0.0.1:2587"), None).line();
        assert_eq!(line["smtpStarttls"], "127.0.0.1:2587");
        assert_eq!(line["smtpTls"], Value::Null);
        assert_eq!(line["caFile"], "/srv/tern's/tls/ca.pem");
    }
}
