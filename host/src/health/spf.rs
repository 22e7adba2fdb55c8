//! Whether the SPF records of this server's names cover the addresses that its mail comes from.
//!
//! A walk for the mechanisms that such records have (RFC 7208 section 5). What needs a sender (`exists`, `ptr`, macros)
//! is not followed, and says so.

use std::net::IpAddr;

use futures_util::future::BoxFuture;

use super::finding::Verdict;
use super::names::{addresses_of, exchangers_of, sending_addresses};
use super::words::unseen;
use super::world::World;
use crate::account::ip_network::IpNetwork;
use crate::dns::{RecordType, Resolver, text};

/// Lookups of one record with all that it includes (RFC 7208 section 4.6.4).
const MAX_LOOKUPS: usize = 10;

/// Why it is not known whether a record covers an address, or why it covers none.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum SpfFault {
    #[error("{0}")]
    Unseen(&'static str),
    #[error("it has no SPF record")]
    Missing,
    #[error("it has several SPF records, which count as none")]
    Several,
    #[error("it needs more than {MAX_LOOKUPS} lookups, which receivers do not make")]
    TooMany,
    #[error("`{0}` is no term of SPF")]
    Malformed(String),
    #[error("`{0}` depends on the sender, and is not followed here")]
    NotFollowed(String),
}

/// One walk for one address.
struct Walk<'a> {
    resolver: &'a Resolver,
    address: IpAddr,
    lookups: usize,
}

/// Whose record it is.
struct Role<'a> {
    name: &'a str,
    of: &'static str,
    /// Whether every sender domain depends on it.
    is_vital: bool,
}

/// Checks the records of the name in EHLO, of the host that sender domains include, and of the host of return paths.
pub async fn spf(world: &World) -> Verdict {
    let settings = &world.settings;
    let addresses = match sending_addresses(world).await {
        Ok(addresses) => addresses,
        Err(unknown) => return unknown.verdict(&settings.hostname),
    };
    let roles = [
        Role { name: &settings.spf_include, of: "included by sender domains", is_vital: true },
        Role { name: &settings.return_path_host, of: "the host of return paths", is_vital: true },
        Role { name: &settings.hostname, of: "the name in EHLO", is_vital: false },
    ];
    let (mut failing, mut warning, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    for role in roles {
        for address in &addresses {
            let said = match covers(&world.resolver, role.name, *address).await {
                Ok(true) => continue,
                Ok(false) => format!("{} ({}) does not cover {address}", role.name, role.of),
                Err(fault @ (SpfFault::Unseen(_) | SpfFault::NotFollowed(_))) => {
                    unknown.push(format!("{} ({}): {fault}", role.name, role.of));
                    continue;
                }
                Err(
                    fault @ (SpfFault::Missing
                    | SpfFault::Several
                    | SpfFault::TooMany
                    | SpfFault::Malformed(_)),
                ) => format!("{} ({}): {fault}", role.name, role.of),
            };
            let told = if role.is_vital { &mut failing } else { &mut warning };
            // A record that is missing is missing for each address.
            if !told.contains(&said) {
                told.push(said);
            }
        }
    }
    let todo = format!(
        "Publish the TXT record `v=spf1 a:{} -all` at these names, or one with the addresses: {}.",
        settings.hostname,
        addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    );
    if !failing.is_empty() {
        failing.extend(warning);
        return Verdict::failing(format!("{}.", failing.join("; ")), todo);
    }
    if !warning.is_empty() {
        return Verdict::warning(format!("{}.", warning.join("; ")), todo);
    }
    if !unknown.is_empty() {
        return Verdict::not_checked(format!("Not known: {}.", unknown.join("; ")));
    }
    Verdict::ok("The records of all names cover the addresses that mail comes from.")
}

/// Whether the record of a name lets mail come from an address.
async fn covers(resolver: &Resolver, name: &str, address: IpAddr) -> Result<bool, SpfFault> {
    let mut walk = Walk { resolver, address: address.to_canonical(), lookups: 0 };
    walk.passes(name.to_owned()).await
}

impl Walk<'_> {
    /// Whether the record of a name passes the address.
    fn passes(&mut self, name: String) -> BoxFuture<'_, Result<bool, SpfFault>> {
        Box::pin(async move {
            let record = self.record(&name).await?;
            let mut redirect = None;
            for term in record.split_ascii_whitespace().skip(1) {
                if let Some(target) = modifier(term, "redirect") {
                    redirect = Some((term, target));
                } else if let Some(passes) = self.matches(term, &name).await? {
                    return Ok(passes);
                }
            }
            let Some((term, target)) = redirect else { return Ok(false) };
            let target = plain(term, target)?;
            self.count()?;
            self.passes(target).await
        })
    }

    /// Whether the address passes, where a mechanism decides it.
    async fn matches(&mut self, term: &str, name: &str) -> Result<Option<bool>, SpfFault> {
        let (passes, mechanism) = match term.strip_prefix(['+', '-', '~', '?']) {
            Some(mechanism) => (term.starts_with('+'), mechanism),
            None => (true, term),
        };
        let end = mechanism.find([':', '/', '=']).unwrap_or(mechanism.len());
        let (kind, rest) = mechanism.split_at_checked(end).unwrap_or((mechanism, ""));
        let is_match = match kind.to_ascii_lowercase().as_str() {
            "all" => true,
            "ip4" | "ip6" => {
                let network = rest.strip_prefix(':').and_then(|it| it.parse::<IpNetwork>().ok());
                network.ok_or_else(|| SpfFault::Malformed(term.to_owned()))?.contains(self.address)
            }
            "include" => {
                let target = rest.strip_prefix(':').unwrap_or_default();
                let target = plain(term, target)?;
                self.count()?;
                self.passes(target).await?
            }
            "a" | "mx" => {
                let (target, prefix) = target_of(rest, name, self.address.is_ipv4());
                let target = plain(term, target)?;
                self.count()?;
                let hosts = if kind.eq_ignore_ascii_case("mx") {
                    exchangers_of(self.resolver, &target).await.map_err(SpfFault::Unseen)?
                } else {
                    vec![target]
                };
                self.is_among(&hosts, prefix).await?
            }
            "exists" | "ptr" => return Err(SpfFault::NotFollowed(term.to_owned())),
            // An unknown modifier is ignored (section 6), an unknown mechanism is a fault.
            _ if rest.starts_with('=') => false,
            _ => return Err(SpfFault::Malformed(term.to_owned())),
        };
        Ok(is_match.then_some(passes))
    }

    async fn record(&self, name: &str) -> Result<String, SpfFault> {
        let seen = self.resolver.look_up(name, RecordType::Txt).await;
        if let Some(why) = unseen(&seen.outcome) {
            return Err(SpfFault::Unseen(why));
        }
        let texts = seen.outcome.answers().iter().map(|it| text(&it.data));
        let texts = texts.map(|it| String::from_utf8_lossy(&it).into_owned());
        let is_spf = |it: &String| {
            let version = it.split_ascii_whitespace().next();
            version.is_some_and(|it| it.eq_ignore_ascii_case("v=spf1"))
        };
        let mut records = texts.filter(is_spf);
        match (records.next(), records.next()) {
            (Some(record), None) => Ok(record),
            (Some(_), Some(_)) => Err(SpfFault::Several),
            (None, _) => Err(SpfFault::Missing),
        }
    }

    /// Whether the address is one of these hosts', or in a network of that size around one.
    async fn is_among(&self, hosts: &[String], prefix: Option<&str>) -> Result<bool, SpfFault> {
        for host in hosts.iter().take(MAX_LOOKUPS) {
            let found = addresses_of(self.resolver, host).await.map_err(SpfFault::Unseen)?;
            let around = |it: &IpAddr| match prefix {
                Some(prefix) if it.is_ipv4() == self.address.is_ipv4() => {
                    let network = format!("{it}/{prefix}").parse::<IpNetwork>();
                    network.is_ok_and(|network| network.contains(self.address))
                }
                Some(_) | None => *it == self.address,
            };
            if found.iter().any(around) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn count(&mut self) -> Result<(), SpfFault> {
        self.lookups += 1;
        if self.lookups > MAX_LOOKUPS { Err(SpfFault::TooMany) } else { Ok(()) }
    }
}

/// The value of a modifier.
fn modifier<'a>(term: &'a str, name: &str) -> Option<&'a str> {
    let (found, value) = term.split_once('=')?;
    found.eq_ignore_ascii_case(name).then_some(value)
}

/// A name without macros.
fn plain(term: &str, target: &str) -> Result<String, SpfFault> {
    if target.contains('%') {
        return Err(SpfFault::NotFollowed(term.to_owned()));
    }
    if target.is_empty() {
        return Err(SpfFault::Malformed(term.to_owned()));
    }
    Ok(target.trim_end_matches('.').to_ascii_lowercase())
}

/// The name of `a` or `mx`, and the size of the network around its addresses: `:host/24//64`.
fn target_of<'a>(rest: &'a str, own: &'a str, is_ipv4: bool) -> (&'a str, Option<&'a str>) {
    let (target, sizes) = match rest.split_once('/') {
        Some((target, sizes)) => (target, Some(sizes)),
        None => (rest, None),
    };
    let target = target.strip_prefix(':').unwrap_or(own);
    let size = sizes.and_then(|sizes| match (sizes.split_once('/'), is_ipv4) {
        // `/24//64`, or `//64` alone.
        (Some((v4, _)), true) => Some(v4).filter(|it| !it.is_empty()),
        (Some((_, v6)), false) => Some(v6.trim_start_matches('/')),
        (None, true) => Some(sizes),
        (None, false) => None,
    });
    (target, size)
}

#[cfg(test)]
mod tests {
    use waxwing_dns::{DnsServer, Fault};

    use super::*;
    use crate::health::finding::State;
    use crate::health::tests::{ADDRESS, HOST, resolver, world};

    #[tokio::test]
    async fn records_of_all_forms_cover_an_address_or_do_not() {
        let dns = DnsServer::start().await;
        dns.ip("mail.example", ADDRESS.into());
        dns.mx("mx.example", 10, "mail.example");
        dns.txt("other.example", "v=spf1 ip4:5.9.0.0/16 ~all");
        let resolver = resolver(&dns);
        for (record, covered) in [
            ("v=spf1 ip4:5.9.1.7 -all", true),
            ("v=spf1 ip4:5.9.1.0/24 -all", true),
            ("v=spf1 a:mail.example -all", true),
            ("v=spf1 mx:mx.example -all", true),
            ("v=spf1 include:other.example -all", true),
            ("v=spf1 redirect=other.example", true),
            ("v=spf1 ip6:2001:db8::/32 +all", true),
            ("V=SPF1 A:mail.example/24//64 -ALL", true),
            ("v=spf1 ip4:5.9.2.0/24 -all", false),
            ("v=spf1 -ip4:5.9.1.7 +all", false),
            ("v=spf1 a -all", false),
            ("v=spf1 unknown=1", false),
        ] {
            dns.remove_all("own.example");
            dns.txt("own.example", record);
            let found = covers(&resolver, "own.example", ADDRESS.into()).await;
            assert_eq!(found, Ok(covered), "{record}");
        }
    }

    #[tokio::test]
    async fn what_cannot_be_decided_is_neither_covered_nor_not() {
        let dns = DnsServer::start().await;
        let resolver = resolver(&dns);
        let ask = async || covers(&resolver, "own.example", ADDRESS.into()).await;
        assert_eq!(ask().await, Err(SpfFault::Missing));
        dns.txt("own.example", "v=spf1 exists:%{i}.example -all");
        assert!(matches!(ask().await, Err(SpfFault::NotFollowed(_))));
        dns.txt("own.example", "v=spf1 -all");
        assert_eq!(ask().await, Err(SpfFault::Several));
        dns.remove_all("own.example");
        dns.txt("own.example", "v=spf1 include:own.example");
        assert_eq!(ask().await, Err(SpfFault::TooMany), "a loop ends");
        dns.fault("own.example", Fault::Refused);
        assert!(matches!(ask().await, Err(SpfFault::Unseen(_))));
    }

    #[tokio::test]
    async fn a_record_that_sender_domains_depend_on_weighs_more_than_that_of_ehlo() {
        let dns = DnsServer::start().await;
        let world = world(&dns);
        dns.ip(HOST, ADDRESS.into());
        let none = spf(&world).await;
        assert_eq!(none.state, State::Failing, "{none:?}");
        assert!(none.todo.is_some_and(|it| it.contains(&format!("v=spf1 a:{HOST} -all"))));
        for name in ["spf", "bounce"] {
            dns.txt(&format!("{name}.{HOST}"), &format!("v=spf1 a:{HOST} -all"));
        }
        assert_eq!(spf(&world).await.state, State::Warning, "that of EHLO is missing");
        dns.txt(HOST, "v=spf1 a -all");
        assert_eq!(spf(&world).await.state, State::Ok);
    }
}
