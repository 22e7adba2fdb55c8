//! Requeues messages that waited for a destination or a domain.

use std::collections::BTreeSet;

use crate::clock::Timestamp;
use crate::delivery::shaping::admission::Placement;
use crate::delivery::shaping::requeue::{Called, MOST};
use crate::delivery::shaping::unresolved_domains::domain_of;
use crate::store::Store;

/// For how many destinations they go on at one time.
const AT_ONE_TIME: usize = 16;
/// How many have to wait for a destination before one tries it out of its turn.
const MANY: u32 = 5;

/// Lets those messages go on that were called.
pub async fn wake(store: &Store, placement: &Placement, now: Timestamp) {
    let Called { one_of_each, all, hosts, probes } = placement.destinations.called();
    if let Some(after) = one_of_each {
        match store.wake_one_of_each(&after, now).await {
            Ok((woken, more)) => {
                if woken > 0 {
                    tracing::info!(
                        destinations = woken,
                        "one message tries each destination that others wait for"
                    );
                }
                if let Some(after) = more {
                    placement.destinations.wakes().call_one_of_each(after);
                }
            }
            Err(error) => {
                tracing::error!(%error, "deferred messages cannot be requeued for one destination of each; trying again");
                placement.destinations.wakes().call_one_of_each(after);
            }
        }
    }
    if let Some(after) = all {
        match store.wake_all(&after, now).await {
            Ok((_, Some(after))) => placement.destinations.wakes().call_all(after),
            Ok((_, None)) => {}
            Err(error) => {
                tracing::error!(%error, "deferred messages cannot be requeued for changed routes; trying again");
                placement.destinations.wakes().call_all(after);
            }
        }
    }
    for name in probes {
        if let Err(error) = store.wake_one_of_many(&name, MANY, now).await {
            tracing::error!(name, %error, "no probe delivery can be scheduled for this destination");
        }
    }
    if hosts.is_empty() {
        return;
    }
    // Hosts that are new here are called, too, and nearly always nothing waits for them.
    let called: Vec<_> =
        hosts.into_iter().map(|(it, most)| (placement.names_of(&it), it, most)).collect();
    let names: BTreeSet<String> = called.iter().flat_map(|(it, ..)| it).cloned().collect();
    let waited_for = match store.waited_for(&names).await {
        Ok(waited_for) => waited_for,
        Err(error) => {
            tracing::error!(%error, "destinations of deferred messages cannot be listed; trying again");
            for (_, name, most) in called.into_iter().filter(|(_, it, _)| is_found(placement, it)) {
                placement.destinations.wakes().call(&name, most);
            }
            return;
        }
    };
    let mut writes = 0;
    for (names, hosts, most) in called {
        let names = &names & &waited_for;
        // What was delivered is to be written down meanwhile.
        writes += usize::from(!names.is_empty());
        if writes > AT_ONE_TIME {
            placement.destinations.wakes().call(&hosts, most);
            continue;
        }
        let woken = if names.is_empty() { Ok(0) } else { store.wake(&names, most, now).await };
        match woken {
            Ok(woken) if woken < u64::from(most) => placement.destinations.nothing_waits(&hosts),
            // Nothing has to be taken before the others may go on, too.
            Ok(_) if most == MOST && is_found(placement, &hosts) => {
                placement.destinations.wakes().call(&hosts, most);
            }
            Ok(_) => {}
            // They go on at their own time, or with the next that is taken.
            Err(error) => {
                tracing::error!(hosts, %error, "deferred messages cannot be requeued for a recovered destination; trying again");
                if is_found(placement, &hosts) {
                    placement.destinations.wakes().call(&hosts, most);
                }
            }
        }
    }
}

/// Whether it is the name under which messages wait until it is known where to, and that is known.
fn is_found(placement: &Placement, name: &str) -> bool {
    domain_of(name).is_some_and(|it| placement.exchanges.knows_where(it))
}
