//! Resolves an endpoint's name at the server's name servers and checks the addresses before
//! anything connects, so that what was checked is what is connected to.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use moka::sync::Cache;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::guard::{Guard, NotPublic};
use crate::dns::{Observation, RecordType, Resolver};

/// How long addresses are cached: an endpoint that closes every connection must not use up the
/// server's lookups.
const CACHED_FOR: Duration = Duration::from_secs(5);
const MAX_CACHED_NAMES: u64 = 1_024;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoAddress {
    /// One of the addresses is forbidden: then none is used.
    #[error("{name} leads to an address that is not allowed: {forbidden}")]
    Forbidden { name: String, forbidden: NotPublic },
    #[error("{name} has no address")]
    None { name: String },
    /// The lookup failed.
    #[error("the name servers give no answer for {name}")]
    Unknown { name: String },
}

#[derive(Debug, Clone)]
pub struct GuardedResolver {
    resolver: Resolver,
    guard: Arc<Guard>,
    seen: Cache<String, Vec<IpAddr>>,
}

impl GuardedResolver {
    pub fn new(resolver: Resolver, guard: Arc<Guard>) -> Self {
        let seen = Cache::builder().max_capacity(MAX_CACHED_NAMES).time_to_live(CACHED_FOR).build();
        Self { resolver, guard, seen }
    }

    async fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, NoAddress> {
        let found = match self.seen.get(name) {
            Some(found) => found,
            None => self.look_up(name).await?,
        };
        for address in &found {
            let checked = self.guard.check_address(*address);
            checked
                .map_err(|forbidden| NoAddress::Forbidden { name: name.to_owned(), forbidden })?;
        }
        Ok(found)
    }

    async fn look_up(&self, name: &str) -> Result<Vec<IpAddr>, NoAddress> {
        let (v4, v6) = tokio::join!(
            self.resolver.look_up(name, RecordType::A),
            self.resolver.look_up(name, RecordType::Aaaa)
        );
        let addresses = |seen: &Observation| -> Vec<IpAddr> {
            seen.outcome.answers().iter().filter_map(|it| it.data.parse().ok()).collect()
        };
        let found = [addresses(&v4), addresses(&v6)].concat();
        if !found.is_empty() {
            self.seen.insert(name.to_owned(), found.clone());
            return Ok(found);
        }
        let name = name.to_owned();
        if v4.outcome.is_failure() || v6.outcome.is_failure() {
            Err(NoAddress::Unknown { name })
        } else {
            Err(NoAddress::None { name })
        }
    }
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let own = self.clone();
        Box::pin(async move {
            let found = own.addresses(name.as_str()).await?;
            // The port is the URL's.
            let sockets: Addrs = Box::new(found.into_iter().map(|it| SocketAddr::new(it, 0)));
            Ok(sockets)
        })
    }
}
