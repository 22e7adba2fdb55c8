//! DNS: facts, never verdicts. Queries and answers, with server and time, to the exact byte.
//!
//! Names are absolute: no search domain and no hosts file is ever used. "Does not exist" and "no
//! data" are only reported when a name server answered so; everything else is a failure.

mod chain;
mod dispatch;
mod name;
mod observation;
mod reach;
mod server;
mod settings;
mod text;

#[cfg(test)]
mod tests;

pub use observation::{Answer, Observation, Outcome, RecordType};
pub use reach::{Reach, not_public};
pub use settings::Settings;
pub use text::text;

use std::net::SocketAddr;
use std::sync::Arc;

use hickory_resolver::net::NetError;
use hickory_resolver::system_conf::read_system_conf;
use tokio::sync::Semaphore;

use crate::clock::Clock;

use chain::{Chain, Step};
use dispatch::Dispatch;

/// The port of DNS.
const PORT: u16 = 53;

/// No resolver can be made.
#[derive(Debug, thiserror::Error)]
pub enum ResolverError {
    /// None is configured, and the system has none.
    #[error(
        "no name server is known: name some in [dns] nameservers, or repair those of the system"
    )]
    NoNameserver(#[source] Box<NetError>),
}

/// Asks name servers, within limits. Clones share the limits and what is known of the servers.
#[derive(Debug, Clone)]
pub struct Resolver(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    dispatch: Dispatch,
    lookups: Semaphore,
    clock: Clock,
}

impl Resolver {
    /// A resolver; asks nobody yet.
    ///
    /// # Errors
    /// No name server is configured and the system has none.
    pub fn new(settings: &Settings, clock: Clock) -> Result<Self, ResolverError> {
        let servers = match settings.nameservers.as_slice() {
            [] => system_servers()?,
            configured => configured.to_vec(),
        };
        Ok(Self(Arc::new(Inner {
            dispatch: Dispatch::new(servers, settings),
            lookups: Semaphore::new(settings.concurrent.clamp(1, Semaphore::MAX_PERMITS)),
            clock,
        })))
    }

    /// Looks a name up, along its CNAMEs; waits for its turn and never fails. Dropped, it leaves
    /// nothing behind.
    ///
    /// `name` is A-labels, with or without a last dot. What cannot be a name (an empty label, one
    /// over 63 octets, more than 253 in all, not ASCII) does not exist: nobody is asked, `resolver`
    /// is empty. A chain of CNAMEs that loops or has more than 8 links is `ServFail`, as for
    /// everybody else who asks, and `cname_chain` shows why.
    pub async fn look_up(&self, name: &str, record_type: RecordType) -> Observation {
        let inner = &self.0;
        let Some(asked) = name::askable(name) else {
            return Observation {
                resolver: String::new(),
                outcome: Outcome::NxDomain,
                cname_chain: Vec::new(),
                dnssec_secure: false,
                at: inner.clock.now(),
            };
        };
        // Nobody closes it; were it closed, there would be no limit.
        let _turn = inner.lookups.acquire().await;
        let mut chain = Chain::of(asked);
        loop {
            let asked = chain.last().clone();
            let (server, reply) = match inner.dispatch.ask(&asked, record_type).await {
                Ok(answered) => answered,
                Err(failed) => {
                    return inner.observation(inner.dispatch.all(), failed.into(), &chain);
                }
            };
            match chain.follow(&reply, record_type) {
                Step::Asks => {}
                Step::Ends(outcome) => return inner.observation(server, outcome, &chain),
            }
        }
    }
}

impl Resolver {
    /// The observation of a lookup that was given up while it waited.
    #[must_use]
    pub fn unseen(&self) -> Observation {
        Observation {
            resolver: self.0.dispatch.all(),
            outcome: Outcome::TimedOut,
            cname_chain: Vec::new(),
            dnssec_secure: false,
            at: self.0.clock.now(),
        }
    }
}

impl Inner {
    fn observation(&self, resolver: String, outcome: Outcome, chain: &Chain) -> Observation {
        Observation {
            resolver,
            dnssec_secure: chain.is_secure() && !outcome.is_failure(),
            outcome,
            cname_chain: chain.targets(),
            at: self.clock.now(),
        }
    }
}

fn system_servers() -> Result<Vec<SocketAddr>, ResolverError> {
    let none = |error| ResolverError::NoNameserver(Box::new(error));
    let (config, _) = read_system_conf().map_err(none)?;
    let mut servers = Vec::new();
    for server in config.name_servers() {
        let address = SocketAddr::new(server.ip, PORT);
        if !servers.contains(&address) {
            servers.push(address);
        }
    }
    if servers.is_empty() { Err(none(NetError::NoConnections)) } else { Ok(servers) }
}
