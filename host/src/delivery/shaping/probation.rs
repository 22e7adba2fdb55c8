//! Slots for hosts with no good record yet: a bounded share of all attempts, and a bounded share
//! for each account. Bounds the damage of any number of hanging hosts.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::delivery::lock::lock;
use crate::id::AccountId;

/// Quarters of all attempts that may go to hosts on probation, in all and for one account.
const QUARTERS_OF_ALL: usize = 3;
const QUARTERS_OF_ACCOUNT: usize = 1;

#[derive(Debug)]
pub struct Probation {
    most: usize,
    of_account: usize,
    under_way: Mutex<HashMap<AccountId, usize>>,
}

/// Released on drop.
#[derive(Debug)]
pub struct ProbationPermit {
    all: Arc<Probation>,
    account: AccountId,
}

impl Probation {
    /// Shares of `concurrent` attempts.
    #[must_use]
    pub fn of(concurrent: usize) -> Self {
        let part = |quarters: usize| (concurrent.saturating_mul(quarters) / 4).max(1);
        Self {
            most: part(QUARTERS_OF_ALL),
            of_account: part(QUARTERS_OF_ACCOUNT),
            under_way: Mutex::default(),
        }
    }

    #[must_use]
    pub fn take(self: &Arc<Self>, account: AccountId) -> Option<ProbationPermit> {
        let mut under_way = lock(&self.under_way);
        let all: usize = under_way.values().sum();
        let own = under_way.get(&account).copied().unwrap_or(0);
        if all >= self.most || own >= self.of_account {
            return None;
        }
        under_way.insert(account, own + 1);
        Some(ProbationPermit { all: Arc::clone(self), account })
    }
}

impl Drop for ProbationPermit {
    fn drop(&mut self) {
        let mut under_way = lock(&self.all.under_way);
        if let Some(own) = under_way.get_mut(&self.account) {
            *own -= 1;
            if *own == 0 {
                under_way.remove(&self.account);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;

    #[test]
    fn an_account_has_its_part_and_all_have_theirs() {
        let probation = Arc::new(Probation::of(16));
        let account = || AccountId::new(Timestamp::from_millis(0));
        let (one, two) = (account(), account());
        let mut taken: Vec<ProbationPermit> = (0..9).filter_map(|_| probation.take(one)).collect();
        assert_eq!(taken.len(), 4);
        taken.extend(probation.take(two));
        assert_eq!(taken.len(), 5, "another account has its own");
        taken.extend((0..9).filter_map(|_| probation.take(account())));
        assert_eq!(taken.len(), 12);
        taken.clear();
        assert!(probation.take(one).is_some());
    }
}
