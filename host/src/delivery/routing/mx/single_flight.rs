//! One lookup for each domain at a time; parallel calls wait for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::{Mutex as Gate, MutexGuard as GateGuard};

use crate::delivery::lock::lock;

#[derive(Debug, Default)]
pub(super) struct SingleFlight(Mutex<HashMap<String, Waiting>>);

#[derive(Debug)]
struct Waiting {
    gate: Arc<Gate<()>>,
    count: usize,
}

/// One caller's place; released on drop.
#[derive(Debug)]
pub(super) struct FlightGuard<'a> {
    flights: &'a SingleFlight,
    domain: &'a str,
    gate: Arc<Gate<()>>,
}

impl SingleFlight {
    pub(super) fn join<'a>(&'a self, domain: &'a str) -> FlightGuard<'a> {
        let mut all = lock(&self.0);
        let waiting = all
            .entry(domain.to_owned())
            .or_insert_with(|| Waiting { gate: Arc::default(), count: 0 });
        waiting.count += 1;
        FlightGuard { flights: self, domain, gate: Arc::clone(&waiting.gate) }
    }
}

impl FlightGuard<'_> {
    /// Waits until no other lookup of the domain runs.
    pub(super) async fn acquire(&self) -> GateGuard<'_, ()> {
        self.gate.lock().await
    }
}

impl Drop for FlightGuard<'_> {
    fn drop(&mut self) {
        let mut all = lock(&self.flights.0);
        if let Some(waiting) = all.get_mut(self.domain) {
            waiting.count = waiting.count.saturating_sub(1);
            if waiting.count == 0 {
                all.remove(self.domain);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn one_at_a_time_goes_and_nothing_stays_behind() {
        let flights = SingleFlight::default();
        let (one, two) = (flights.join("example.com"), flights.join("example.com"));
        let other = flights.join("example.net");
        let turn = one.acquire().now_or_never().expect("free");
        assert!(two.acquire().now_or_never().is_none());
        assert!(other.acquire().now_or_never().is_some());
        drop(turn);
        assert!(two.acquire().now_or_never().is_some());
        drop((one, other));
        assert_eq!(lock(&flights.0).len(), 1);
        drop(two);
        assert!(lock(&flights.0).is_empty());
    }
}
