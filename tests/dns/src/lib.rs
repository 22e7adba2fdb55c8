//! A DNS server for the tests and the load tool: real UDP and TCP on loopback, zones with true
//! semantics, and every fault that resolvers meet. It plays a recursive resolver that knows the
//! whole world: chains of CNAMEs are followed to their end, whoever's zone they lead to.

mod fault;
mod handler;
mod world;
mod zone;

#[cfg(test)]
mod tests;

pub use fault::Fault;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use hickory_server::Server;
use hickory_server::proto::rr::rdata::{A, AAAA, CNAME, MX, NS, TXT};
use hickory_server::proto::rr::{RData, RecordType};
use tokio::net::{TcpListener, UdpSocket};
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use crate::handler::Handler;
use crate::world::World;
use crate::zone::{absolute, parsed};

/// How long an idle TCP connection is kept, and how many answers may wait in it.
const TCP_IDLE: Duration = Duration::from_secs(10);
const TCP_BUFFER: usize = 32;
/// Tries to find a port that is free for UDP and TCP.
const BINDS: usize = 64;

/// The most bytes that one string of a TXT record holds (RFC 1035 section 3.3).
const CHUNK: usize = 255;

/// A running server. Dropped, it stops and leaves no thread, task or socket.
///
/// Names are given without their last dot. Whatever was not added does not exist (NXDOMAIN with a
/// SOA). It runs on a thread of its own: it needs nothing of the runtime that asks it.
#[derive(Debug)]
pub struct DnsServer {
    address: SocketAddr,
    world: Arc<World>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl DnsServer {
    /// Starts a server with an empty world on a free port of 127.0.0.1.
    ///
    /// # Panics
    /// No port or no thread is to be had.
    pub async fn start() -> Self {
        let world = Arc::new(World::default());
        let (started, address) = oneshot::channel();
        let (stop, stopped) = oneshot::channel();
        let handler = Handler(Arc::clone(&world));
        let thread = thread::Builder::new()
            .name("dns-server".to_owned())
            .spawn(move || serve(handler, started, stopped))
            .expect("a thread can be started");
        let address = address.await.expect("the server starts");
        Self { address, world, stop: Some(stop), thread: Some(thread) }
    }

    /// Where it listens, UDP and TCP alike.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Adds one TXT record, cut into strings of 255 bytes.
    pub fn txt(&self, name: &str, value: &str) {
        let chunks: Vec<&[u8]> = value.as_bytes().chunks(CHUNK).collect();
        self.txt_chunks(name, if chunks.is_empty() { &[b""] } else { &chunks });
    }

    /// Adds one TXT record of exactly these strings, of at most 255 bytes each.
    pub fn txt_chunks(&self, name: &str, chunks: &[&[u8]]) {
        self.add(name, RData::TXT(TXT::from_bytes(chunks.to_vec())));
    }

    /// Adds a CNAME. Beside it, other types at `name` are hidden, as on a real server.
    pub fn cname(&self, name: &str, target: &str) {
        self.add(name, RData::CNAME(CNAME(absolute(target))));
    }

    /// Adds one A or AAAA record.
    pub fn ip(&self, name: &str, address: IpAddr) {
        self.add(
            name,
            match address {
                IpAddr::V4(address) => RData::A(A(address)),
                IpAddr::V6(address) => RData::AAAA(AAAA(address)),
            },
        );
    }

    /// Adds one MX record.
    pub fn mx(&self, name: &str, preference: u16, exchange: &str) {
        self.add(name, RData::MX(MX::new(preference, absolute(exchange))));
    }

    /// Adds one NS record. A delegation is data here: what is below is still answered.
    pub fn ns(&self, name: &str, server: &str) {
        self.add(name, RData::NS(NS(absolute(server))));
    }

    /// Adds a record of any type from its presentation, names with their last dot:
    /// `record("_443._tcp.x.example", "TLSA", "3 1 1 00ff")`.
    pub fn record(&self, name: &str, record_type: &str, presentation: &str) {
        self.add(name, parsed(record_type_of(record_type), presentation));
    }

    /// Removes all records of a type at a name.
    pub fn remove(&self, name: &str, record_type: &str) {
        self.world.zone().remove(name, record_type_of(record_type));
    }

    /// Removes all records of a name; what is below it stays.
    pub fn remove_all(&self, name: &str) {
        self.world.zone().remove_all(name);
    }

    /// Lets a name and everything below it fail; the fault of the longest name counts.
    pub fn fault(&self, name: &str, fault: Fault) {
        self.world.faults().set(name, fault);
    }

    /// Takes the fault of exactly this name away.
    pub fn clear(&self, name: &str) {
        self.world.faults().clear(name);
    }

    /// Lets every query fail, whatever else is set; `None` ends that.
    pub fn fault_everything(&self, fault: Option<Fault>) {
        self.world.faults().everywhere(fault);
    }

    /// Answers for a name and below it carry the AD bit, as if they were signed and validated.
    pub fn secure(&self, name: &str) {
        self.world.zone().secure(name);
    }

    /// Asks `answers` before the zones: for a name without its last dot, in lower case, and a type,
    /// the records in presentation form (a TXT value as it is). `Some` of nothing is "no data",
    /// `None` leaves the question to the zones.
    pub fn answer_any(
        &self,
        answers: impl Fn(&str, &str) -> Option<Vec<String>> + Send + Sync + 'static,
    ) {
        self.world.answer_any(Box::new(answers));
    }

    /// The names (lower case) and types of the first 100,000 queries, in their order.
    #[must_use]
    pub fn queries(&self) -> Vec<(String, String)> {
        self.world.queries()
    }

    /// How many queries came, repeated and failed ones included.
    #[must_use]
    pub fn query_count(&self) -> usize {
        self.world.query_count()
    }

    /// The most queries that were in progress at one time.
    #[must_use]
    pub fn most_at_once(&self) -> usize {
        self.world.most_at_once()
    }

    /// Begins to count and list the queries afresh.
    pub fn forget_queries(&self) {
        self.world.forget_queries();
    }

    fn add(&self, name: &str, data: RData) {
        self.world.zone().add(name, data);
    }
}

impl Drop for DnsServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the server's thread has been printed; a second one would abort the test.
            drop(thread.join());
        }
    }
}

fn record_type_of(word: &str) -> RecordType {
    word.to_ascii_uppercase().parse().expect("a record type such as TXT")
}

fn serve(handler: Handler, started: oneshot::Sender<SocketAddr>, stopped: oneshot::Receiver<()>) {
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async move {
        let (udp, tcp) = bind().await.expect("a port that is free for UDP and TCP");
        let address = udp.local_addr().expect("a bound socket has an address");
        let mut server = Server::new(handler);
        server.register_socket(udp);
        server.register_listener(tcp, TCP_IDLE, TCP_BUFFER);
        if started.send(address).is_ok() {
            // Ends when the sender is dropped.
            drop(stopped.await);
        }
    });
}

async fn bind() -> io::Result<(UdpSocket, TcpListener)> {
    let mut failed = None;
    for _ in 0..BINDS {
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        match TcpListener::bind(udp.local_addr()?).await {
            Ok(tcp) => return Ok((udp, tcp)),
            Err(error) => failed = Some(error),
        }
    }
    Err(failed.unwrap_or_else(|| io::ErrorKind::AddrInUse.into()))
}
