//! File descriptors: most systems give a process 1,024 until it asks for more, which is far below
//! the connections that the configuration allows.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::config::Config;

/// For the database, the plugins, the log, deliveries, and connections beyond the bounds that only get
/// probes answered.
const RESERVED_DESCRIPTORS: u64 = 512;

/// Asks for enough descriptors for the connections that a configuration allows. Where the system gives
/// fewer, the configuration that is returned allows fewer connections, and the log says how many: a server
/// that accepts more than it has descriptors for answers no probe and opens no file.
pub fn fit(config: &Config) -> Config {
    let mut config = config.clone();
    let (connections, wanted) = (connections(&config), wanted(&config));
    let Some(given) = given(wanted) else { return config };
    let fitting = fitting(given);
    config.smtp.connections = scaled_limit(config.smtp.connections, connections, fitting);
    config.limits.connections = scaled_limit(config.limits.connections, connections, fitting);
    tracing::warn!(
        given,
        wanted,
        smtp_connections = config.smtp.connections,
        http_connections = config.limits.connections,
        "the limit of open files is below the connections that the configuration allows, so fewer are \
         accepted; raise the limit (LimitNOFILE=, ulimit -n), or lower smtp.connections and \
         limits.connections"
    );
    config
}

/// The descriptors that the connections of a configuration need, and all else.
pub fn wanted(config: &Config) -> u64 {
    connections(config).saturating_add(RESERVED_DESCRIPTORS)
}

fn connections(config: &Config) -> u64 {
    let connections = config.smtp.connections.saturating_add(config.limits.connections);
    u64::try_from(connections).unwrap_or(u64::MAX)
}

/// As many as the system gives, where that is fewer than wanted.
fn given(wanted: u64) -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    let asked = raised(&limit, wanted)?;
    let given = match setrlimit(Resource::Nofile, asked) {
        Ok(()) => asked.current,
        Err(_) => limit.current,
    };
    given.filter(|given| *given < wanted)
}

/// The connections that so many descriptors are enough for. Of a small limit two thirds are for what is
/// not a connection, which must go on.
fn fitting(given: u64) -> u64 {
    given - RESERVED_DESCRIPTORS.min(given.saturating_mul(2).div_ceil(3))
}

/// The share of the `available` connections for a limit of `configured` out of `configured_in_all`; at least one.
fn scaled_limit(configured: usize, configured_in_all: u64, available: u64) -> usize {
    let part = u128::from(available) * configured as u128 / u128::from(configured_in_all.max(1));
    usize::try_from(part).unwrap_or(configured).max(1)
}

/// The limit to ask for: as much as is wanted, as far as this process may go; none where there is
/// enough. A missing number means that there is no limit.
fn raised(limit: &Rlimit, wanted: u64) -> Option<Rlimit> {
    let current = limit.current.filter(|current| *current < wanted)?;
    let may = limit.maximum.map_or(wanted, |maximum| wanted.min(maximum));
    Some(Rlimit { current: Some(may.max(current)), maximum: limit.maximum })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_asks_for_what_it_needs_and_may_have() {
        let limit = |current, maximum| Rlimit { current, maximum };
        let asked = |limit: &Rlimit| raised(limit, 10_000).and_then(|it| it.current);
        assert_eq!(asked(&limit(Some(1_024), Some(524_288))), Some(10_000));
        assert_eq!(asked(&limit(Some(1_024), Some(4_096))), Some(4_096));
        assert_eq!(asked(&limit(Some(1_024), None)), Some(10_000));
        assert_eq!(asked(&limit(Some(20_000), Some(20_000))), None, "enough");
        assert_eq!(asked(&limit(None, None)), None, "no limit at all");
    }

    #[test]
    fn connections_get_what_is_left_by_their_shares() {
        assert_eq!((fitting(150), fitting(1_024), fitting(0)), (50, 512, 0));
        assert_eq!(scaled_limit(10_000, 20_000, 50), 25);
        assert_eq!(scaled_limit(100, 20_000, 50), 1, "none is left without any");
    }
}
