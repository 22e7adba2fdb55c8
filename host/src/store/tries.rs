//! Transactions that write beside others may meet each other's locks in the wrong order, and PostgreSQL ends one of
//! them. That one has written nothing and is run again.

use std::time::Duration;

use crate::id::fill_random;
use crate::store::StoreError;

/// How often a transaction is run, at most.
const MAX_TRIES: u32 = 8;
/// The longest pause before it is run the second time; twice as long each time after.
const PAUSE_MS: u64 = 8;

/// How often a transaction has been run in vain.
#[derive(Debug, Default)]
pub struct Tries(u32);

impl Tries {
    /// How long to wait before the transaction that ended so is run again; none where it is not.
    pub fn after(&mut self, error: &StoreError) -> Option<Duration> {
        if error.is_in_the_way() { self.again() } else { None }
    }

    /// How long to wait before the transaction is run again, which has written nothing; none after the last time.
    pub fn again(&mut self) -> Option<Duration> {
        self.0 += 1;
        if self.0 >= MAX_TRIES {
            return None;
        }
        // At random: those who met here would meet again.
        let mut random = [0; 2];
        fill_random(&mut random);
        let longest = PAUSE_MS << self.0;
        Some(Duration::from_millis(u64::from(u16::from_le_bytes(random)) % longest))
    }
}

/// Runs a transaction, which the expression begins and ends, until it ends otherwise than by others in its way.
macro_rules! repeated {
    ($transaction:expr) => {{
        let mut tries = $crate::store::tries::Tries::default();
        loop {
            let ended = $transaction.await;
            let pause = ended.as_ref().err().and_then(|error| tries.after(error));
            match pause {
                Some(pause) => tokio::time::sleep(pause).await,
                None => break ended,
            }
        }
    }};
}

pub(super) use repeated;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_is_run_a_bounded_number_of_times() {
        let mut tries = Tries::default();
        let pauses: Vec<Duration> = std::iter::from_fn(|| tries.again()).collect();
        assert_eq!(pauses.len(), 7);
        assert!(pauses.iter().all(|it| *it < Duration::from_secs(2)), "{pauses:?}");
        let other = StoreError::NegativeBalance;
        assert_eq!(Tries::default().after(&other), None, "nobody was in its way");
    }
}
