//! What a change of the password ends while log-ins with the one before are under way.

use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU32;
use std::sync::Arc;

use super::*;
use crate::clock::{Clock, Timestamp};
use crate::id::UserId;
use crate::journey::accept::rate_limit::RateLimits;
use crate::store::seal::{KeyRing, Purpose, Seal};
use crate::store::{NewUser, Store};

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

async fn people(directory: &std::path::Path) -> People {
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

#[tokio::test]
async fn a_password_that_is_changed_while_it_is_compared_opens_no_session() {
    let directory = tempfile::tempdir().expect("a directory");
    let people = people(directory.path()).await;
    let from = Origin { ip: IpAddr::V4(Ipv4Addr::LOCALHOST), agent: "a browser".to_owned() };
    let new = NewUser {
        id: UserId::new(NOW),
        email: "ada@example.com".parse().expect("an address"),
        password: Some("before".to_owned()),
        is_operator: false,
        membership: None,
        at: NOW,
    };
    assert!(people.store.add_user(&new).await.expect("added"));
    let compared = people.store.user(new.id).await.expect("readable").expect("there");
    people.begin(&compared, &from).await.expect("nothing has changed");
    let own = people.store.sessions(new.id, NOW).await.expect("readable")[0].id;

    let change = async |before, after| {
        let changed = people.store.change_password(new.id, (Some(before), after), own).await;
        changed.expect("the store answers")
    };
    assert!(change("before", "after").await);
    assert!(!change("before", "another").await, "it is compared with the one of before");
    let late = people.begin(&compared, &from).await;
    assert!(matches!(late, Err(LogInError::Wrong)), "{late:?}");
    let left = people.store.sessions(new.id, NOW).await.expect("readable");
    assert_eq!(left.iter().map(|it| it.id).collect::<Vec<_>>(), [own]);
}
