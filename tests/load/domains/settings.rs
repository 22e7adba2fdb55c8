//! How the server looks domains up.

use std::net::SocketAddr;

use crate::server;

/// How the server looks domains up.
#[derive(Debug, Clone)]
pub struct Settings {
    pub name_server: SocketAddr,
    /// Look-ups at one time.
    pub concurrent: u32,
    pub queries_per_second: u32,
    /// Checks at one time.
    pub checks: u32,
    /// The log filter.
    pub log: String,
}

impl server::Settings for Settings {
    fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("WAXWING_DNS__NAMESERVERS", format!("[\"{}\"]", self.name_server)),
            ("WAXWING_DNS__CONCURRENT", self.concurrent.to_string()),
            ("WAXWING_DNS__QUERIES_PER_SECOND", self.queries_per_second.to_string()),
            ("WAXWING_DOMAINS__CONCURRENT_CHECKS", self.checks.to_string()),
            ("WAXWING_LOG__FILTER", self.log.clone()),
        ]
    }
}
