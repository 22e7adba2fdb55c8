//! People on a store of their own; and what is written down of what a person does to the own log-in.

use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU32;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::*;
use crate::clock::Timestamp;
use crate::id::UserId;
use crate::store::seal::{KeyRing, Purpose};
use crate::store::{LinkPurpose, LinkRow, NewFactor, NewUser, test_data};

pub const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const PASSWORD: &str = "correct horse battery staple";

pub async fn people(directory: &Path) -> People {
    let ring = KeyRing::new(&[[7; 32]], || None).expect("there is a key");
    let many = NonZeroU32::new(100).expect("not zero");
    People {
        store: Store::open(&directory.join("people.db")).await.expect("opens"),
        clock: Clock::manual(NOW),
        passwords: Passwords::default(),
        seal: Seal::of(&ring, Purpose::Factors),
        rate_limits: Arc::new(RateLimits::new(many, many, many)),
    }
}

pub fn here() -> Origin {
    Origin { ip: IpAddr::V4(Ipv4Addr::LOCALHOST), agent: "a browser".to_owned() }
}

/// An operator, who owns an account or is in none.
pub async fn operator(people: &People, password: &str, account: Option<AccountId>) -> PersonRow {
    let new = NewUser {
        id: UserId::new(NOW),
        email: "ada@example.com".parse().expect("an address"),
        password: Some(password.to_owned()),
        is_operator: true,
        membership: account.map(|account| (account, Role::Owner)),
        at: NOW,
    };
    assert!(people.store.add_user(&new).await.expect("added"));
    people.store.user(new.id).await.expect("readable").expect("there")
}

async fn seen(people: &People, secret: &Secret) -> Person {
    let person = people.person(secret, here().ip, SeenBy::Person).await;
    person.expect("readable").expect("the session is not over")
}

/// What the log of an account has, newest first.
async fn log_of(people: &People, account: AccountId) -> Vec<String> {
    let rows = people.store.audit(account, None, 100).await.expect("readable");
    rows.into_iter().map(|(_, row)| row.action).collect()
}

#[tokio::test]
async fn an_operators_own_changes_stand_in_no_log_of_an_acted_account() {
    let directory = tempfile::tempdir().expect("a directory");
    let people = people(directory.path()).await;
    let own = test_data::open_account(&people.store, 0, NOW).await;
    let acted = test_data::open_account(&people.store, 0, NOW).await;
    let hash = people.passwords.hash(PASSWORD, here().ip).await.expect("hashed");
    let user = operator(&people, &hash, Some(own)).await;
    let (secret, _) = people.open_session(user.id, &here()).await.expect("opened");
    let (_, other) = people.open_session(user.id, &here()).await.expect("opened");
    people.act_as(&seen(&people, &secret).await, acted, &here()).await.expect("an operator may");
    let person = seen(&people, &secret).await;
    assert!(person.membership.as_ref().is_some_and(|it| it.is_acting && it.account == acted));

    assert!(people.end_session(&person, other.id, &here()).await.expect("stored"));
    people.remove_factor(&person, &here()).await.expect("stored");
    let passwords = (PASSWORD, "another horse battery staple");
    people.change_password(&person, passwords, &here()).await.expect("it is the right one");
    assert_eq!(log_of(&people, acted).await, ["act_as"]);
    let actions = ["change_password", "remove_factor", "end_session"];
    assert_eq!(log_of(&people, own).await, actions);
}

#[tokio::test]
async fn own_changes_of_somebody_in_no_account_stand_in_the_servers_log() {
    let directory = tempfile::tempdir().expect("a directory");
    let people = people(directory.path()).await;
    let acted = test_data::open_account(&people.store, 0, NOW).await;
    let user = operator(&people, "a hash", None).await;
    let (secret, _) = people.open_session(user.id, &here()).await.expect("opened");
    people.act_as(&seen(&people, &secret).await, acted, &here()).await.expect("an operator may");
    people.remove_factor(&seen(&people, &secret).await, &here()).await.expect("stored");
    assert_eq!(log_of(&people, acted).await, ["act_as"]);
    let rows = people.store.audit_of_server(None, 1).await.expect("readable");
    let newest = rows.first().map(|(_, row)| (row.action.as_str(), row.account));
    assert_eq!(newest, Some(("remove_factor", None)));
}

#[tokio::test]
async fn a_recovery_code_that_is_used_is_written_down_once() {
    let directory = tempfile::tempdir().expect("a directory");
    let people = people(directory.path()).await;
    let own = test_data::open_account(&people.store, 0, NOW).await;
    let user = operator(&people, "a hash", Some(own)).await;
    let (_, session) = people.open_session(user.id, &here()).await.expect("opened");
    let code: [u8; 32] = Sha256::digest(b"AAAABBBBCCCCDDDD").into();
    let factor = NewFactor { secret: vec![0; 40], last_step: 0, recovery_codes: vec![code] };
    people.store.replace_factor((user.id, session.id), &factor, NOW).await.expect("stored");
    for (typed, is_right) in [
        ("eeee-eeee-eeee-eeee", false),
        ("aaaa-bbbb-cccc-dddd", true),
        ("aaaa-bbbb-cccc-dddd", false),
    ] {
        let found = people.is_second_step((&user, session.account), typed, &here()).await;
        assert_eq!(found.expect("the store answers"), is_right, "{typed}");
    }
    assert_eq!(log_of(&people, own).await, ["use_recovery_code"]);
}

#[tokio::test]
async fn a_log_in_that_waits_for_its_code_does_not_hold_up_a_reset() {
    let directory = tempfile::tempdir().expect("a directory");
    let people = people(directory.path()).await;
    let user = operator(&people, "a hash", None).await;
    let step = LinkRow {
        purpose: LinkPurpose::SecondStep,
        user: Some(user.id),
        account: None,
        created_at: NOW,
        expires_at: NOW.after(STEP_UP),
    };
    people.store.add_link(&Secret::random().hash(), &step).await.expect("stored");
    let email = user.email.to_string();
    let made = people.forgotten(&email, &here()).await.expect("the store answers");
    assert_eq!(made.map(|(user, _)| user.id), Some(user.id));
    let again = people.forgotten(&email, &here()).await.expect("the store answers");
    assert!(again.is_none(), "one a pause");
}
