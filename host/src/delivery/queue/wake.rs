//! Requeues messages that waited for a destination or a domain.

use std::collections::BTreeSet;

use crate::clock::Timestamp;
use crate::delivery::shaping::admission::AdmissionControl;
use crate::delivery::shaping::requeue::{MAX_REQUEUE, RequeueRequests};
use crate::delivery::waits_for::WaitsFor;
use crate::store::Store;

/// Bounds the writes of one round, so that outcomes are stored meanwhile.
const MAX_DESTINATIONS_PER_ROUND: usize = 16;
/// Messages that must wait for a destination before one of them is requeued as a probe.
const MIN_WAITING_FOR_PROBE: u32 = 5;

/// Requeues the messages that were requested since the last round.
pub async fn wake(store: &Store, admission: &AdmissionControl, now: Timestamp) {
    let RequeueRequests { one_per_destination, all, hosts, probes } =
        admission.destinations.take_requeue_requests();
    if let Some(after) = one_per_destination {
        match store.wake_one_of_each(&after, now).await {
            Ok((woken, more)) => {
                if woken > 0 {
                    tracing::info!(
                        destinations = woken,
                        "requeued one message for each destination with waiting mail"
                    );
                }
                if let Some(after) = more {
                    admission.destinations.requeue().request_one_per_destination(after);
                }
            }
            Err(error) => {
                tracing::error!(%error, "deferred messages cannot be requeued for each destination; retrying");
                admission.destinations.requeue().request_one_per_destination(after);
            }
        }
    }
    if let Some(after) = all {
        match store.wake_all(&after, now).await {
            Ok((_, Some(after))) => admission.destinations.requeue().request_all(after),
            Ok((_, None)) => {}
            Err(error) => {
                tracing::error!(%error, "deferred messages cannot be requeued for changed routes; retrying");
                admission.destinations.requeue().request_all(after);
            }
        }
    }
    for name in probes {
        if let Err(error) = store.wake_one_of_many(&name, MIN_WAITING_FOR_PROBE, now).await {
            tracing::error!(name, %error, "probe delivery cannot be scheduled for this destination");
        }
    }
    if hosts.is_empty() {
        return;
    }
    // New hosts are requested, too, and nearly always nothing waits for them.
    let requests: Vec<_> =
        hosts.into_iter().map(|(it, most)| (admission.waiting_names(&it), it, most)).collect();
    let names: BTreeSet<String> = requests.iter().flat_map(|(it, ..)| it).cloned().collect();
    let waited_for = match store.waited_for(&names).await {
        Ok(waited_for) => waited_for,
        Err(error) => {
            tracing::error!(%error, "cannot read from the database which destinations deferred messages wait for; retrying");
            for (_, name, most) in requests.into_iter().filter(|(_, it, _)| is_found(admission, it))
            {
                admission.destinations.requeue().request(&name, most);
            }
            return;
        }
    };
    let mut writes = 0;
    for (names, hosts, most) in requests {
        let names = &names & &waited_for;
        // Leaves the database to the outcomes of deliveries.
        writes += usize::from(!names.is_empty());
        if writes > MAX_DESTINATIONS_PER_ROUND {
            admission.destinations.requeue().request(&hosts, most);
            continue;
        }
        let woken = if names.is_empty() { Ok(0) } else { store.wake(&names, most, now).await };
        match woken {
            Ok(woken) if woken < u64::from(most) => {
                if let Some((hosts, account)) = WaitsFor::from(hosts.as_str()).back_off() {
                    admission.destinations.note_none_waiting(&hosts, account);
                }
            }
            // The domain is resolved: the rest need not wait for a success.
            Ok(_) if most == MAX_REQUEUE && is_found(admission, &hosts) => {
                admission.destinations.requeue().request(&hosts, most);
            }
            Ok(_) => {}
            // Otherwise they are due at their own time, or with the next success.
            Err(error) => {
                tracing::error!(hosts, %error, "deferred messages cannot be requeued for a recovered destination; retrying");
                if is_found(admission, &hosts) {
                    admission.destinations.requeue().request(&hosts, most);
                }
            }
        }
    }
}

/// Whether the name is that of an unresolved domain which is resolved by now.
fn is_found(admission: &AdmissionControl, name: &str) -> bool {
    matches!(WaitsFor::from(name), WaitsFor::Mx(domain) if admission.mx.knows_where(&domain))
}
