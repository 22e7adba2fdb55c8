//! What a key has beside another one, and what whoever asks may give.

use std::fmt;

use crate::account::ip_network::IpNetwork;
use crate::account::key::{ApiKey, Mode, Scope};
use crate::account::role::{Role, RoleTooLow};
use crate::clock::Timestamp;

/// Who asks.
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

/// What one key has and another one has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Excess {
    /// It is a live key.
    Mode,
    Scope(Scope),
    Domains,
    Templates,
    Networks,
    /// It works for longer.
    End,
}

impl Grantor<'_> {
    /// Whether the caller is told of a key: a test key of test keys, one for some domains or templates of those
    /// that are for no others.
    #[must_use]
    pub fn may_see(self, key: &ApiKey) -> bool {
        match self {
            Self::Machine | Self::Operator(_) | Self::Person(_) => true,
            Self::Holder(own) => {
                let hidden = [Excess::Mode, Excess::Domains, Excess::Templates];
                !exceeds(own, key).iter().any(|it| hidden.contains(it))
            }
        }
    }

    /// What of a key the caller cannot give. An operator gives an account what it likes, but further operators no
    /// more than it has itself.
    pub(super) fn lacks(self, key: &ApiKey) -> Vec<Excess> {
        match self {
            Self::Holder(own) => exceeds(own, key),
            Self::Operator(own) if key.allows(Scope::Operator) => {
                let of_the_server = [Excess::Networks, Excess::End];
                exceeds(own, key).into_iter().filter(|it| of_the_server.contains(it)).collect()
            }
            // A person's log-in is not a key of the server: such a key is made where the data directory is.
            Self::Person(_) if key.allows(Scope::Operator) => vec![Excess::Scope(Scope::Operator)],
            Self::Machine | Self::Operator(_) | Self::Person(_) => Vec::new(),
        }
    }

    /// Whether it calls with that key.
    pub(super) fn is(self, key: &ApiKey) -> bool {
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

    /// Whether the caller may make and change keys at all; what a key may give is another question.
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
        let lacking: Vec<String> = all.iter().map(ToString::to_string).collect();
        let test = if all.contains(&Self::Mode) { "; a test key makes test keys" } else { "" };
        format!(
            "a key gives no more than it has itself, and the one of the request does not have: {}{test}",
            lacking.join(", ")
        )
    }
}

impl fmt::Display for Excess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mode => f.write_str("the mode live"),
            Self::Scope(scope) => write!(f, "the scope {}", scope.as_str()),
            Self::Domains => f.write_str("all of the domains"),
            Self::Templates => f.write_str("all of the templates"),
            Self::Networks => f.write_str("all of the networks"),
            Self::End => f.write_str("as late an end"),
        }
    }
}

/// What `given` has and `own` has not.
pub fn exceeds(own: &ApiKey, given: &ApiKey) -> Vec<Excess> {
    let mut excess = Vec::new();
    if own.mode == Mode::Test && given.mode == Mode::Live {
        excess.push(Excess::Mode);
    }
    let scopes = given.scopes.iter().copied().filter(|scope| !own.allows(*scope));
    excess.extend(scopes.map(Excess::Scope));
    if !is_part(&own.domains, &given.domains, PartialEq::eq) {
        excess.push(Excess::Domains);
    }
    if !is_part(&own.templates, &given.templates, PartialEq::eq) {
        excess.push(Excess::Templates);
    }
    if !is_part(&own.networks, &given.networks, IpNetwork::covers) {
        excess.push(Excess::Networks);
    }
    let forever = Timestamp::from_millis(i64::MAX);
    if given.expires_at.unwrap_or(forever) > own.expires_at.unwrap_or(forever) {
        excess.push(Excess::End);
    }
    excess
}

/// Whether each of `given` lies within one of `own`. An empty list stands for all there are.
fn is_part<T>(own: &[T], given: &[T], covers: impl Fn(&T, &T) -> bool) -> bool {
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
        assert_eq!(exceeds(&key(), &key()), []);
        assert_eq!(exceeds(&key(), &narrow()), []);
        assert_eq!(exceeds(&narrow(), &narrow()), []);
        let all = [
            Excess::Mode,
            Excess::Scope(Scope::Operator),
            Excess::Domains,
            Excess::Templates,
            Excess::Networks,
            Excess::End,
        ];
        let found = exceeds(&narrow(), &key());
        assert!(all.iter().all(|it| found.contains(it)), "{found:?}");
    }

    #[test]
    fn a_part_of_a_network_or_of_a_list_is_within_it_and_an_overlap_is_not() {
        let own = ApiKey { domains: vec!["a.test".to_owned(), "b.test".to_owned()], ..narrow() };
        let network = |text: &str| vec![text.parse().expect("a network")];
        assert_eq!(exceeds(&own, &ApiKey { networks: network("10.1.0.0/16"), ..narrow() }), []);
        for wider in ["10.0.0.0/7", "0.0.0.0/0", "11.0.0.1", "::/0"] {
            let given = ApiKey { networks: network(wider), ..narrow() };
            assert_eq!(exceeds(&own, &given), [Excess::Networks], "{wider}");
        }
        let given = ApiKey { domains: vec!["b.test".to_owned(), "c.test".to_owned()], ..narrow() };
        assert_eq!(exceeds(&own, &given), [Excess::Domains]);
    }

    #[test]
    fn an_operator_makes_no_operator_with_more_networks_or_time_than_it_has() {
        let own = ApiKey { mode: Mode::Live, scopes: vec![Scope::Operator], ..narrow() };
        let lacking = Grantor::Operator(&own).lacks(&key());
        assert_eq!(lacking, [Excess::Networks, Excess::End]);
        let sender = ApiKey { scopes: vec![Scope::Send], ..key() };
        assert_eq!(Grantor::Operator(&own).lacks(&sender), []);
        assert_eq!(Grantor::Machine.lacks(&key()), []);
    }
}
