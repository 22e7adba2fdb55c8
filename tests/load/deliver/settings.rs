//! How the server delivers: everything to one smarthost, which is the sink, but mail to a domain that is held
//! up to another one.

use std::net::SocketAddr;

use serde_json::json;

use crate::server;

/// The domain whose server says nothing.
pub const HELD: &str = "held.example";

/// Everything goes to this sink, at 20 connections at one time, as Postfix does by default.
#[derive(Debug, Clone)]
pub struct Settings {
    pub sink: SocketAddr,
    /// Takes the mail to [`HELD`], if there is any.
    pub held: Option<SocketAddr>,
    /// The log filter.
    pub log: String,
}

impl server::Settings for Settings {
    fn variables(&self) -> Vec<(&'static str, String)> {
        let smarthost = |name: &str, at: SocketAddr| {
            let (host, port) = (at.ip(), at.port());
            format!("{{name = \"{name}\", host = \"{host}\", port = {port}, security = \"none\"}}")
        };
        let mut smarthosts = vec![smarthost("sink", self.sink)];
        let mut rules = "[]".to_owned();
        if let Some(held) = self.held {
            smarthosts.push(smarthost("held", held));
            rules = format!(
                "[{{recipients = [\"{HELD}\"], route = \"smarthost\", smarthosts = [\"held\"]}}, \
                 {{route = \"smarthost\", smarthosts = [\"sink\"]}}]"
            );
        }
        let smarthosts = format!("[{}]", smarthosts.join(", "));
        let nobody = json!([super::NO_NAME_SERVER]).to_string();
        vec![
            ("WAXWING_DELIVERY__ROUTE", "smarthost".to_owned()),
            ("WAXWING_DELIVERY__SMARTHOSTS", smarthosts),
            ("WAXWING_DELIVERY__RULES", rules),
            ("WAXWING_DNS__NAMESERVERS", nobody),
            ("WAXWING_SMTP__HOSTNAME", "waxwing.load.example".to_owned()),
            ("WAXWING_LOG__FILTER", self.log.clone()),
        ]
    }
}
