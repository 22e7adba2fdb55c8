//! All listeners of a configuration, and that no two want the same address.

use std::net::SocketAddr;

use super::http::MetricsListen;
use super::sections::Config;
use super::violations::Violations;

/// A listener, and the key that says where it listens.
#[derive(Debug)]
pub struct Listener {
    pub key: &'static str,
    /// The key; of several addresses, with the place of this one.
    name: String,
    pub address: SocketAddr,
}

/// Finds listeners of which only one could start.
pub(super) fn check(config: &Config, violations: &mut Violations<'_>) {
    let mut groups: Vec<Vec<Listener>> = Vec::new();
    let unreadable = violations.unreadable;
    // The places in a list that has lost an element are not those of the file.
    for listener in listeners(config).into_iter().filter(|it| !unreadable.touches(it.key)) {
        let conflicts =
            |group: &[Listener]| group.iter().any(|other| overlap(listener.address, other.address));
        let (mut joined, others): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|group| conflicts(group));
        joined.push(vec![listener]);
        groups = others;
        groups.push(joined.into_iter().flatten().collect());
    }
    for group in groups {
        let named: Vec<String> =
            group.iter().map(|it| format!("{} = {}", it.name, it.address)).collect();
        match named.split_last() {
            None | Some((_, [])) => {}
            Some((last, [first])) => violations.broken.push(format!(
                "{first} and {last} cannot both listen: give one of them another port"
            )),
            Some((last, others)) => violations.broken.push(format!(
                "{} and {last} cannot all listen: give each a port of its own",
                others.join(", ")
            )),
        }
    }
}

/// All that a configuration asks for.
#[must_use]
pub fn listeners(config: &Config) -> Vec<Listener> {
    let metrics = match config.http.metrics_listen {
        MetricsListen::At(address) => Some(address),
        MetricsListen::Off | MetricsListen::Public => None,
    };
    let inbox = config.inbox.enabled.then_some(config.inbox.smtp_listen);
    let one = |key: &'static str, address| Listener { key, name: key.to_owned(), address };
    let mut listeners = vec![one("http.listen", config.http.listen)];
    listeners.extend(config.http.tls_listen.address().map(|it| one("http.tls_listen", it)));
    listeners.extend(metrics.map(|it| one("http.metrics_listen", it)));
    listeners.extend(several("smtp.listen_starttls", config.smtp.starttls_addresses()));
    listeners.extend(several("smtp.listen_tls", config.smtp.tls_addresses()));
    listeners.extend(config.acme.http_address().map(|it| one("acme.http_listen", it)));
    listeners.extend(config.bounces.address().map(|it| one("bounces.listen", it)));
    listeners.extend(inbox.map(|it| one("inbox.smtp_listen", it)));
    listeners
}

fn several<'a>(
    key: &'static str,
    addresses: &'a [SocketAddr],
) -> impl Iterator<Item = Listener> + use<'a> {
    let is_list = addresses.len() > 1;
    addresses.iter().enumerate().map(move |(index, address)| {
        let name = if is_list { format!("{key}[{index}]") } else { key.to_owned() };
        Listener { key, name, address: *address }
    })
}

/// Port 0 is a free one each time. `0.0.0.0` is every address of IPv4; `::` is every address of both families,
/// as Linux binds it by default.
fn overlap(one: SocketAddr, other: SocketAddr) -> bool {
    let same_family = one.is_ipv4() == other.is_ipv4();
    let covers = |one: SocketAddr| one.ip().is_unspecified() && (same_family || one.is_ipv6());
    one.port() != 0
        && one.port() == other.port()
        && (one.ip() == other.ip() || covers(one) || covers(other))
}
