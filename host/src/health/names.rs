//! The names of this server in DNS: addresses and back, the records for reports.

use std::net::IpAddr;

use futures_util::future::join_all;

use super::finding::Verdict;
use super::words::unseen;
use super::world::{Egress, World};
use crate::dns::{RecordType, Resolver, not_public, text};
use crate::mail::mta_sts::record_id;

/// Names of one address that are looked up.
const MAX_NAMES: usize = 10;
const NO_REPORTS: &str =
    "This server does not listen for bounces and complaints: [bounces] listen is off.";

/// Why it is not known from which addresses mail comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoSender {
    /// None leaves this server for mail exchangers.
    Elsewhere,
    /// The name in EHLO is no full name.
    NoName,
    /// The name in EHLO has no address.
    NoAddress,
    /// All addresses are of this machine's own network.
    NotPublic,
    Unseen(&'static str),
}

/// Where the name of an address leads.
#[derive(Debug)]
enum Reverse {
    ThisHost,
    /// Another name, which leads back.
    OtherHost(String),
    /// Names that do not lead back.
    Unconfirmed(String),
    Missing,
    Unseen(&'static str),
}

impl NoSender {
    pub fn verdict(self, hostname: &str) -> Verdict {
        Verdict::not_checked(match self {
            Self::Elsewhere => "No mail leaves this server for mail exchangers.".to_owned(),
            Self::NoName => format!("{hostname}, the name in EHLO, is no full domain name."),
            Self::NoAddress => format!("{hostname}, the name in EHLO, has no address."),
            Self::NotPublic => format!(
                "{hostname}, the name in EHLO, has no public address; where mail leaves from another one, name \
                 that in [delivery] local_addresses."
            ),
            Self::Unseen(why) => format!("The addresses of {hostname} are not known: {why}."),
        })
    }
}

/// The public addresses from which mail leaves: those that are configured, or those of the name in EHLO.
pub async fn sending_addresses(world: &World) -> Result<Vec<IpAddr>, NoSender> {
    if world.egress.now() == Egress::Elsewhere {
        return Err(NoSender::Elsewhere);
    }
    let is_public = |it: &IpAddr| not_public(*it).is_none();
    let configured: Vec<IpAddr> =
        world.settings.source_addresses.iter().copied().filter(is_public).collect();
    if !configured.is_empty() {
        return Ok(configured);
    }
    let hostname = &world.settings.hostname;
    if !hostname.contains('.') {
        return Err(NoSender::NoName);
    }
    let found = addresses_of(&world.resolver, hostname).await.map_err(NoSender::Unseen)?;
    if found.is_empty() {
        return Err(NoSender::NoAddress);
    }
    let public: Vec<IpAddr> = found.into_iter().filter(is_public).collect();
    if public.is_empty() { Err(NoSender::NotPublic) } else { Ok(public) }
}

/// The addresses of a host.
///
/// # Errors
/// None can be seen, and why.
pub async fn addresses_of(resolver: &Resolver, host: &str) -> Result<Vec<IpAddr>, &'static str> {
    let (mut found, mut failure) = (Vec::new(), None);
    for record_type in [RecordType::A, RecordType::Aaaa] {
        let seen = resolver.look_up(host, record_type).await;
        found.extend(seen.outcome.answers().iter().filter_map(|it| it.data.parse::<IpAddr>().ok()));
        failure = failure.or(unseen(&seen.outcome));
    }
    match failure {
        Some(why) if found.is_empty() => Err(why),
        Some(_) | None => Ok(found),
    }
}

/// The hosts of the MX records of a name, the preferred ones first.
///
/// # Errors
/// None can be seen, and why.
pub async fn exchangers_of(resolver: &Resolver, name: &str) -> Result<Vec<String>, &'static str> {
    let seen = resolver.look_up(name, RecordType::Mx).await;
    if let Some(why) = unseen(&seen.outcome) {
        return Err(why);
    }
    let records = seen.outcome.answers().iter().filter_map(|it| it.data.split_once(' '));
    // A null MX is no host.
    let mut hosts: Vec<(u16, &str)> = records
        .filter(|(_, host)| *host != ".")
        .filter_map(|(preference, host)| Some((preference.parse().ok()?, host)))
        .collect();
    hosts.sort_unstable();
    Ok(hosts.into_iter().map(|(_, host)| host.to_owned()).collect())
}

/// The labels of an address from its last part to its first, as they stand before `in-addr.arpa`, `ip6.arpa` and the
/// names of block lists.
pub fn reversed(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let [a, b, c, d] = address.octets();
            format!("{d}.{c}.{b}.{a}")
        }
        IpAddr::V6(address) => {
            let halves = |byte: u8| [byte & 0x0f, byte >> 4];
            let nibbles = address.octets().into_iter().rev().flat_map(halves);
            nibbles.map(|it| format!("{it:x}")).collect::<Vec<_>>().join(".")
        }
    }
}

/// The name under which DNS has the PTR record of an address.
#[must_use]
pub fn pointer(address: IpAddr) -> String {
    let zone = if address.to_canonical().is_ipv4() { "in-addr.arpa" } else { "ip6.arpa" };
    format!("{}.{zone}", reversed(address))
}

/// Whether each address leads to the name in EHLO, and back.
pub async fn reverse_dns(world: &World) -> Verdict {
    let hostname = &world.settings.hostname;
    let addresses = match sending_addresses(world).await {
        Ok(addresses) => addresses,
        Err(NoSender::NoName) => {
            return Verdict::failing(
                format!("This server says {hostname} in EHLO, which is no full domain name."),
                "Set [smtp] hostname to the full name of this server, as in mail.example.net.",
            );
        }
        Err(NoSender::NoAddress) => {
            return Verdict::failing(
                format!("{hostname}, the name in EHLO, has no address in DNS."),
                format!(
                    "Publish an A or AAAA record of {hostname} with the address of this server."
                ),
            );
        }
        Err(unknown @ (NoSender::Elsewhere | NoSender::NotPublic | NoSender::Unseen(_))) => {
            return unknown.verdict(hostname);
        }
    };
    let looked = addresses.iter().map(|it| async move { (*it, reverse(world, *it).await) });
    reverse_verdict(&join_all(looked).await, hostname)
}

async fn reverse(world: &World, address: IpAddr) -> Reverse {
    let seen = world.resolver.look_up(&pointer(address), RecordType::Ptr).await;
    if let Some(why) = unseen(&seen.outcome) {
        return Reverse::Unseen(why);
    }
    let hostname = world.settings.hostname.as_str();
    let mut names: Vec<&str> = seen.outcome.answers().iter().map(|it| it.data.as_str()).collect();
    if names.is_empty() {
        return Reverse::Missing;
    }
    // That of this host first.
    names.sort_by_key(|it| *it != hostname);
    for name in names.iter().take(MAX_NAMES) {
        match addresses_of(&world.resolver, name).await {
            Ok(back) if back.contains(&address) && *name == hostname => return Reverse::ThisHost,
            Ok(back) if back.contains(&address) => return Reverse::OtherHost((*name).to_owned()),
            Ok(_) => {}
            Err(why) => return Reverse::Unseen(why),
        }
    }
    Reverse::Unconfirmed(names.join(", "))
}

fn reverse_verdict(looked: &[(IpAddr, Reverse)], hostname: &str) -> Verdict {
    let (mut wrong, mut other, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    for (address, found) in looked {
        match found {
            Reverse::ThisHost => {}
            Reverse::OtherHost(name) => other.push(format!("{address} is {name}")),
            Reverse::Unconfirmed(names) => {
                wrong.push(format!("{address} leads to {names}, which does not lead back"));
            }
            Reverse::Missing => wrong.push(format!("{address} has no PTR record")),
            Reverse::Unseen(why) => unknown.push(format!("the name of {address}: {why}")),
        }
    }
    let todo = format!(
        "Whoever gave you the address sets its PTR record, often in the console of the hosting provider: {hostname}."
    );
    if !wrong.is_empty() {
        return Verdict::failing(format!("{}.", wrong.join("; ")), todo);
    }
    if !other.is_empty() {
        let seen = format!("{}, and this server says {hostname} in EHLO.", other.join("; "));
        return Verdict::warning(seen, format!("{todo} Or set [smtp] hostname to that name."));
    }
    if !unknown.is_empty() {
        return Verdict::not_checked(format!("Not known: {}.", unknown.join("; ")));
    }
    let addresses: Vec<String> = looked.iter().map(|(address, _)| address.to_string()).collect();
    Verdict::ok(format!("{} leads to {hostname}, and back.", addresses.join(", ")))
}

/// Whether reports that are sent to the host of return paths come here.
pub async fn reports_mx(world: &World) -> Verdict {
    let settings = &world.settings;
    let host = &settings.return_path_host;
    if !settings.takes_reports {
        return Verdict::not_checked(NO_REPORTS);
    }
    let exchangers = match exchangers_of(&world.resolver, host).await {
        Ok(exchangers) => exchangers,
        Err(why) => return Verdict::not_checked(format!("The MX records of {host}: {why}.")),
    };
    let todo = format!("Publish {host} MX 10 {}.", settings.hostname);
    if exchangers.is_empty() {
        let seen = format!("{host}, where return paths lead, has no MX record.");
        return Verdict::failing(seen, todo);
    }
    let mut own = addresses_of(&world.resolver, &settings.hostname).await.unwrap_or_default();
    own.extend(&settings.source_addresses);
    for exchanger in &exchangers {
        let found = addresses_of(&world.resolver, exchanger).await.unwrap_or_default();
        if *exchanger == settings.hostname || found.iter().any(|it| own.contains(it)) {
            return Verdict::ok(format!("The MX record of {host} leads to {exchanger}."));
        }
    }
    let seen = format!(
        "The MX records of {host} lead to {}, none of which has an address of {}.",
        exchangers.join(", "),
        settings.hostname
    );
    let todo = format!("{todo} Where a relay stands before this server, all may be well.");
    Verdict::warning(seen, todo)
}

/// Whether the MTA-STS policy of the host of return paths, where it announces one, can be read and names its hosts.
pub async fn mta_sts(world: &World) -> Verdict {
    let host = &world.settings.return_path_host;
    if !world.settings.takes_reports {
        return Verdict::not_checked(NO_REPORTS);
    }
    let seen = world.resolver.look_up(&format!("_mta-sts.{host}"), RecordType::Txt).await;
    if let Some(why) = unseen(&seen.outcome) {
        return Verdict::not_checked(format!("The record _mta-sts.{host}: {why}."));
    }
    let records: Vec<Vec<u8>> = seen.outcome.answers().iter().map(|it| text(&it.data)).collect();
    if record_id(&records).is_none() {
        return Verdict::ok(format!("{host} announces no MTA-STS policy, and needs none."));
    }
    let policy = match world.policies.fetch(host).await {
        Ok(policy) => policy,
        Err(error) => {
            return Verdict::failing(
                format!(
                    "The policy that _mta-sts.{host} announces cannot be read: {}.",
                    error.in_full()
                ),
                format!(
                    "Serve https://mta-sts.{host}/.well-known/mta-sts.txt with a valid certificate, or remove the \
                     record _mta-sts.{host}."
                ),
            );
        }
    };
    let exchangers = match exchangers_of(&world.resolver, host).await {
        Ok(exchangers) => exchangers,
        Err(why) => return Verdict::not_checked(format!("The MX records of {host}: {why}.")),
    };
    let missing: Vec<String> = exchangers.into_iter().filter(|it| !policy.allows(it)).collect();
    if missing.is_empty() {
        return Verdict::ok(format!("The policy of {host} names its MX hosts."));
    }
    let seen = format!("The policy of {host} does not name {}.", missing.join(", "));
    let todo = "Add a line `mx:` for each of them to the policy, and change the id of its record.";
    if policy.is_enforced() { Verdict::failing(seen, todo) } else { Verdict::warning(seen, todo) }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use waxwing_dns::{DnsServer, Fault};

    use super::*;
    use crate::health::finding::State;
    use crate::health::tests::{ADDRESS, HOST, world};
    use crate::health::world::Tell;

    const POINTER: &str = "7.1.9.5.in-addr.arpa";

    #[test]
    fn an_address_is_reversed_by_bytes_or_by_nibbles() {
        assert_eq!(pointer(ADDRESS.into()), POINTER);
        let v6: IpAddr = "2001:db8::567:89ab".parse().expect("an address");
        let nibbles = "b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2";
        assert_eq!(pointer(v6), format!("{nibbles}.ip6.arpa"), "RFC 3596 section 2.5");
    }

    #[tokio::test]
    async fn a_ptr_record_must_lead_to_the_name_in_ehlo_and_back() {
        let dns = DnsServer::start().await;
        let mut world = world(&dns);
        let unnamed = reverse_dns(&world).await;
        assert!(unnamed.state == State::Failing && unnamed.what.contains("no address"));
        dns.ip(HOST, ADDRESS.into());
        let missing = reverse_dns(&world).await;
        assert!(missing.state == State::Failing && missing.what.contains("no PTR"), "{missing:?}");
        assert!(missing.todo.is_some_and(|it| it.contains(HOST)), "what the record must say");
        dns.record(POINTER, "PTR", "host-7.provider.example.");
        assert_eq!(reverse_dns(&world).await.state, State::Failing, "it does not lead back");
        dns.ip("host-7.provider.example", ADDRESS.into());
        let other = reverse_dns(&world).await;
        assert!(other.state == State::Warning && other.what.contains("host-7"), "{other:?}");
        dns.record(POINTER, "PTR", &format!("{HOST}."));
        let right = reverse_dns(&world).await;
        assert!(right.state == State::Ok && right.what.contains("5.9.1.7"), "{right:?}");
        dns.fault(POINTER, Fault::ServFail);
        assert_eq!(reverse_dns(&world).await.state, State::NotChecked, "unknown is no fault");
        world.egress = Tell::new(|| Egress::Elsewhere);
        assert_eq!(reverse_dns(&world).await.state, State::NotChecked, "nothing leaves from it");
    }

    #[tokio::test]
    async fn configured_source_addresses_stand_above_those_of_the_name() {
        let dns = DnsServer::start().await;
        let mut world = world(&dns);
        dns.ip(HOST, Ipv4Addr::new(10, 0, 0, 1).into());
        assert_eq!(sending_addresses(&world).await, Err(NoSender::NotPublic));
        world.settings.source_addresses = vec![ADDRESS.into()];
        assert_eq!(sending_addresses(&world).await, Ok(vec![ADDRESS.into()]));
        world.settings.source_addresses.clear();
        world.settings.hostname = "build-7".to_owned();
        assert_eq!(sending_addresses(&world).await, Err(NoSender::NoName));
        assert_eq!(reverse_dns(&world).await.state, State::Failing);
    }

    #[tokio::test]
    async fn reports_need_an_mx_record_that_leads_here() {
        let dns = DnsServer::start().await;
        let mut world = world(&dns);
        let bounce = format!("bounce.{HOST}");
        dns.ip(HOST, ADDRESS.into());
        assert_eq!(reports_mx(&world).await.state, State::NotChecked, "nobody listens");
        world.settings.takes_reports = true;
        let missing = reports_mx(&world).await;
        assert_eq!(missing.state, State::Failing);
        assert!(missing.todo.is_some_and(|it| it.contains(&format!("MX 10 {HOST}"))));
        dns.mx(&bounce, 10, "mx.elsewhere.example");
        assert_eq!(reports_mx(&world).await.state, State::Warning);
        dns.mx(&bounce, 20, HOST);
        assert_eq!(reports_mx(&world).await.state, State::Ok);
    }

    #[tokio::test]
    async fn an_announced_policy_that_cannot_be_read_holds_reports_back() {
        let dns = DnsServer::start().await;
        let mut world = world(&dns);
        world.settings.takes_reports = true;
        assert_eq!(mta_sts(&world).await.state, State::Ok, "none is announced");
        dns.txt(&format!("_mta-sts.bounce.{HOST}"), "v=STSv1; id=20261126");
        let unread = mta_sts(&world).await;
        assert_eq!(unread.state, State::Failing, "{unread:?}");
        assert!(unread.todo.is_some_and(|it| it.contains("mta-sts.txt")));
    }
}
