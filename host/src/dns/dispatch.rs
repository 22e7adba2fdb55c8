//! Which server is asked when: fail-over between servers, rounds of tries, and the pace of both.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use governor::clock::{Clock as _, DefaultClock};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use hickory_resolver::proto::op::{Message, Query, ResponseCode};
use hickory_resolver::proto::rr::Name;
use tokio::sync::Mutex;
use tokio::time::sleep;

use super::observation::RecordType;
use super::server::{Datagram, Failure, over_tcp, over_udp};
use super::settings::Settings;

/// For how long a server that did not answer is asked after the others.
const UNRESPONSIVE_TIME: Duration = Duration::from_secs(30);
/// The part of the queries of a second that may go out at once.
const BURST_FRACTION: u32 = 10;

/// The servers and their limits.
#[derive(Debug)]
pub(super) struct Dispatch {
    servers: Vec<Server>,
    timeout: Duration,
    tries: u32,
    pace: Pace,
    started: Instant,
}

#[derive(Debug)]
struct Server {
    address: SocketAddr,
    /// Milliseconds after the start; 0 if it answered last time.
    avoided_until: AtomicU64,
}

impl Dispatch {
    pub(super) fn new(servers: Vec<SocketAddr>, settings: &Settings) -> Self {
        let servers = servers.into_iter();
        Self {
            servers: servers
                .map(|address| Server { address, avoided_until: AtomicU64::new(0) })
                .collect(),
            timeout: settings.timeout,
            tries: settings.tries.max(1),
            pace: Pace::new(settings.per_second),
            started: Instant::now(),
        }
    }

    /// The addresses of all servers.
    pub(super) fn all(&self) -> String {
        let addresses: Vec<String> = self.servers.iter().map(|it| it.address.to_string()).collect();
        addresses.join(",")
    }

    /// Asks one after the other until one states a fact; which one did, and its reply.
    pub(super) async fn ask(
        &self,
        name: &Name,
        record_type: RecordType,
    ) -> Result<(String, Message), Failure> {
        let query = Query::query(name.clone(), record_type.wire());
        let mut worst = Failure::TimedOut;
        for _ in 0..self.tries {
            for server in self.in_order() {
                let reply = self.ask_one(server.address, &query).await;
                self.remember(server, &reply);
                match reply {
                    Ok(reply) => return Ok((server.address.to_string(), reply)),
                    Err(failure) => worst = worst.max(failure),
                }
            }
        }
        Err(worst)
    }

    async fn ask_one(&self, server: SocketAddr, query: &Query) -> Result<Message, Failure> {
        self.pace.wait_for_permit().await;
        let reply = match Box::pin(over_udp(server, query, self.timeout)).await {
            Ok(Datagram::Whole(reply)) => Ok(reply),
            Ok(Datagram::Cut) => {
                count("truncated");
                self.pace.wait_for_permit().await;
                Box::pin(over_tcp(server, query, self.timeout)).await
            }
            Err(failure) => Err(failure),
        };
        count(match &reply {
            Ok(reply) if reply.metadata.response_code == ResponseCode::NXDomain => "nxdomain",
            Ok(_) => "noerror",
            Err(Failure::ServFail) => "servfail",
            Err(Failure::Refused) => "refused",
            Err(Failure::TimedOut) => "timed-out",
        });
        reply
    }

    /// As configured, those that lately did not answer last.
    fn in_order(&self) -> impl Iterator<Item = &Server> {
        let now = self.now();
        let (avoided, answering): (Vec<_>, Vec<_>) =
            self.servers.iter().partition(|it| it.avoided_until.load(Ordering::Relaxed) > now);
        answering.into_iter().chain(avoided)
    }

    /// Silence is a server's own; SERVFAIL and REFUSED may be a name's.
    fn remember(&self, server: &Server, reply: &Result<Message, Failure>) {
        let until = match reply {
            Err(Failure::TimedOut) => self.now().saturating_add(millis(UNRESPONSIVE_TIME)),
            Ok(_) | Err(Failure::Refused | Failure::ServFail) => 0,
        };
        server.avoided_until.store(until, Ordering::Relaxed);
    }

    fn now(&self) -> u64 {
        millis(self.started.elapsed())
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn count(outcome: &'static str) {
    metrics::counter!("waxwing_dns_queries_total", "outcome" => outcome).increment(1);
}

/// Lets so many queries a second pass, first come, first served.
#[derive(Debug)]
struct Pace {
    limiter: DefaultDirectRateLimiter,
    queue: Mutex<()>,
    clock: DefaultClock,
}

impl Pace {
    fn new(per_second: NonZeroU32) -> Self {
        let burst = NonZeroU32::new(per_second.get() / BURST_FRACTION).unwrap_or(NonZeroU32::MIN);
        let clock = DefaultClock::default();
        let quota = Quota::per_second(per_second).allow_burst(burst);
        Self {
            limiter: RateLimiter::direct_with_clock(quota, clock.clone()),
            queue: Mutex::default(),
            clock,
        }
    }

    async fn wait_for_permit(&self) {
        let _first = self.queue.lock().await;
        while let Err(not_until) = self.limiter.check() {
            sleep(not_until.wait_time_from(self.clock.now())).await;
        }
    }
}
