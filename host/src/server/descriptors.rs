//! File descriptors: most systems give a process 1,024 until it asks for more, which is far below
//! the connections that the configuration allows.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// For the database, the plugins, the log and deliveries.
const OTHERS: u64 = 512;

/// Asks for enough for so many connections, and says so if the system does not give them.
pub fn ask_for(connections: usize) {
    let wanted = u64::try_from(connections).unwrap_or(u64::MAX).saturating_add(OTHERS);
    let limit = getrlimit(Resource::Nofile);
    let Some(asked) = raised(&limit, wanted) else { return };
    let given = match setrlimit(Resource::Nofile, asked) {
        Ok(()) => asked.current,
        Err(_) => limit.current,
    };
    if let Some(given) = given.filter(|given| *given < wanted) {
        tracing::warn!(
            given,
            wanted,
            "the limit of open files is below the connections that the configuration allows; raise \
             it (LimitNOFILE=, ulimit -n), or lower smtp.connections and limits.connections"
        );
    }
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
}
