//! Bounds the MX lookups under way, in all and for each account, so that any number of domains
//! without an answer leaves lookups for others.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use crate::id::AccountId;

/// The resolver of deliveries has the same bound.
pub const MAX_PARALLEL_LOOKUPS: usize = 512;
/// A lookup that takes longer leaves mail to the hosts of the expired result.
const SLOW_LOOKUP: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub struct LookupSlots {
    under_way: BTreeMap<String, (Option<AccountId>, Instant)>,
    of_accounts: HashMap<AccountId, usize>,
    for_nobody: usize,
}

impl LookupSlots {
    /// Begins a lookup for an account's mail, or in the background. Refused where it is under way
    /// already, and for an account that has as many as are left for all others.
    pub fn begin(&mut self, domain: &str, account: Option<AccountId>) -> bool {
        let free = MAX_PARALLEL_LOOKUPS.saturating_sub(self.under_way.len());
        let own = account.and_then(|it| self.of_accounts.get(&it)).copied().unwrap_or(0);
        if own >= free || self.has(domain) {
            return false;
        }
        self.under_way.insert(domain.to_owned(), (account, Instant::now()));
        match account {
            Some(account) => *self.of_accounts.entry(account).or_default() += 1,
            None => self.for_nobody += 1,
        }
        true
    }

    pub fn end(&mut self, domain: &str) {
        match self.under_way.remove(domain) {
            Some((Some(account), _)) => {
                if let Some(own) = self.of_accounts.get_mut(&account) {
                    *own -= 1;
                    if *own == 0 {
                        self.of_accounts.remove(&account);
                    }
                }
            }
            Some((None, _)) => self.for_nobody -= 1,
            None => {}
        }
    }

    /// Lookups in the background.
    pub fn for_nobody(&self) -> usize {
        self.for_nobody
    }

    pub fn has(&self, domain: &str) -> bool {
        self.under_way.contains_key(domain)
    }

    /// All lookups, and whether each is slow.
    pub fn all(&self) -> impl Iterator<Item = (&String, bool)> {
        self.under_way.iter().map(|(domain, (_, since))| (domain, since.elapsed() >= SLOW_LOOKUP))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;

    #[test]
    fn however_many_domains_an_account_has_others_are_looked_up() {
        let mut lookups = LookupSlots::default();
        let accounts = [1, 2, 3].map(|it| AccountId::new(Timestamp::from_millis(it)));
        let begin_all = |lookups: &mut LookupSlots, account: AccountId| {
            let domains = (0..MAX_PARALLEL_LOOKUPS).map(|n| format!("{n}.{account}.example"));
            domains.filter(|it| lookups.begin(it, Some(account))).count()
        };
        let begun = accounts.map(|it| begin_all(&mut lookups, it));
        assert_eq!(begun, [256, 128, 64], "half of what is left");
        assert!(lookups.begin("nobodys.example", None));
        assert!(!lookups.begin("nobodys.example", None), "it is under way");
        let domains: Vec<String> = lookups.all().map(|(it, _)| it.clone()).collect();
        for domain in &domains {
            lookups.end(domain);
            assert!(!lookups.has(domain));
        }
        assert!(lookups.of_accounts.is_empty() && lookups.for_nobody() == 0);
        assert_eq!(begin_all(&mut lookups, accounts[2]), 256);
    }
}
