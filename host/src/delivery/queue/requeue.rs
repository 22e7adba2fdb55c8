//! Requeues messages that waited for a destination, for the MX of a domain or for new routes.

use std::collections::BTreeSet;

use crate::clock::Timestamp;
use crate::delivery::shaping::admission::AdmissionControl;
use crate::delivery::shaping::requeue::{MAX_REQUEUE, RequeueRequests};
use crate::delivery::shaping::unresolved_domains::UnresolvedDomains;
use crate::message::waits_for::{Hosts, WaitsFor};
use crate::store::Store;

/// Bounds the writes of one round, so that outcomes are stored meanwhile.
const MAX_DESTINATIONS_PER_ROUND: usize = 16;
/// Messages that must wait for a destination before one of them is requeued as a probe.
const MIN_WAITING_FOR_PROBE: u32 = 5;

/// Requeues the messages that were requested since the last round.
pub async fn requeue_waiting(store: &Store, admission: &AdmissionControl, now: Timestamp) {
    let RequeueRequests { one_per_destination_after, all_after, most, probes } =
        admission.destinations.take_requeue_requests();
    if let Some(after) = one_per_destination_after {
        match store.requeue_one_of_each(&after, now).await {
            Ok((requeued, more)) => {
                if requeued > 0 {
                    tracing::info!(
                        destinations = requeued,
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
    if let Some(after) = all_after {
        match store.requeue_all(after, now).await {
            Ok((_, Some(after))) => admission.destinations.requeue().request_all(after),
            Ok((_, None)) => {}
            Err(error) => {
                tracing::error!(%error, "deferred messages cannot be requeued for changed routes; retrying");
                admission.destinations.requeue().request_all(after);
            }
        }
    }
    for waits_for in probes {
        if let Err(error) = store.requeue_one_of_many(&waits_for, MIN_WAITING_FOR_PROBE, now).await
        {
            tracing::error!(%waits_for, %error, "probe delivery cannot be scheduled for this destination");
        }
    }
    if most.is_empty() {
        return;
    }
    // New hosts are requested, too, and nearly always nothing waits for them.
    let requests: Vec<_> =
        most.into_iter().map(|(it, most)| (admission.waiting_for_same(&it), it, most)).collect();
    let all: BTreeSet<WaitsFor> = requests.iter().flat_map(|(it, ..)| it).cloned().collect();
    let waited_for = match store.waited_for(&all).await {
        Ok(waited_for) => waited_for,
        Err(error) => {
            tracing::error!(%error, "cannot read from the database which destinations deferred messages wait for; retrying");
            let found = requests.into_iter().filter(|(_, it, _)| is_found(admission, it));
            for (_, waits_for, most) in found {
                admission.destinations.requeue().request(waits_for, most);
            }
            return;
        }
    };
    let mut writes = 0;
    for (same, waits_for, most) in requests {
        let same = &same & &waited_for;
        // Leaves the database to the outcomes of deliveries.
        writes += usize::from(!same.is_empty());
        if writes > MAX_DESTINATIONS_PER_ROUND {
            admission.destinations.requeue().request(waits_for, most);
            continue;
        }
        let requeued = if same.is_empty() { Ok(0) } else { store.requeue(&same, most, now).await };
        match requeued {
            Ok(requeued) if requeued < u64::from(most) => {
                if let WaitsFor::Hosts { hosts, account } = &waits_for {
                    admission.destinations.note_none_waiting(hosts, *account);
                }
            }
            // The domain is resolved: the rest need not wait for a success.
            Ok(_) if most == MAX_REQUEUE && is_found(admission, &waits_for) => {
                admission.destinations.requeue().request(waits_for, most);
            }
            Ok(_) => {}
            // Otherwise they are due at their own time, or with the next success.
            Err(error) => {
                tracing::error!(%waits_for, %error, "deferred messages cannot be requeued for a recovered destination; retrying");
                if is_found(admission, &waits_for) {
                    admission.destinations.requeue().request(waits_for, most);
                }
            }
        }
    }
}

/// Requests what began to wait for hosts just as they recovered.
pub fn requeue_recovered(
    waited_for: BTreeSet<&WaitsFor>,
    admission: &AdmissionControl,
    unresolved: &mut UnresolvedDomains,
) {
    let (destinations, now) = (&admission.destinations, admission.clock.now());
    for waits_for in waited_for {
        match waits_for {
            WaitsFor::Mx(domain) if admission.mx.knows_where(domain) => {
                let most = unresolved.requeue_limit(domain);
                destinations.requeue().request(waits_for.clone(), most);
            }
            WaitsFor::Mx(domain) => unresolved.note_waiting(domain, now),
            // The routes were changed during the attempt.
            WaitsFor::Hosts { hosts: Hosts::Smarthost(name), .. }
                if admission.is_removed_smarthost(name) =>
            {
                destinations.requeue().request(waits_for.clone(), MAX_REQUEUE);
            }
            WaitsFor::Hosts { hosts, account } => destinations.note_waiting(hosts, *account, now),
            // The account's activation lets its mail go on.
            WaitsFor::Account(_) => {}
        }
    }
}

/// Whether these messages wait for the MX of a domain which is resolved by now.
fn is_found(admission: &AdmissionControl, waits_for: &WaitsFor) -> bool {
    matches!(waits_for, WaitsFor::Mx(domain) if admission.mx.knows_where(domain))
}
