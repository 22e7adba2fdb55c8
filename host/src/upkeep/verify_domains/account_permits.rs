//! Bounds what one account may have done at one time: keys cost arithmetic, checks cost lookups.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::id::AccountId;

/// Additions and checks that an account may have under way.
const MAX_PARALLEL_CHECKS: u32 = 4;

/// What each account has under way.
#[derive(Debug, Clone, Default)]
pub struct AccountPermits(Arc<Mutex<HashMap<AccountId, u32>>>);

/// A place; dropped, it is free again.
#[derive(Debug)]
pub struct AccountPermit {
    permits: AccountPermits,
    account: AccountId,
}

impl AccountPermits {
    /// A place for the account, if it has one left.
    #[must_use]
    pub fn enter(&self, account: AccountId) -> Option<AccountPermit> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = taken.entry(account).or_default();
        if *own >= MAX_PARALLEL_CHECKS {
            return None;
        }
        *own += 1;
        Some(AccountPermit { permits: self.clone(), account })
    }
}

impl Drop for AccountPermit {
    fn drop(&mut self) {
        let mut taken = self.permits.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = taken.get_mut(&self.account) {
            *own -= 1;
            if *own == 0 {
                taken.remove(&self.account);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;

    #[test]
    fn an_account_has_four_places_and_gets_them_back() {
        let (permits, now) = (AccountPermits::default(), Timestamp::from_millis(0));
        let account = AccountId::new(now);
        let places: Vec<_> = (0..5).map(|_| permits.enter(account)).collect();
        let got: Vec<bool> = places.iter().map(Option::is_some).collect();
        assert_eq!(got, [true, true, true, true, false]);
        assert!(permits.enter(AccountId::new(now)).is_some(), "another account is not held up");
        drop(places);
        assert!(permits.enter(account).is_some());
    }
}
