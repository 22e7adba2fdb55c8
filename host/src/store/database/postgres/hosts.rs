//! The hosts of `store.url`. The driver knows one host in a URL: a list of them is taken apart here.

use std::str::FromStr;

use sqlx::ConnectOptions;
use sqlx::postgres::{PgConnectOptions, PgSslMode};

use crate::store::error::ServerError;

/// Statements that stay prepared on a connection.
const PREPARED: usize = 256;

/// How to connect to each host of a URL, as in `postgres://user@host1:5432,host2:5432/waxwing`: all that is not about the
/// host is the same for all of them.
pub fn hosts(url: &str) -> Result<Vec<PgConnectOptions>, ServerError> {
    let (scheme, rest) = url.split_once("://").ok_or(ServerError::Url)?;
    let (authority, rest) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let (user, names) = match authority.rsplit_once('@') {
        Some((user, names)) => (format!("{user}@"), names),
        None => (String::new(), authority),
    };
    let names: Vec<&str> = names.split(',').collect();
    if names.len() > 1 && names.iter().any(|it| it.is_empty()) {
        return Err(ServerError::Url);
    }
    names.into_iter().map(|name| host(&format!("{scheme}://{user}{name}{rest}"))).collect()
}

fn host(url: &str) -> Result<PgConnectOptions, ServerError> {
    let options = PgConnectOptions::from_str(url).map_err(|_| ServerError::Url)?;
    // Statements are logged nowhere: they hold addresses.
    Ok(options
        .application_name("waxwing")
        .statement_cache_capacity(PREPARED)
        .disable_statement_logging())
}

/// A server and a database in words, without a password.
pub fn named(options: &PgConnectOptions) -> String {
    let database = options.get_database().unwrap_or_else(|| options.get_username());
    let host = match options.get_socket() {
        Some(socket) => socket.display().to_string(),
        None => options.get_host().to_owned(),
    };
    let is_open = matches!(options.get_ssl_mode(), PgSslMode::Disable);
    let tls = if is_open { " without TLS" } else { "" };
    format!("{host}:{}, database {database}{tls}", options.get_port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_of_a_url_has_its_own_port_and_all_have_the_same_rest() {
        let url = "postgres://waxwing:p%40ss@db1.example.com:5433,db2.example.com,[::1]:5434/mail?sslmode=disable";
        let hosts = hosts(url).expect("a URL");
        let named: Vec<String> = hosts.iter().map(named).collect();
        let rest = "database mail without TLS";
        assert_eq!(
            named,
            [
                format!("db1.example.com:5433, {rest}"),
                format!("db2.example.com:5432, {rest}"),
                format!("[::1]:5434, {rest}"),
            ]
        );
        assert!(hosts.iter().all(|it| it.get_username() == "waxwing"));
    }

    #[test]
    fn a_list_of_hosts_may_be_folders_of_sockets() {
        let hosts = hosts("postgres://waxwing@%2Frun%2Fone,%2Frun%2Ftwo/mail").expect("a URL");
        let sockets: Vec<_> = hosts.iter().filter_map(PgConnectOptions::get_socket).collect();
        assert_eq!(sockets, [std::path::Path::new("/run/one"), std::path::Path::new("/run/two")]);
    }

    #[test]
    fn a_list_with_nothing_between_two_commas_is_refused() {
        for url in ["postgres://a,,b/mail", "postgres://a,/mail", "mail", "postgres://a b/"] {
            assert!(hosts(url).is_err(), "{url}");
        }
    }
}
