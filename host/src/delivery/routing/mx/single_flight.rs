//! Look-ups under way: one for each domain, whoever else asks waits for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::{Mutex as Gate, MutexGuard as Turn};

use crate::delivery::lock::lock;

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Flights(Mutex<HashMap<String, Waiting>>);

#[derive(Debug)]
struct Waiting {
    gate: Arc<Gate<()>>,
    count: usize,
}

/// The place of one that asks; given back when it is dropped.
#[derive(Debug)]
pub(super) struct Flight<'a> {
    flights: &'a Flights,
    domain: &'a str,
    gate: Arc<Gate<()>>,
}

impl Flights {
    pub(super) fn join<'a>(&'a self, domain: &'a str) -> Flight<'a> {
        let mut all = lock(&self.0);
        let waiting = all
            .entry(domain.to_owned())
            .or_insert_with(|| Waiting { gate: Arc::default(), count: 0 });
        waiting.count += 1;
        Flight { flights: self, domain, gate: Arc::clone(&waiting.gate) }
    }
}

impl Flight<'_> {
    /// Waits until nobody else looks this domain up.
    pub(super) async fn turn(&self) -> Turn<'_, ()> {
        self.gate.lock().await
    }
}

impl Drop for Flight<'_> {
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
        let flights = Flights::default();
        let (one, two) = (flights.join("example.com"), flights.join("example.com"));
        let other = flights.join("example.net");
        let turn = one.turn().now_or_never().expect("free");
        assert!(two.turn().now_or_never().is_none());
        assert!(other.turn().now_or_never().is_some());
        drop(turn);
        assert!(two.turn().now_or_never().is_some());
        drop((one, other));
        assert_eq!(flights.lock().len(), 1);
        drop(two);
        assert!(flights.lock().is_empty());
    }
}
