//! The server's own ports and their certificate, and the way out to port 25.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use super::finding::Verdict;
use super::names::{addresses_of, exchangers_of};
use super::words::{quoted, span};
use super::world::{CertificateView, Egress, Listener, Naming, Renewal, ServerView, World};
use crate::clock::Timestamp;

/// For a connection, and for a greeting.
const CONNECT_TIME: Duration = Duration::from_secs(3);
const MAX_GREETING_BYTES: usize = 512;
/// Addresses of mail exchangers that are tried.
const MAX_TRIED: usize = 3;
/// A certificate is renewed before so much time is left; below the second, too little is left to wait.
const CERTIFICATE_SOON: Duration = Duration::from_hours(14 * 24);
const CERTIFICATE_LATE: Duration = Duration::from_hours(3 * 24);
const RENEW: &str = "Renew it, and put it where [smtp] certificate and private_key say: the server takes it without a \
                     restart.";
const ORDER: &str = "Read in the log why no new one comes (`no new certificate`), remove the reason, and send SIGHUP to the \
                     server: it orders one at once.";
const STAND_IN: &str =
    "No CA has issued a certificate yet: the ports show a self-signed one, which clients refuse.";

/// Whether every port of the server takes connections.
pub async fn listeners(world: &World) -> Verdict {
    let live = match &world.server {
        ServerView::Running(live) => live,
        ServerView::Stopped(why) => {
            let todo =
                "Start it, as with `systemctl start waxwing`; its log says why it has stopped.";
            return Verdict::failing(why.clone(), todo);
        }
        ServerView::Silent(what) => {
            let todo = "Look for the reason in its log, and restart it.";
            return Verdict::failing(what.clone(), todo);
        }
    };
    let tried = join_all(live.listeners.iter().map(closed)).await;
    let closed: Vec<String> = tried.into_iter().flatten().collect();
    if closed.is_empty() {
        let count = live.listeners.len();
        return Verdict::ok(format!("All {count} take connections."));
    }
    Verdict::failing(
        format!("No connection to {}.", closed.join("; ")),
        "Look in the log for `connections cannot be accepted`, and whether a firewall of this machine is in the way.",
    )
}

/// Why a port takes no connection; none where it does.
async fn closed(listener: &Listener) -> Option<String> {
    let bound = listener.address;
    let here: IpAddr = match bound.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip @ (IpAddr::V4(_) | IpAddr::V6(_)) => ip,
    };
    let reason = match timeout(CONNECT_TIME, TcpStream::connect((here, bound.port()))).await {
        Ok(Ok(_)) => return None,
        Ok(Err(error)) => error.to_string(),
        Err(_) => "no answer in time".to_owned(),
    };
    Some(format!("{bound} ({}): {reason}", listener.setting))
}

/// How long the certificate lasts, and whether it names this host.
pub fn certificate(world: &World) -> Verdict {
    certificate_verdict(world.certificate.now(), world.clock.now(), &world.settings.hostname)
}

fn certificate_verdict(seen: CertificateView, now: Timestamp, hostname: &str) -> Verdict {
    let (ends, naming, renewal) = match seen {
        CertificateView::NotNeeded => {
            return Verdict::ok("No port of this server needs one: SMTP and HTTPS are off.");
        }
        CertificateView::NotYet(origin) => return Verdict::not_checked(origin),
        CertificateView::StandIn(None) => {
            return Verdict::warning(
                STAND_IN,
                "The server orders one now: look again in some minutes.",
            );
        }
        CertificateView::StandIn(Some(reason)) => {
            return Verdict::failing(format!("{STAND_IN} None could be ordered: {reason}."), ORDER);
        }
        CertificateView::Faulty(reasons) => return Verdict::failing(reasons, RENEW),
        CertificateView::Loaded { ends, naming, renewal } => (ends, naming, renewal),
    };
    // Nothing where it has ended.
    let left = now.until(ends);
    let seen = if left.is_zero() {
        format!("It ended {} ago, at {ends}.", span(ends.until(now)))
    } else {
        format!("It ends in {}, at {ends}.", span(left))
    };
    let rename = match &renewal {
        Renewal::ByHand => {
            "get a certificate for it, or set smtp.hostname to a name that the certificate has"
        }
        Renewal::ByOrder(_) => "name it in [acme] domains: the server then orders another one",
    };
    let (seen, todo, needs_somebody) = match renewal {
        Renewal::ByHand => (seen, RENEW, left < CERTIFICATE_SOON),
        Renewal::ByOrder(Some(reason)) => {
            (format!("{seen} No new one could be ordered: {reason}."), ORDER, true)
        }
        // A short-lived certificate is renewed in its last days; that is no warning.
        Renewal::ByOrder(None) => (seen, ORDER, left.is_zero()),
    };
    if needs_somebody && left < CERTIFICATE_LATE {
        return Verdict::failing(seen, todo);
    }
    if needs_somebody {
        return Verdict::warning(seen, todo);
    }
    match naming {
        Naming::OtherHosts => Verdict::warning(
            format!("It does not name {hostname}, the smtp.hostname of this server."),
            format!("Clients that connect to that name refuse it: {rename}."),
        ),
        Naming::ThisHost | Naming::NotCompared => Verdict::ok(format!("It is good until {ends}.")),
    }
}

/// Whether a mail exchanger of others can be reached.
pub async fn port_25(world: &World) -> Verdict {
    let Egress::Direct { port } = world.egress.now() else {
        return Verdict::not_checked("No mail leaves this server for mail exchangers.");
    };
    let settings = world.reloadable.load_full();
    let Some(domain) = &settings.port_25_domain else {
        return Verdict::not_checked(
            "No domain is named whose mail exchanger could be tried: set [health] port_25_domain, and reload the server.",
        );
    };
    let addresses = match exchangers(world, domain).await {
        Ok(addresses) => addresses,
        Err(unknown) => return unknown,
    };
    let mut reasons = Vec::new();
    for address in addresses.into_iter().take(MAX_TRIED) {
        let address = SocketAddr::new(address, port);
        match greeting(address, &world.settings.source_addresses).await {
            Ok(said) if said.starts_with("220") => {
                return Verdict::ok(format!("{address}, of {domain}, greets this server."));
            }
            Ok(said) => {
                return Verdict::warning(
                    format!("{address}, of {domain}, was reached and greets with: {said}"),
                    "Connections leave this machine; read why that server does not want them.",
                );
            }
            Err(error) => reasons.push(format!("{address}: {error}")),
        }
    }
    Verdict::failing(
        format!("No mail exchanger of {domain} can be reached: {}.", reasons.join("; ")),
        "Ask your hosting provider to open outgoing connections to port 25, look at the firewall, or send through a \
         smarthost: [delivery] route.",
    )
}

/// Addresses of a domain's mail exchangers, of the preferred ones first.
async fn exchangers(world: &World, domain: &str) -> Result<Vec<IpAddr>, Verdict> {
    let hosts = exchangers_of(&world.resolver, domain).await.map_err(|why| {
        Verdict::not_checked(format!("The mail exchangers of {domain} are not known: {why}."))
    })?;
    let mut found = Vec::new();
    for host in hosts.iter().take(MAX_TRIED) {
        let addresses = addresses_of(&world.resolver, host).await.unwrap_or_default();
        // One of each family: several of one say the same of port 25.
        found.extend(addresses.iter().find(|it| it.is_ipv4()));
        found.extend(addresses.iter().find(|it| it.is_ipv6()));
    }
    if found.is_empty() {
        let why = format!("{domain} has no mail exchanger with an address.");
        return Err(Verdict::not_checked(why));
    }
    Ok(found)
}

/// The first line that a server says.
async fn greeting(address: SocketAddr, sources: &[IpAddr]) -> std::io::Result<String> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    if let Some(source) = sources.iter().find(|it| it.is_ipv4() == address.is_ipv4()) {
        socket.bind(SocketAddr::new(*source, 0))?;
    }
    let late = |_| std::io::Error::from(std::io::ErrorKind::TimedOut);
    let mut stream = timeout(CONNECT_TIME, socket.connect(address)).await.map_err(late)??;
    let mut said = [0; MAX_GREETING_BYTES];
    let length = timeout(CONNECT_TIME, stream.read(&mut said)).await.map_err(late)??;
    // The answer was heard; whether the server hears the end of the session changes nothing.
    let _best_effort = stream.write_all(b"QUIT\r\n").await;
    Ok(quoted(said.get(..length).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use waxwing_dns::DnsServer;
    use waxwing_mx::{Behaviour, MxServer};

    use super::*;
    use crate::health::finding::State;
    use crate::health::tests::{NOW, reload, world};
    use crate::health::world::Tell;

    #[test]
    fn a_certificate_is_told_before_it_ends() {
        let day = Duration::from_hours(24);
        let seen = |ends, naming| {
            let view = CertificateView::Loaded { ends, naming, renewal: Renewal::ByHand };
            certificate_verdict(view, NOW, "mail.example.net")
        };
        for (ends, state) in [
            (NOW.before(day), State::Failing),
            (NOW.after(day), State::Failing),
            (NOW.after(day * 10), State::Warning),
            (NOW.after(day * 60), State::Ok),
        ] {
            assert_eq!(seen(ends, Naming::ThisHost).state, state, "{ends}");
        }
        let other = seen(NOW.after(day * 60), Naming::OtherHosts);
        assert!(other.state == State::Warning && other.what.contains("mail.example.net"));
        let faulty = CertificateView::Faulty("smtp.certificate is missing".to_owned());
        assert_eq!(certificate_verdict(faulty, NOW, "h").state, State::Failing);
        assert_eq!(certificate_verdict(CertificateView::NotNeeded, NOW, "h").state, State::Ok);
    }

    #[test]
    fn a_certificate_that_no_order_renews_says_why_and_what_to_do() {
        let day = Duration::from_hours(24);
        let seen = |ends, naming, trouble: Option<&str>| {
            let renewal = Renewal::ByOrder(trouble.map(str::to_owned));
            let view = CertificateView::Loaded { ends, naming, renewal };
            certificate_verdict(view, NOW, "mail.example.net")
        };
        let refused = Some("the CA is down. The server tries again at noon");
        for (ends, trouble, state) in [
            (NOW.after(day * 60), refused, State::Warning),
            (NOW.after(day), refused, State::Failing),
            (NOW.before(day), refused, State::Failing),
            (NOW.before(day), None, State::Failing),
            (NOW.after(day), None, State::Ok),
        ] {
            let verdict = seen(ends, Naming::ThisHost, trouble);
            assert_eq!(verdict.state, state, "{verdict:?}");
        }
        let warned = seen(NOW.after(day * 60), Naming::ThisHost, refused);
        let why = "It ends in 60 days, at 2027-03-16T08:00:00Z. No new one could be ordered: the CA is down. The server \
                   tries again at noon.";
        assert_eq!((warned.what.as_str(), warned.todo.as_deref()), (why, Some(ORDER)));
        let other = seen(NOW.after(day * 60), Naming::OtherHosts, None);
        assert!(other.todo.is_some_and(|it| it.contains("[acme] domains")));
        let ordered = certificate_verdict(CertificateView::NotYet("Later."), NOW, "h");
        assert_eq!(ordered.state, State::NotChecked, "no server runs that could order it");
    }

    #[test]
    fn a_self_signed_certificate_is_never_taken_for_the_one_of_a_ca() {
        let seen = |trouble: Option<&str>| {
            let view = CertificateView::StandIn(trouble.map(str::to_owned));
            certificate_verdict(view, NOW, "mail.example.net")
        };
        assert_eq!(seen(None).state, State::Warning, "the first order is under way");
        let failed = seen(Some("the CA is down. The server tries again at noon"));
        assert_eq!(failed.state, State::Failing, "{failed:?}");
        assert!(failed.what.contains("self-signed") && failed.what.contains("is down"));
    }

    #[tokio::test]
    async fn a_port_that_nobody_listens_on_is_named_with_its_setting() {
        let (open, shut) = (
            tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port"),
            tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port"),
        );
        let listener = |it: &tokio::net::TcpListener| Listener {
            setting: "[http] listen",
            address: it.local_addr().expect("bound"),
        };
        assert_eq!(closed(&listener(&open)).await, None);
        let gone = listener(&shut);
        drop(shut);
        let said = closed(&gone).await.expect("nobody listens");
        assert!(said.contains("[http] listen") && said.contains("refused"), "{said}");
    }

    #[tokio::test]
    async fn a_blocked_port_25_is_told_from_a_server_that_greets() {
        let (mx, dns) = (MxServer::start(Behaviour::new()), DnsServer::start().await);
        dns.mx("probe.example", 10, "mx.probe.example");
        dns.ip("mx.probe.example", mx.address().ip());
        let mut world = world(&dns);
        let unnamed = port_25(&world).await;
        assert_eq!(unnamed.state, State::NotChecked, "no domain is named");
        reload(&world, |it| it.port_25_domain = Some("probe.example".to_owned()));
        let port = mx.address().port();
        world.egress = Tell::new(move || Egress::Direct { port });
        let reached = port_25(&world).await;
        assert_eq!(reached.state, State::Ok, "{reached:?}");
        mx.stop();
        let blocked = port_25(&world).await;
        assert_eq!(blocked.state, State::Failing, "{blocked:?}");
        assert!(blocked.todo.is_some_and(|it| it.contains("hosting provider")));
        dns.fault("probe.example", waxwing_dns::Fault::ServFail);
        assert_eq!(port_25(&world).await.state, State::NotChecked, "DNS fails, not the port");
        world.egress = Tell::new(|| Egress::Elsewhere);
        assert_eq!(port_25(&world).await.state, State::NotChecked);
    }
}
