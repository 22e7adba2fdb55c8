//! The rule of the last owner: an account that has an owner who can log in keeps one. An account without one stays as it
//! is: nobody is kept in it.

use crate::id::{AccountId, UserId};
use crate::store::AccountOwners;

/// Accounts that the message of a refusal names.
const MAX_NAMED_ACCOUNTS: usize = 5;

/// A change after which nobody who can log in would own these accounts.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "an account keeps at least one owner who can log in; make somebody else an owner of {} first",
    named(.0)
)]
pub struct LastOwner(Vec<(AccountId, String)>);

/// Lets a person stop being an owner of all these accounts, unless one of them would lose its last owner.
pub(super) fn keep_an_owner(accounts: &[AccountOwners], without: UserId) -> Result<(), LastOwner> {
    let is_last_owner = |it: &&AccountOwners| {
        let mut can_log_in = it.owners.iter().filter(|it| it.can_log_in);
        can_log_in.next().is_some_and(|it| it.user == without) && can_log_in.next().is_none()
    };
    let lost = accounts.iter().filter(is_last_owner);
    let lost: Vec<_> = lost.map(|it| (it.account, it.account_name.clone())).collect();
    if lost.is_empty() { Ok(()) } else { Err(LastOwner(lost)) }
}

fn named(accounts: &[(AccountId, String)]) -> String {
    let named = accounts.iter().take(MAX_NAMED_ACCOUNTS);
    let named: Vec<String> = named.map(|(id, name)| format!("{name} ({id})")).collect();
    let more = accounts.len().saturating_sub(MAX_NAMED_ACCOUNTS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;
    use crate::store::Owner;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn account(owners: &[(UserId, bool)]) -> AccountOwners {
        let owner =
            |(user, can_log_in): &(UserId, bool)| Owner { user: *user, can_log_in: *can_log_in };
        AccountOwners {
            account: AccountId::new(NOW),
            account_name: "Tern".to_owned(),
            owners: owners.iter().map(owner).collect(),
        }
    }

    #[test]
    fn the_last_owner_who_can_log_in_stays_and_is_told_where() {
        let (ada, bo) = (UserId::new(NOW), UserId::new(NOW));
        let shared = account(&[(ada, true), (bo, true)]);
        let invited = account(&[(ada, true), (bo, false)]);
        let others = account(&[(bo, true)]);
        let open = account(&[(ada, false)]);
        let nobodys = account(&[]);
        for kept in [&shared, &others, &open, &nobodys] {
            assert_eq!(keep_an_owner(std::slice::from_ref(kept), ada), Ok(()), "{kept:?}");
        }
        let refused = keep_an_owner(&[shared, invited.clone(), others, open, nobodys], ada);
        let said = refused.expect_err("one of them has no other owner").to_string();
        assert!(said.ends_with(&format!("an owner of Tern ({}) first", invited.account)), "{said}");
    }

    #[test]
    fn a_refusal_names_some_accounts_and_counts_the_others() {
        let ada = UserId::new(NOW);
        let accounts: Vec<AccountOwners> = (0..7).map(|_| account(&[(ada, true)])).collect();
        let said = keep_an_owner(&accounts, ada).expect_err("refused").to_string();
        assert_eq!(said.matches("Tern (acc_").count(), MAX_NAMED_ACCOUNTS, "{said}");
        assert!(said.contains(" and 2 more first"), "{said}");
    }
}
