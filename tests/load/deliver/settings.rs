//! How the server delivers: everything to one smarthost, which is the sink.

use std::net::SocketAddr;

use serde_json::json;

use crate::server;

/// Everything goes to this sink, at 20 connections at one time, as Postfix does by default.
#[derive(Debug, Clone)]
pub struct Settings {
    pub sink: SocketAddr,
    /// The log filter.
    pub log: String,
}

impl server::Settings for Settings {
    fn variables(&self) -> Vec<(&'static str, String)> {
        let sink = format!(
            "[{{name = \"sink\", host = \"{}\", port = {}, security = \"none\"}}]",
            self.sink.ip(),
            self.sink.port()
        );
        let nobody = json!([super::NO_NAME_SERVER]).to_string();
        vec![
            ("WAXWING_DELIVERY__ROUTE", "smarthost".to_owned()),
            ("WAXWING_DELIVERY__SMARTHOSTS", sink),
            ("WAXWING_DNS__NAMESERVERS", nobody),
            ("WAXWING_SMTP__HOSTNAME", "waxwing.load.example".to_owned()),
            ("WAXWING_LOG__FILTER", self.log.clone()),
        ]
    }
}
