//! Connections beyond the bounds: a few, so that probes and refusals are answered on a full server.
//!
//! A new one ends the oldest one. Whoever sends a request at once is answered at once, and whoever
//! opens connections and sends nothing only displaces connections of the same kind.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// Connections beyond the bounds at one time; a quarter of the connections within the bounds where that
/// is fewer.
const MAX_OVERFLOW: usize = 64;
/// However few connections are within the bounds.
const MIN_OVERFLOW: usize = 8;

#[derive(Debug, Clone, Default)]
pub struct Overflow {
    open: Arc<Mutex<Open>>,
}

#[derive(Debug, Default)]
struct Open {
    entered: u64,
    connections: BTreeMap<u64, CancellationToken>,
}

/// A connection beyond the bounds.
#[derive(Debug)]
pub struct Entered {
    overflow: Overflow,
    number: u64,
    displaced: CancellationToken,
}

impl Overflow {
    /// Lets a connection in beyond `bound`, and ends the oldest one where there are too many.
    pub fn enter(&self, bound: usize) -> Entered {
        let mut open = self.open();
        if open.connections.len() >= (bound / 4).clamp(MIN_OVERFLOW, MAX_OVERFLOW)
            && let Some((_, oldest)) = open.connections.pop_first()
        {
            oldest.cancel();
        }
        open.entered += 1;
        let (number, displaced) = (open.entered, CancellationToken::new());
        open.connections.insert(number, displaced.clone());
        Entered { overflow: self.clone(), number, displaced }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entered {
    /// Runs the connection until it ends or is displaced.
    pub async fn run(self, connection: impl Future<Output = ()>) {
        let _ended = self.displaced.run_until_cancelled(connection).await;
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        self.overflow.open().connections.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_connection_displaces_the_oldest_and_none_is_remembered() {
        let overflow = Overflow::default();
        let mut entered: Vec<Entered> = (0..MAX_OVERFLOW).map(|_| overflow.enter(10_000)).collect();
        assert!(entered.iter().all(|it| !it.displaced.is_cancelled()));
        entered.push(overflow.enter(10_000));
        let displaced: Vec<usize> =
            (0..entered.len()).filter(|it| entered[*it].displaced.is_cancelled()).collect();
        assert_eq!(displaced, [0]);
        drop(entered);
        assert!(overflow.open().connections.is_empty());
    }
}
