//! What a change of the password ends while log-ins with the one before are under way.

use super::*;
use crate::people::tests::{NOW, here, operator, people};

#[tokio::test]
async fn a_password_that_is_changed_while_it_is_compared_opens_no_session() {
    let directory = tempfile::tempdir().expect("a directory");
    let people = people(directory.path()).await;
    let compared = operator(&people, "before", None).await;
    let (id, from) = (compared.id, here());
    people.begin(&compared, &from).await.expect("nothing has changed");
    let own = people.store.sessions(id, NOW).await.expect("readable")[0].id;

    let change = async |before, after| {
        let changed = people.store.change_password(id, (Some(before), after), own).await;
        changed.expect("the store answers")
    };
    assert!(change("before", "after").await);
    assert!(!change("before", "another").await, "it is compared with the one of before");
    let late = people.begin(&compared, &from).await;
    assert!(matches!(late, Err(LogInError::Wrong)), "{late:?}");
    let left = people.store.sessions(id, NOW).await.expect("readable");
    assert_eq!(left.iter().map(|it| it.id).collect::<Vec<_>>(), [own]);
}
