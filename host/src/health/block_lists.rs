//! Block lists by DNS (RFC 5782): whether one of this server's public addresses is listed.
//!
//! An answer counts as a listing only where it says so. Lists answer whoever may not ask, or asks too much, with
//! addresses of their own, or not at all: then nothing is known.

use std::net::{IpAddr, Ipv4Addr};

use futures_util::future::join_all;

use super::finding::Verdict;
use super::names::{reversed, sending_addresses};
use super::words::quoted;
use super::world::World;
use crate::dns::{Answer, Outcome, RecordType, text};

/// What a list says of an address.
#[derive(Debug, PartialEq, Eq)]
enum Listing {
    Clean,
    /// With the codes of the list.
    Listed(String),
    /// The list gives no answer, and why.
    NoAnswer(&'static str),
}

/// Asks each list for each address.
pub async fn block_lists(world: &World) -> Verdict {
    let settings = world.reloadable.load_full();
    if settings.block_lists.is_empty() {
        return Verdict::not_checked("No list is named: [health] block_lists is empty.");
    }
    let addresses = match sending_addresses(world).await {
        Ok(addresses) => addresses,
        Err(unknown) => return unknown.verdict(&world.settings.hostname),
    };
    let pairs = addresses
        .iter()
        .flat_map(|address| settings.block_lists.iter().map(move |list| (*address, list.as_str())));
    let asked = pairs.map(|(address, list)| async move {
        let name = format!("{}.{list}", reversed(address));
        let seen = world.resolver.look_up(&name, RecordType::A).await;
        let listing = listing(&seen.outcome);
        let reason = match listing {
            Listing::Listed(_) => reason(world, &name).await,
            Listing::Clean | Listing::NoAnswer(_) => None,
        };
        (address, list, listing, reason)
    });
    verdict(&join_all(asked).await)
}

fn verdict(asked: &[(IpAddr, &str, Listing, Option<String>)]) -> Verdict {
    let (mut listed, mut silent, mut clean) = (Vec::new(), Vec::new(), Vec::new());
    for (address, list, listing, reason) in asked {
        match listing {
            Listing::Clean => clean.push(*list),
            Listing::Listed(codes) => {
                let reason = reason.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
                listed.push(format!("{address} is listed by {list} ({codes}){reason}"));
            }
            Listing::NoAnswer(why) => silent.push(format!("{list} {why}")),
        }
    }
    clean.sort_unstable();
    clean.dedup();
    silent.sort_unstable();
    silent.dedup();
    let silent = if silent.is_empty() {
        String::new()
    } else {
        format!(" No answer: {}.", silent.join("; "))
    };
    if !listed.is_empty() {
        return Verdict::failing(
            format!("{}.{silent}", listed.join("; ")),
            "Find out why first (a customer that sends spam, an account that was taken over): look for bounces and \
             complaints of the last days, suspend the account, then ask the list for removal on its own pages.",
        );
    }
    if clean.is_empty() {
        return Verdict::not_checked(format!(
            "No list says anything of this server.{silent} Lists do not answer public resolvers: let [dns] \
             nameservers name a resolver of your own."
        ));
    }
    Verdict::ok(format!("No address is listed by {}.{silent}", clean.join(", ")))
}

fn listing(outcome: &Outcome) -> Listing {
    let answers = match outcome {
        Outcome::Answers(answers) => answers,
        Outcome::NoData | Outcome::NxDomain => return Listing::Clean,
        Outcome::ServFail => return Listing::NoAnswer("cannot be resolved"),
        Outcome::Refused => return Listing::NoAnswer("refuses to answer"),
        Outcome::TimedOut => return Listing::NoAnswer("does not answer in time"),
    };
    let codes: Vec<Ipv4Addr> = answers.iter().filter_map(code).collect();
    if codes.is_empty() {
        return Listing::Clean;
    }
    // Spamhaus: 127.255.255.252 to .255, for a name with a typing error, a public resolver or too many questions.
    if codes.iter().any(|it| it.octets().starts_with(&[127, 255, 255])) {
        return Listing::NoAnswer("answers with an error (127.255.255.x), which is no listing");
    }
    // A resolver that answers every name with an address of its own.
    if codes.iter().any(|it| !it.is_loopback()) {
        return Listing::NoAnswer("answers with an address that is no code of a list");
    }
    let codes: Vec<String> = codes.iter().map(ToString::to_string).collect();
    Listing::Listed(codes.join(", "))
}

fn code(answer: &Answer) -> Option<Ipv4Addr> {
    answer.data.parse().ok()
}

/// What the list says of its reason: most often an address of a page.
async fn reason(world: &World, name: &str) -> Option<String> {
    let seen = world.resolver.look_up(name, RecordType::Txt).await;
    let said = seen.outcome.answers().first().map(|it| quoted(&text(&it.data)));
    said.filter(|it| !it.is_empty())
}

#[cfg(test)]
mod tests {
    use waxwing_dns::{DnsServer, Fault};

    use super::*;
    use crate::health::finding::State;
    use crate::health::tests::{ADDRESS, HOST, reload, world};

    const LISTED: &str = "7.1.9.5.bl.example";

    #[tokio::test]
    async fn a_listed_address_fails_with_the_list_and_its_reason() {
        let dns = DnsServer::start().await;
        dns.ip(HOST, ADDRESS.into());
        let world = world(&dns);
        let clean = block_lists(&world).await;
        assert!(clean.state == State::Ok && clean.what.contains("bl.example"), "{clean:?}");
        dns.ip(LISTED, Ipv4Addr::new(127, 0, 0, 4).into());
        dns.txt(LISTED, "https://bl.example/5.9.1.7");
        let listed = block_lists(&world).await;
        assert_eq!(listed.state, State::Failing);
        for part in ["5.9.1.7 is listed by bl.example (127.0.0.4)", "https://bl.example/5.9.1.7"] {
            assert!(listed.what.contains(part), "{part}: {listed:?}");
        }
    }

    #[tokio::test]
    async fn an_answer_that_is_no_listing_is_not_taken_for_one() {
        let dns = DnsServer::start().await;
        dns.ip(HOST, ADDRESS.into());
        let world = world(&dns);
        for address in ["127.255.255.254", "192.0.2.80"] {
            dns.remove_all(LISTED);
            dns.ip(LISTED, address.parse().expect("an address"));
            let said = block_lists(&world).await;
            assert!(
                said.state == State::NotChecked && said.what.contains("bl.example"),
                "{said:?}"
            );
            assert!(said.what.contains("a resolver of your own"), "{said:?}");
        }
        dns.remove_all(LISTED);
        for fault in [Fault::Refused, Fault::ServFail] {
            dns.fault(LISTED, fault);
            assert_eq!(block_lists(&world).await.state, State::NotChecked, "{fault:?}");
        }
        reload(&world, |it| it.block_lists.push("other.example".to_owned()));
        let half = block_lists(&world).await;
        assert!(half.state == State::Ok && half.what.contains("No answer: bl.example"), "{half:?}");
    }

    #[tokio::test]
    async fn an_address_of_a_private_network_is_not_asked_for() {
        let dns = DnsServer::start().await;
        dns.ip(HOST, Ipv4Addr::new(192, 168, 1, 2).into());
        let said = block_lists(&world(&dns)).await;
        assert_eq!(said.state, State::NotChecked);
        let asked = dns.queries();
        assert!(!asked.iter().any(|(name, _)| name.ends_with("bl.example")), "{asked:?}");
    }
}
