//! The look-ups of the checks and nothing else, by a plain resolver: what DNS itself costs here.

use std::io;
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::RecordType;
use tokio::task::JoinSet;
use waxwing_dns::DnsServer;

use super::zone::{Question, label};
use crate::figures;

/// CPU of a thread, in nanoseconds, is the first figure.
const OWN_CPU: &str = "/proc/thread-self/schedstat";

/// What one round did.
#[derive(Debug)]
pub struct HandRound {
    /// Domains about which all was asked.
    pub checks_per_second: u64,
    pub queries_per_second: u64,
    /// CPU of the resolver, without the name server, for each domain.
    pub cpu_nanos: u64,
}

/// The questions of each check, asked by hand.
pub struct ByHand {
    resolver: TokioResolver,
    questions: Vec<(Question, RecordType)>,
    concurrent: u32,
}

impl ByHand {
    /// Asks nobody yet.
    pub fn new(
        name_server: SocketAddr,
        questions: &[Question],
        concurrent: u32,
    ) -> io::Result<Self> {
        let mut udp = ConnectionConfig::udp();
        udp.port = name_server.port();
        let server = NameServerConfig::new(name_server.ip(), true, vec![udp]);
        let config = ResolverConfig::from_parts(None, Vec::new(), vec![server]);
        let provider = TokioRuntimeProvider::new();
        let mut builder = TokioResolver::builder_with_config(config, provider);
        let options = builder.options_mut();
        options.cache_size = 0;
        options.use_hosts_file = ResolveHosts::Never;
        options.timeout = Duration::from_secs(2);
        options.max_active_requests = usize::try_from(concurrent).unwrap_or(usize::MAX);
        let typed = questions.iter().map(|question| {
            let record_type = RecordType::from_str(&question.record_type);
            record_type.map(|it| (question.clone(), it)).map_err(io::Error::other)
        });
        Ok(Self {
            resolver: builder.build().map_err(io::Error::other)?,
            questions: typed.collect::<io::Result<_>>()?,
            concurrent,
        })
    }

    /// Asks all questions about so many domains, as many at one time as agreed. Every question has an
    /// answer, or this is an error.
    pub async fn round(self: &Arc<Self>, dns: &DnsServer, domains: u32) -> io::Result<HandRound> {
        dns.forget_queries();
        let next = Arc::new(AtomicU32::new(0));
        let (start, cpu) = (Instant::now(), own_cpu()?);
        let mut running = JoinSet::new();
        for _ in 0..self.concurrent {
            running.spawn(Arc::clone(self).work(Arc::clone(&next), domains));
        }
        while let Some(done) = running.join_next().await {
            done??;
        }
        let (wall, cpu) = (start.elapsed(), own_cpu()?.saturating_sub(cpu));
        let domains = u64::from(domains);
        Ok(HandRound {
            checks_per_second: figures::per_second(domains, wall),
            queries_per_second: figures::per_second(dns.query_count() as u64, wall),
            cpu_nanos: figures::share(cpu, domains),
        })
    }

    async fn work(self: Arc<Self>, next: Arc<AtomicU32>, domains: u32) -> io::Result<()> {
        let each = u32::try_from(self.questions.len()).map_err(io::Error::other)?;
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let (domain, which) = (number / each + 1, number % each);
            if domain > domains {
                return Ok(());
            }
            let which = usize::try_from(which).map_err(io::Error::other)?;
            let Some((question, record_type)) = self.questions.get(which) else { return Ok(()) };
            let name = question.name(&label(domain));
            let looked_up = self.resolver.lookup(name.as_str(), *record_type).await;
            let answers = looked_up.map_err(io::Error::other)?;
            if answers.answers().is_empty() {
                return Err(io::Error::other(format!("no answer about {name}")));
            }
        }
    }
}

/// CPU time of this thread. The generator has only one, beside that of the name server.
fn own_cpu() -> io::Result<Duration> {
    let text = std::fs::read_to_string(OWN_CPU)?;
    let nanos = text.split_whitespace().next().and_then(|it| it.parse().ok());
    let nanos = nanos.ok_or_else(|| io::Error::other(format!("{OWN_CPU} says {text}")))?;
    Ok(Duration::from_nanos(nanos))
}
