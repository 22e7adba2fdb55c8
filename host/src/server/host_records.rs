//! The DNS records that the host itself needs: the one list behind `waxwing init`, its check, and OPERATING.md. What each
//! sender domain publishes is said by the domain policy.

mod lookup;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use super::domain_checks::check_settings;
use super::smtp;
use super::zone_file;
use crate::config::{Config, Route};
use crate::dns::{RecordType, Resolver, not_public};
use crate::health::{addresses_of, pointer};

pub use lookup::{Finding, Standing, observe};

/// A root server of each family: whatever leaves this machine for the Internet takes the same way. Nothing is sent there.
const FAR_V4: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 41, 0, 4));
const FAR_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0x503, 0xba3e, 0, 0, 0, 2, 0x30));

/// A record that the host needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostRecord {
    /// Without its last dot.
    pub name: String,
    pub record_type: RecordType,
    /// As a zone file has it; that of a TXT record without quotation marks.
    pub value: String,
    pub purpose: &'static str,
    proof: Proof,
}

/// What a record that is seen must say to serve the purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Proof {
    /// The value itself.
    Value,
    /// SPF that lets these addresses of the host send.
    SpfOf { host: String, addresses: Vec<IpAddr> },
    /// SPF that lets a smarthost send: only its operator knows from which addresses.
    SpfOfOthers,
}

impl HostRecord {
    /// Whether it belongs to the zone of an address, which whoever gave out the address publishes.
    #[must_use]
    pub fn is_reverse(&self) -> bool {
        self.record_type == RecordType::Ptr
    }

    /// The record as a line of a zone file.
    #[must_use]
    pub fn zone_line(&self) -> String {
        zone_file::line(&self.name, self.record_type.as_str(), &self.value)
    }
}

/// The records of a host that has these public addresses.
#[must_use]
pub fn records(config: &Config, addresses: &[IpAddr]) -> Vec<HostRecord> {
    let host = smtp::hostname(&config.smtp);
    let (host, rules) = (host.as_str(), check_settings(config));
    let senders = Senders::of(config);
    let (spf_value, spf_proof) = senders.spf(host, addresses);
    let spf = |name: &str, purpose| HostRecord {
        name: name.to_owned(),
        record_type: RecordType::Txt,
        value: spf_value.clone(),
        purpose,
        proof: spf_proof.clone(),
    };
    let plain = |name: &str, record_type, value: String, purpose| HostRecord {
        name: name.to_owned(),
        record_type,
        value,
        purpose,
        proof: Proof::Value,
    };
    let mut records = Vec::new();
    for address in addresses {
        let record_type = if address.is_ipv4() { RecordType::A } else { RecordType::Aaaa };
        records.push(plain(host, record_type, address.to_string(), "the address of the server"));
    }
    let [bounce, include] = [rules.return_path_host.as_str(), rules.spf_include.as_str()];
    if senders.this_host {
        // A name has one SPF record.
        if ![bounce, include].contains(&host) {
            let value = "v=spf1 a -all".to_owned();
            records.push(HostRecord { value, ..spf(host, "SPF of the name in EHLO") });
        }
        let purpose = "the name of the address; large mailbox providers refuse mail without it";
        let names = addresses
            .iter()
            .map(|address| plain(&pointer(*address), RecordType::Ptr, format!("{host}."), purpose));
        records.extend(names);
    }
    records.push(plain(bounce, RecordType::Mx, format!("10 {host}."), "bounces come back to it"));
    records.push(spf(bounce, "SPF of the return path"));
    if include != bounce {
        records.push(spf(include, "what the SPF records of sender domains include"));
    }
    records
}

/// Which servers bring mail to the mail exchangers of recipients.
#[derive(Debug)]
struct Senders {
    this_host: bool,
    smarthosts: Vec<String>,
}

impl Senders {
    fn of(config: &Config) -> Self {
        let delivery = &config.delivery;
        let rules = delivery.rules.iter().map(|it| it.route);
        let routes: Vec<Route> = rules.chain([delivery.route]).collect();
        let has_smarthosts = routes.contains(&Route::Smarthost);
        let smarthosts = delivery.smarthosts.iter().filter(|_| has_smarthosts);
        Self {
            // A host that sends nothing yet will.
            this_host: routes.contains(&Route::Direct) || !has_smarthosts,
            smarthosts: smarthosts.map(|it| it.host.clone()).collect(),
        }
    }

    fn spf(&self, host: &str, addresses: &[IpAddr]) -> (String, Proof) {
        let own = self.this_host.then(|| format!("a:{host}"));
        let others = self.smarthosts.iter().map(|it| match it.parse::<IpAddr>() {
            Ok(address) if address.is_ipv4() => format!("ip4:{address}"),
            Ok(address) => format!("ip6:{address}"),
            Err(_) => format!("a:{it}"),
        });
        let terms: Vec<String> = own.into_iter().chain(others).collect();
        let proof = if self.smarthosts.is_empty() {
            Proof::SpfOf { host: host.to_owned(), addresses: addresses.to_vec() }
        } else {
            Proof::SpfOfOthers
        };
        (format!("v=spf1 {} -all", terms.join(" ")), proof)
    }
}

/// The public addresses from which this machine sends, one of each family; none behind address translation.
#[must_use]
pub fn own_addresses(config: &Config) -> Vec<IpAddr> {
    if !config.delivery.local_addresses.is_empty() {
        return config.delivery.local_addresses.clone();
    }
    let source = |far: IpAddr| {
        let any = match far {
            IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let socket = UdpSocket::bind(SocketAddr::new(any, 0)).ok()?;
        socket.connect(SocketAddr::new(far, 53)).ok()?;
        Some(socket.local_addr().ok()?.ip())
    };
    let found = [FAR_V4, FAR_V6].into_iter().filter_map(source);
    found.filter(|address| not_public(*address).is_none()).collect()
}

/// The addresses that public DNS has for the host.
pub async fn published_addresses(config: &Config, resolver: &Resolver) -> Vec<IpAddr> {
    let host = smtp::hostname(&config.smtp);
    addresses_of(resolver, host.as_str()).await.unwrap_or_default()
}

#[cfg(test)]
mod tests;
