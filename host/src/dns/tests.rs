//! The resolver against a real server on loopback that serves every case.

mod answers;
mod bounds;
mod chains;
mod failures;

use std::net::{SocketAddr, UdpSocket};
use std::num::NonZeroU32;
use std::time::Duration;

use waxwing_dns::DnsServer;

use super::{Observation, Outcome, RecordType, Resolver, Settings, text};
use crate::clock::{Clock, Timestamp};

/// Longer than an answer takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);
/// A time-out for servers that never answer.
const SHORT_TIMEOUT: Duration = Duration::from_millis(300);
/// The delay of an answer that is well within `PATIENCE`.
const SHORT_DELAY: Duration = Duration::from_millis(300);

fn settings(nameservers: &[SocketAddr]) -> Settings {
    Settings {
        nameservers: nameservers.to_vec(),
        timeout: PATIENCE,
        tries: 1,
        concurrent: 32,
        per_second: NonZeroU32::new(100_000).expect("not zero"),
    }
}

fn resolver(settings: &Settings) -> Resolver {
    Resolver::new(settings, Clock::manual(Timestamp::from_millis(7))).expect("servers are named")
}

async fn started() -> (DnsServer, Resolver) {
    let server = DnsServer::start().await;
    let resolver = resolver(&settings(&[server.address()]));
    (server, resolver)
}

/// A port where nobody ever answers.
fn dead() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.set_nonblocking(true).expect("a socket");
    socket
}

/// How many datagrams a dead port was sent.
fn received(dead: &UdpSocket) -> usize {
    std::iter::from_fn(|| dead.recv(&mut [0; 2048]).ok()).count()
}

fn at(socket: &UdpSocket) -> SocketAddr {
    socket.local_addr().expect("bound")
}

fn data(seen: &Observation) -> Vec<&str> {
    seen.outcome.answers().iter().map(|it| it.data.as_str()).collect()
}
