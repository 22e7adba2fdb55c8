//! Acts as the audit log names them: the page, the operation of the API and the command that do the same write the same
//! action and the same subject. An act without a function here has the identifier or the name of its one thing as subject.
//!
//! A subject says what was changed, and to what. No password, secret or link stands in one; the store bounds its length.

use std::fmt::Display;

use super::Change;
use super::accounts::{AccountChange, PlanChoice};
use crate::account::brand::{Brand, BrandField};
use crate::account::role::Role;
use crate::clock::Timestamp;
use crate::credit::Credits;
use crate::id::{AccountId, MessageId};
use crate::message::address::EmailAddress;
use crate::store::{ActorId, AuditRow, Maintenance};
use crate::template::slug::Slug;

/// Addresses that a subject names; of more it says how many.
const MAX_NAMED_ADDRESSES: usize = 10;

/// What was done, and to what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Act {
    pub action: &'static str,
    /// Whose log it belongs to; none where that is the account which the session, the key or the command is about.
    pub account: Option<AccountId>,
    pub subject: String,
}

impl Act {
    fn new(action: &'static str, subject: String) -> Self {
        Self { action, account: None, subject }
    }

    fn of(account: AccountId, action: &'static str, subject: String) -> Self {
        Self { action, account: Some(account), subject }
    }

    /// The row of the audit log, for an actor that has no name and no address.
    #[must_use]
    pub fn row(self, actor: ActorId, at: Timestamp) -> AuditRow {
        AuditRow {
            at,
            account: self.account,
            actor,
            acting: false,
            actor_name: None,
            action: self.action.to_owned(),
            subject: Some(self.subject),
            ip: None,
        }
    }

    /// The action and the subject, for the log of the account that a session shows.
    #[must_use]
    pub fn in_account(self) -> (&'static str, Option<String>) {
        (self.action, Some(self.subject))
    }
}

/// The account in whose log an action is written; none for the log of the server. The log of an account is deleted with the
/// account, so that the deletion stands in the log of the server.
#[must_use]
pub fn log_of(action: &str, account: Option<AccountId>) -> Option<AccountId> {
    account.filter(|_| action != "delete_account")
}

#[must_use]
pub fn granted(account: AccountId, amount: Credits) -> Act {
    Act::of(account, "grant_credits", format!("{account}: {}", amount.0))
}

/// A change of an account, with the new value of each field that it names.
#[must_use]
pub fn account_changed(account: AccountId, change: &AccountChange) -> Act {
    let AccountChange { name, plan, state, sender, strict, credits_low } = change;
    let said = [
        name.as_ref().map(|it| format!("name “{it}”")),
        plan.as_ref().map(|it| format!("plan {}", plan_name(it))),
        state.map(|it| it.as_str().to_owned()),
        changed("sender", sender),
        strict.map(|it| format!("strict {it}")),
        changed("credits low", credits_low),
    ];
    Act::of(account, "change_account", with_details(account, said))
}

/// A change of the brand, with each value that is another one than before.
#[must_use]
pub fn brand_changed(account: AccountId, before: &Brand, after: &Brand) -> Act {
    let said = BrandField::ALL.map(|field| match (before.value(field), after.value(field)) {
        (before, after) if before == after => None,
        (_, Some(value)) => Some(format!("{field} “{value}”")),
        (_, None) => Some(format!("no {field}")),
    });
    Act::of(account, "change_brand", with_details(account, said))
}

#[must_use]
pub fn invited(email: &EmailAddress, (account, role): (AccountId, Role)) -> Act {
    Act::of(account, "invite_user", format!("{email}: {role}"))
}

/// An operator of the server was invited, who may have a role in an account, too.
#[must_use]
pub fn operator_invited(email: &EmailAddress, place: Option<(AccountId, Role)>) -> Act {
    match place {
        Some((account, role)) => {
            Act::of(account, "invite_user", format!("{email}: {role}, operator"))
        }
        None => Act::new("invite_user", format!("{email}: operator")),
    }
}

#[must_use]
pub fn invited_again(email: &EmailAddress) -> Act {
    Act::new("invite_user_again", email.to_string())
}

#[must_use]
pub fn role_given(account: AccountId, email: &EmailAddress, role: Role) -> Act {
    Act::of(account, "give_role", format!("{email}: {role}"))
}

/// Somebody was taken out of one account.
#[must_use]
pub fn member_removed(email: &EmailAddress) -> Act {
    Act::new("remove_member", email.to_string())
}

/// Somebody was taken out of the server.
#[must_use]
pub fn user_removed(email: &EmailAddress) -> Act {
    Act::new("remove_user", email.to_string())
}

#[must_use]
pub fn reset_link_made(email: &EmailAddress) -> Act {
    Act::new("make_reset_link", email.to_string())
}

#[must_use]
pub fn suppressed(account: AccountId, addresses: &[String]) -> Act {
    let action = if addresses.len() == 1 { "add_suppression" } else { "add_suppressions" };
    Act::of(account, action, all_of(addresses))
}

#[must_use]
pub fn unsuppressed(account: AccountId, address: &str) -> Act {
    Act::of(account, "delete_suppression", address.to_owned())
}

/// Addresses were put back on the list that had been taken off it.
#[must_use]
pub fn suppressions_restored(account: AccountId, addresses: &[String]) -> Act {
    Act::of(account, "restore_suppressions", all_of(addresses))
}

/// A template was copied; the copy is what was made.
#[must_use]
pub fn template_duplicated(copy: &Slug) -> Act {
    Act::new("duplicate_template", copy.to_string())
}

#[must_use]
pub fn maintenance_set(now: Option<&Maintenance>) -> Act {
    let said = match now {
        None => "off".to_owned(),
        Some(now) if now.holds_delivery() => format!("on, delivery held: {}", now.reason),
        Some(now) => format!("on: {}", now.reason),
    };
    Act::new("set_maintenance", said)
}

/// A backup was taken by hand, and kept in that place.
#[must_use]
pub fn backed_up(name: &str, place: &str) -> Act {
    Act::new("take_backup", format!("{name} in {place}"))
}

/// A data directory was made of that backup.
#[must_use]
pub fn restored(backup: &str, from: &str) -> Act {
    Act::new("restore_backup", format!("{backup} of {from}"))
}

/// The content of a message was read.
#[must_use]
pub fn content_read(account: AccountId, message: MessageId) -> Act {
    Act::of(account, "show_message_raw", message.to_string())
}

/// The configuration was read again: the keys that apply, and those that wait for a restart.
#[must_use]
pub fn configuration_reloaded(applied: &[&str], pending: &[&str]) -> Act {
    let pending = (!pending.is_empty()).then(|| format!("after a restart: {}", pending.join(", ")));
    let applied = (!applied.is_empty()).then(|| applied.join(", "));
    let said: Vec<String> = applied.into_iter().chain(pending).collect();
    let said = if said.is_empty() { "no key has changed".to_owned() } else { said.join("; ") };
    Act::new("reload_configuration", said)
}

fn plan_name(choice: &PlanChoice) -> &str {
    match choice {
        PlanChoice::Known(plan) | PlanChoice::Own(plan) => &plan.name,
    }
}

fn changed<T: Display>(what: &str, change: &Change<T>) -> Option<String> {
    match change {
        Change::Keep => None,
        Change::Clear => Some(format!("no {what}")),
        Change::Set(value) => Some(format!("{what} {value}")),
    }
}

fn with_details<const N: usize>(account: AccountId, said: [Option<String>; N]) -> String {
    let said: Vec<String> = said.into_iter().flatten().collect();
    if said.is_empty() { account.to_string() } else { format!("{account}: {}", said.join(", ")) }
}

fn all_of(addresses: &[String]) -> String {
    let named = addresses.get(..MAX_NAMED_ADDRESSES).unwrap_or(addresses).join(", ");
    match addresses.len().saturating_sub(MAX_NAMED_ADDRESSES) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::AccountState;
    use crate::account::plan::Plan;

    fn account() -> AccountId {
        "acc_01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().expect("an identifier")
    }

    #[test]
    fn a_reload_names_the_keys_that_apply_and_those_that_wait() {
        let said =
            |applied: &[&str], pending: &[&str]| configuration_reloaded(applied, pending).subject;
        let (rate, port) = ("limits.send_burst", "http.listen");
        assert_eq!(said(&[rate], &[port]), format!("{rate}; after a restart: {port}"));
        assert_eq!(said(&[], &[port]), format!("after a restart: {port}"));
        assert_eq!(said(&[], &[]), "no key has changed");
    }

    #[test]
    fn a_changed_account_is_named_with_each_new_value() {
        let change = AccountChange {
            name: Some("Acme".to_owned()),
            plan: Some(PlanChoice::Own(Plan::named("gold"))),
            state: Some(AccountState::Suspended),
            sender: Change::Clear,
            strict: Some(true),
            credits_low: Change::Set(50),
        };
        let said = format!(
            "{}: name “Acme”, plan gold, suspended, no sender, strict true, credits low 50",
            account()
        );
        let act = account_changed(account(), &change);
        assert_eq!(
            (act.action, act.subject, act.account),
            ("change_account", said, Some(account()))
        );
        let nothing = account_changed(account(), &AccountChange::default());
        assert_eq!(nothing.subject, account().to_string());
    }

    #[test]
    fn a_changed_brand_is_named_with_what_is_another_than_before() {
        let brand = |values: &[(BrandField, &str)]| {
            let values = values.iter().map(|(field, text)| (*field, (*text).to_owned()));
            Brand::stored(values.collect())
        };
        let before =
            brand(&[(BrandField::ProductName, "Acme"), (BrandField::BrandColor, "#23695e")]);
        let after = brand(&[(BrandField::ProductName, "Acme & Co")]);
        let said = format!("{}: product_name “Acme & Co”, no brand_color", account());
        assert_eq!(brand_changed(account(), &before, &after).subject, said);
        assert_eq!(brand_changed(account(), &after, &after).subject, account().to_string());
    }

    #[test]
    fn a_long_list_of_addresses_is_named_by_its_beginning_and_its_length() {
        let addresses = |count: usize| -> Vec<String> {
            (0..count).map(|n| format!("n{n}@example.com")).collect()
        };
        let one = suppressed(account(), &addresses(1));
        assert_eq!((one.action, one.subject.as_str()), ("add_suppression", "n0@example.com"));
        let all = suppressed(account(), &addresses(1_000));
        assert_eq!(all.action, "add_suppressions");
        assert!(all.subject.ends_with("n9@example.com and 990 more"), "{}", all.subject);
        let ten = suppressions_restored(account(), &addresses(10));
        assert!(ten.subject.ends_with("n9@example.com"), "{}", ten.subject);
    }
}
