//! Bounds what one account may have done at one time: keys cost arithmetic, checks cost look-ups.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::id::AccountId;

/// Additions and checks that an account may have under way.
const AT_ONCE: u32 = 4;

/// What each account has under way.
#[derive(Debug, Clone, Default)]
pub struct Gate(Arc<Mutex<HashMap<AccountId, u32>>>);

/// A place; dropped, it is free again.
#[derive(Debug)]
pub struct Place {
    gate: Gate,
    account: AccountId,
}

impl Gate {
    /// A place for the account, if it has one left.
    #[must_use]
    pub fn enter(&self, account: AccountId) -> Option<Place> {
        let mut taken = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = taken.entry(account).or_default();
        if *own >= AT_ONCE {
            return None;
        }
        *own += 1;
        Some(Place { gate: self.clone(), account })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.gate.0.lock().unwrap_or_else(PoisonError::into_inner);
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
        let (gate, now) = (Gate::default(), Timestamp::from_millis(0));
        let account = AccountId::new(now);
        let places: Vec<_> = (0..5).map(|_| gate.enter(account)).collect();
        let got: Vec<bool> = places.iter().map(Option::is_some).collect();
        assert_eq!(got, [true, true, true, true, false]);
        assert!(gate.enter(AccountId::new(now)).is_some(), "another account is not held up");
        drop(places);
        assert!(gate.enter(account).is_some());
    }
}
