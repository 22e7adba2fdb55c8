//! Which rights one key has beyond another, and which rights a caller may grant.

use std::fmt;

use crate::account::ip_network::IpNetwork;
use crate::account::key::{ApiKey, Mode, Scope};
use crate::account::role::{Role, RoleTooLow};
use crate::clock::Timestamp;

/// The caller, who makes or changes keys.
#[derive(Debug, Clone, Copy)]
pub enum Grantor<'a> {
    /// Whoever can read the data directory.
    Machine,
    /// A key of the scope `operator`, for an account that it names.
    Operator(&'a ApiKey),
    /// A key of the scope `admin`, for its own account.
    Holder(&'a ApiKey),
    /// Somebody who is logged in, for the account that the session shows.
    Person(Role),
}

/// A right that one key has beyond another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excess {
    /// Live mode.
    Mode,
    Scope(Scope),
    Domains,
    Templates,
    Networks,
    /// It expires later.
    Expiry,
    /// The scope `operator`, from a session of the dashboard: there is no key that could have it.
    OperatorFromDashboard,
}

impl Grantor<'_> {
    /// Whether the caller may see that this key exists. A test key sees test keys; a key bound to domains or templates
    /// sees keys bound to the same ones or fewer.
    #[must_use]
    pub fn may_see(self, key: &ApiKey) -> bool {
        match self {
            Self::Machine | Self::Operator(_) | Self::Person(_) => true,
            Self::Holder(own) => {
                let hidden = [Excess::Mode, Excess::Domains, Excess::Templates];
                !excess_of(key, own).iter().any(|it| hidden.contains(it))
            }
        }
    }

    /// The rights of a key that the caller cannot grant. An operator grants an account any rights, but further
    /// operators no more than its own.
    pub(super) fn cannot_grant(self, key: &ApiKey) -> Vec<Excess> {
        match self {
            Self::Holder(own) => excess_of(key, own),
            Self::Operator(own) if key.allows(Scope::Operator) => {
                let of_the_server = [Excess::Networks, Excess::Expiry];
                excess_of(key, own).into_iter().filter(|it| of_the_server.contains(it)).collect()
            }
            // Operator keys are made where the data directory is.
            Self::Person(_) if key.allows(Scope::Operator) => vec![Excess::OperatorFromDashboard],
            Self::Machine | Self::Operator(_) | Self::Person(_) => Vec::new(),
        }
    }

    pub(super) fn calls_with(self, key: &ApiKey) -> bool {
        match self {
            Self::Machine | Self::Person(_) => false,
            Self::Operator(own) | Self::Holder(own) => own.id == key.id,
        }
    }

    pub(super) fn is_operator(self) -> bool {
        match self {
            Self::Machine | Self::Operator(_) => true,
            Self::Holder(own) => own.mode == Mode::Live && own.allows(Scope::Operator),
            Self::Person(_) => false,
        }
    }

    /// Whether the caller may make and change keys at all.
    pub(super) fn may_manage(self) -> Result<(), RoleTooLow> {
        match self {
            Self::Machine | Self::Operator(_) | Self::Holder(_) => Ok(()),
            Self::Person(role) => role.at_least(Role::Owner),
        }
    }
}

impl Excess {
    /// All of them, for the caller.
    pub(super) fn message(all: &[Self]) -> String {
        if all == [Self::OperatorFromDashboard] {
            return Self::OperatorFromDashboard.to_string();
        }
        let excess: Vec<String> = all.iter().map(ToString::to_string).collect();
        let test =
            if all.contains(&Self::Mode) { ". A test key can make test keys only" } else { "" };
        let excess = excess.join(", ");
        format!("the new rights would exceed those of the key of the request: {excess}{test}")
    }
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mode => f.write_str("live mode"),
            Self::Scope(scope) => write!(f, "scope {}", scope.as_str()),
            Self::Domains => f.write_str("more domains"),
            Self::Templates => f.write_str("more templates"),
            Self::Networks => f.write_str("more networks"),
            Self::Expiry => f.write_str("a later expiry"),
            Self::OperatorFromDashboard => f.write_str(
                "a dashboard session cannot make operator keys; use `waxwing key create` on the server",
            ),
        }
    }
}

/// The rights that `given` has beyond `own`.
pub fn excess_of(given: &ApiKey, own: &ApiKey) -> Vec<Excess> {
    let mut excess = Vec::new();
    if own.mode == Mode::Test && given.mode == Mode::Live {
        excess.push(Excess::Mode);
    }
    let scopes = given.scopes.iter().copied().filter(|scope| !own.allows(*scope));
    excess.extend(scopes.map(Excess::Scope));
    if !is_within(&own.domains, &given.domains, PartialEq::eq) {
        excess.push(Excess::Domains);
    }
    if !is_within(&own.templates, &given.templates, PartialEq::eq) {
        excess.push(Excess::Templates);
    }
    if !is_within(&own.networks, &given.networks, IpNetwork::covers) {
        excess.push(Excess::Networks);
    }
    let forever = Timestamp::from_millis(i64::MAX);
    if given.expires_at.unwrap_or(forever) > own.expires_at.unwrap_or(forever) {
        excess.push(Excess::Expiry);
    }
    excess
}

/// Whether each of `given` lies within one of `own`. An empty list stands for all there are.
fn is_within<T>(own: &[T], given: &[T], covers: impl Fn(&T, &T) -> bool) -> bool {
    let is_covered = |it: &T| own.iter().any(|one| covers(one, it));
    own.is_empty() || (!given.is_empty() && given.iter().all(is_covered))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::key::{KeyState, PresentedKey};
    use crate::id::{AccountId, KeyId};

    fn key() -> ApiKey {
        let (now, presented) = (Timestamp::from_millis(0), PresentedKey::generate(Mode::Live));
        ApiKey {
            id: KeyId::new(now),
            account_id: AccountId::new(now),
            name: "key".to_owned(),
            mode: Mode::Live,
            lookup: presented.lookup().to_owned(),
            hash: presented.hash(),
            scopes: Scope::ALL.to_vec(),
            domains: Vec::new(),
            templates: Vec::new(),
            networks: Vec::new(),
            state: KeyState::Active,
            expires_at: None,
            last_used_at: None,
            created_at: now,
        }
    }

    fn narrow() -> ApiKey {
        ApiKey {
            mode: Mode::Test,
            scopes: vec![Scope::Send, Scope::Admin],
            domains: vec!["a.test".to_owned()],
            templates: vec!["receipt".to_owned()],
            networks: vec!["10.0.0.0/8".parse().expect("a network")],
            expires_at: Some(Timestamp::from_millis(5)),
            ..key()
        }
    }

    #[test]
    fn a_key_has_no_more_than_itself_and_all_that_it_has_more_is_named() {
        assert_eq!(excess_of(&key(), &key()), []);
        assert_eq!(excess_of(&narrow(), &key()), []);
        assert_eq!(excess_of(&narrow(), &narrow()), []);
        let all = [
            Excess::Mode,
            Excess::Scope(Scope::Operator),
            Excess::Domains,
            Excess::Templates,
            Excess::Networks,
            Excess::Expiry,
        ];
        let found = excess_of(&key(), &narrow());
        assert!(all.iter().all(|it| found.contains(it)), "{found:?}");
    }

    #[test]
    fn a_part_of_a_network_or_of_a_list_is_within_it_and_an_overlap_is_not() {
        let own = ApiKey { domains: vec!["a.test".to_owned(), "b.test".to_owned()], ..narrow() };
        let network = |text: &str| vec![text.parse().expect("a network")];
        assert_eq!(excess_of(&ApiKey { networks: network("10.1.0.0/16"), ..narrow() }, &own), []);
        for wider in ["10.0.0.0/7", "0.0.0.0/0", "11.0.0.1", "::/0"] {
            let given = ApiKey { networks: network(wider), ..narrow() };
            assert_eq!(excess_of(&given, &own), [Excess::Networks], "{wider}");
        }
        let given = ApiKey { domains: vec!["b.test".to_owned(), "c.test".to_owned()], ..narrow() };
        assert_eq!(excess_of(&given, &own), [Excess::Domains]);
    }

    #[test]
    fn an_operator_makes_no_operator_with_more_networks_or_time_than_it_has() {
        let own = ApiKey { mode: Mode::Live, scopes: vec![Scope::Operator], ..narrow() };
        let lacking = Grantor::Operator(&own).cannot_grant(&key());
        assert_eq!(lacking, [Excess::Networks, Excess::Expiry]);
        let sender = ApiKey { scopes: vec![Scope::Send], ..key() };
        assert_eq!(Grantor::Operator(&own).cannot_grant(&sender), []);
        assert_eq!(Grantor::Machine.cannot_grant(&key()), []);
    }
}
