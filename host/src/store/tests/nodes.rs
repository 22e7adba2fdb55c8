//! Nodes, their shares, and what becomes of the leases of a node that is gone.

use std::sync::Arc;

use super::*;
use crate::nodes::{Held, Membership, Placed, Share, moves};
use crate::store::{NodePhase, NodeState, Registered, Renewal, Renewed, is_rolling};

pub const HOUR: Duration = Duration::from_hours(1);

pub fn node(name: &str) -> NodeRecord {
    NodeRecord {
        id: NodeId::new(NOW),
        name: name.to_owned(),
        directory: format!("directory of {name}"),
        version: "1",
    }
}

pub async fn register(store: &Store, node: &NodeRecord, time: Duration) -> Registered {
    let time = NodeTime::Renewed(time);
    store.register_node(node, time, NOW, interrupted).await.expect("registered")
}

async fn renew_as(store: &Store, node: &NodeRecord, phase: NodePhase) -> (Renewed, Arc<Held>) {
    let renewal = Renewal { time: HOUR, phase, skew_ms: 7 };
    let moves = |live: &[NodeId], placed: &[Placed]| moves(node.id, live, placed);
    let renewed = store.renew_node(node, renewal, NOW, interrupted, moves).await.expect("renewed");
    let membership = Membership::joining();
    let until = std::time::Instant::now() + HOUR;
    membership.renewed(&renewed.shares, renewed.lasting, until);
    (renewed, membership.held())
}

pub async fn renew(store: &Store, node: &NodeRecord) -> (Renewed, Arc<Held>) {
    renew_as(store, node, NodePhase::Live).await
}

/// Leases all that is due, as a node that believes to have these shares.
pub async fn lease_by(store: &Store, node: &NodeRecord, held: &Held) -> Vec<Lease> {
    let owner = node.id.to_string();
    let by = Lessee { owner: &owner, shares: held.shares() };
    let ids: Vec<MessageId> = store.all_due(NOW).await.iter().map(|it| it.message_id).collect();
    let decide = |leases, facts: &LeaseFacts| at_lease::decide(leases, facts, NOW);
    store.lease_decided(by, &ids, NOW, NOW.after(HOUR), decide).await.expect("leases")
}

async fn state(store: &Store, node: &NodeRecord) -> NodeState {
    let rows = store.nodes().await.expect("readable");
    rows.iter().find(|it| it.id == node.id).expect("it is there").state
}

async fn with_a_message() -> Fixture {
    let fixture = Fixture::with_credits(10).await;
    let job = fixture.job(1, 1).await;
    fixture.commit(&[job]).await;
    fixture
}

#[tokio::test]
async fn only_an_earlier_start_of_a_node_loses_its_leases_to_the_next_one() {
    let fixture = with_a_message().await;
    let (store, first) = (&fixture.store, node("first"));
    assert_eq!(register(store, &first, HOUR).await, Registered { recovered: 0, others: 0 });
    let (_, held) = renew(store, &first).await;
    assert_eq!(lease_by(store, &first, &held).await.len(), 1);

    let other = node("other");
    let moved = NodeRecord { directory: "a copy".to_owned(), ..node("first") };
    for (node, others) in [(&other, 1), (&moved, 2)] {
        assert_eq!(register(store, node, HOUR).await, Registered { recovered: 0, others });
    }
    let again = node("first");
    assert_eq!(register(store, &again, HOUR).await, Registered { recovered: 1, others: 2 });
    let names: Vec<String> =
        store.nodes().await.expect("readable").into_iter().map(|it| it.name).collect();
    assert_eq!(
        names.iter().filter(|it| *it == "first").count(),
        2,
        "the earlier start is forgotten"
    );
    let alone = node("alone");
    let registered = store.register_node(&alone, NodeTime::Alone, NOW, interrupted).await;
    assert_eq!(registered.expect("registered").others, 0, "there is one at a time");
}

#[tokio::test]
async fn a_node_leases_nothing_of_a_share_that_it_has_handed_over() {
    let fixture = with_a_message().await;
    let (store, first) = (&fixture.store, node("first"));
    let share = Share::of_sandbox(fixture.account);
    register(store, &first, HOUR).await;
    let (all, earlier) = renew(store, &first).await;
    assert_eq!((all.shares.len(), all.lasting), (64, 1));

    // One that is to have the share of the message.
    let second = loop {
        let second = node("second");
        if share.owner(&[first.id, second.id]) == Some(second.id) {
            break second;
        }
    };
    register(store, &second, HOUR).await;
    let (nothing, _) = renew(store, &second).await;
    assert!(nothing.shares.is_empty(), "the first one has all");
    let (rest, now) = renew(store, &first).await;
    let (own, seconds) = renew(store, &second).await;
    assert_eq!((rest.shares.len() + own.shares.len(), rest.lasting), (64, 2));
    assert!(own.shares.contains(&(share, 2)), "{own:?}");

    for held in [&earlier, &now] {
        assert!(lease_by(store, &first, held).await.is_empty(), "it is the other's");
    }
    let late = Membership::joining();
    late.renewed(&[(share, 1)], 2, std::time::Instant::now() + HOUR);
    assert!(lease_by(store, &second, &late.held()).await.is_empty(), "an epoch that is over");
    assert_eq!(lease_by(store, &second, &seconds).await.len(), 1);
}

#[tokio::test]
async fn a_node_that_starts_gets_no_share_and_is_known_once_all_have_renewed() {
    let fixture = with_a_message().await;
    let (store, first, second) = (&fixture.store, node("first"), node("second"));
    register(store, &first, HOUR).await;
    assert_eq!(state(store, &first).await, NodeState::Starting);
    let (starting, _) = renew_as(store, &first, NodePhase::Starting).await;
    assert!(starting.shares.is_empty() && starting.is_known, "{starting:?}");
    renew(store, &first).await;
    assert_eq!(state(store, &first).await, NodeState::Live);

    register(store, &second, HOUR).await;
    sql("UPDATE nodes SET seen_at = started_at").run(&store.db.writer).await.expect("written");
    let (unknown, _) = renew_as(store, &second, NodePhase::Starting).await;
    assert!(unknown.shares.is_empty() && !unknown.is_known, "{unknown:?}");
    sql("UPDATE nodes SET started_at = 0").run(&store.db.writer).await.expect("written");
    let (others, _) = renew(store, &first).await;
    assert_eq!((others.shares.len(), others.lasting), (64, 2), "it keeps them until then");
    let (known, _) = renew_as(store, &second, NodePhase::Starting).await;
    assert!(known.shares.is_empty() && known.is_known, "{known:?}");
}

#[tokio::test]
async fn a_node_with_another_master_key_gives_its_shares_away() {
    let fixture = with_a_message().await;
    let (store, first, second) = (&fixture.store, node("first"), node("second"));
    for it in [&first, &second] {
        register(store, it, HOUR).await;
        renew(store, it).await;
    }
    renew(store, &first).await;
    let (given, _) = renew_as(store, &first, NodePhase::Keyless).await;
    assert!(given.shares.is_empty(), "{given:?}");
    assert_eq!(state(store, &first).await, NodeState::Keyless);
    let (all, _) = renew(store, &second).await;
    assert_eq!(all.shares.len(), 64);
}

#[tokio::test]
async fn a_node_past_its_time_leases_and_settles_nothing() {
    let fixture = with_a_message().await;
    let (store, dead, alive) = (&fixture.store, node("dead"), node("alive"));
    register(store, &dead, HOUR).await;
    let (_, held) = renew(store, &dead).await;
    let leases = lease_by(store, &dead, &held).await;
    let [lease] = leases.as_slice() else { panic!("{leases:?}") };
    register(store, &alive, HOUR).await;
    let late = sql("UPDATE nodes SET seen_until = 0 WHERE name = 'dead'");
    assert_eq!(late.run(&store.db.writer).await.expect("written"), 1);
    assert_eq!(state(store, &dead).await, NodeState::Late);
    assert!(lease_by(store, &dead, &held).await.is_empty(), "its time is over");

    let (taken, now) = renew(store, &alive).await;
    assert_eq!((taken.shares.len(), taken.lasting, taken.recovered), (64, 1, 1), "{taken:?}");
    assert_eq!(taken.ended, ["dead"]);
    assert_eq!(state(store, &dead).await, NodeState::Gone);
    let late = settled(lease, AfterAttempt::Delivered);
    store.settle(&dead.id.to_string(), &[late], NOW).await.expect("runs");
    let details = store.message(lease.message_id).await.expect("there");
    assert_eq!(details.row.state, MessageState::Deferred, "it is not settled");
    let again = lease_by(store, &alive, &now).await;
    assert_eq!(again.iter().map(|it| it.attempt).collect::<Vec<_>>(), [2]);

    let (back, _) = renew(store, &dead).await;
    assert!(
        back.shares.is_empty() && back.lasting == 2,
        "it gets its shares from the other: {back:?}"
    );
}

#[tokio::test]
async fn a_database_that_stood_still_ends_no_node_that_lives() {
    let fixture = with_a_message().await;
    let (store, first, other) = (&fixture.store, node("first"), node("other"));
    register(store, &first, HOUR).await;
    let (_, held) = renew(store, &first).await;
    let leases = lease_by(store, &first, &held).await;
    register(store, &other, HOUR).await;
    let all = sql("UPDATE nodes SET seen_until = 0");
    assert_eq!(all.run(&store.db.writer).await.expect("written"), 2);

    let (back, _) = renew(store, &other).await;
    assert_eq!((back.ended.as_slice(), back.recovered, back.lasting), (&[][..], 0, 2), "{back:?}");
    let done = settled(&leases[0], AfterAttempt::Delivered);
    store.settle(&first.id.to_string(), &[done], NOW).await.expect("settles");
    let details = store.message(leases[0].message_id).await.expect("there");
    assert_eq!(details.row.state, MessageState::Delivered, "what it has delivered counts");
    assert_eq!(state(store, &first).await, NodeState::Live);
}

#[tokio::test]
async fn a_start_after_the_database_stood_still_ends_no_node_that_lives() {
    let fixture = with_a_message().await;
    let (store, first, new) = (&fixture.store, node("first"), node("new"));
    register(store, &first, HOUR).await;
    let (_, held) = renew(store, &first).await;
    let leases = lease_by(store, &first, &held).await;
    let late = "UPDATE nodes SET seen_until = 0 WHERE name = 'first'";
    assert_eq!(sql(late).run(&store.db.writer).await.expect("written"), 1);

    assert_eq!(register(store, &new, HOUR).await, Registered { recovered: 0, others: 1 });
    let (nothing, _) = renew(store, &new).await;
    assert!(nothing.shares.is_empty() && nothing.ended.is_empty(), "{nothing:?}");
    let done = settled(&leases[0], AfterAttempt::Delivered);
    store.settle(&first.id.to_string(), &[done], NOW).await.expect("settles");
    let details = store.message(leases[0].message_id).await.expect("there");
    assert_eq!(details.row.state, MessageState::Delivered, "what it has delivered counts");

    assert_eq!(sql(late).run(&store.db.writer).await.expect("written"), 1);
    let (all, _) = renew(store, &new).await;
    assert_eq!(all.ended, ["first"], "one that does not come back is ended all the same");
    assert_eq!(all.shares.len(), 64);
}

#[tokio::test]
async fn a_node_is_told_that_the_database_does_not_know_it_any_more() {
    let fixture = with_a_message().await;
    let (store, first) = (&fixture.store, node("first"));
    register(store, &first, HOUR).await;
    let (once, _) = renew(store, &first).await;
    let (twice, _) = renew(store, &first).await;
    assert_eq!(twice.seen_before, Some(once.seen_at));
    // A copy of its data directory under the same name.
    register(store, &node("first"), HOUR).await;
    assert_eq!(renew(store, &first).await.0.seen_before, None);
}

#[tokio::test]
async fn what_is_given_back_by_a_clock_that_is_ahead_is_due_at_once() {
    let fixture = with_a_message().await;
    let (store, leaving) = (&fixture.store, node("leaving"));
    register(store, &leaving, HOUR).await;
    let (_, held) = renew(store, &leaving).await;
    lease_by(store, &leaving, &held).await;
    let ahead = NOW.after(HOUR * 24 * 36_500);
    assert_eq!(store.leave_node(leaving.id, ahead, interrupted).await.expect("it leaves"), 1);
    let due = store.first_due().await.expect("readable").expect("it waits");
    assert!(due <= store.database_clock().await.expect("answers"), "{due}");
}

#[tokio::test]
async fn a_node_that_drains_gives_its_shares_away_and_finishes_its_leases() {
    let fixture = with_a_message().await;
    let (store, leaving, staying) = (&fixture.store, node("leaving"), node("staying"));
    register(store, &leaving, HOUR).await;
    let (_, held) = renew(store, &leaving).await;
    let leases = lease_by(store, &leaving, &held).await;
    let (alone, _) = renew_as(store, &leaving, NodePhase::Draining).await;
    assert_eq!(alone.shares.len(), 64, "there is nobody to give them to");

    register(store, &staying, HOUR).await;
    renew(store, &staying).await;
    let (given, _) = renew_as(store, &leaving, NodePhase::Draining).await;
    assert!(given.shares.is_empty() && given.lasting == 2, "{given:?}");
    let (taken, _) = renew(store, &staying).await;
    assert_eq!((taken.shares.len(), taken.recovered), (64, 0), "its leases last");
    let done = settled(&leases[0], AfterAttempt::Delivered);
    store.settle(&leaving.id.to_string(), &[done], NOW).await.expect("settles");
    let details = store.message(leases[0].message_id).await.expect("there");
    assert_eq!(details.row.state, MessageState::Delivered);
    assert_eq!(store.leave_node(leaving.id, NOW, interrupted).await.expect("it leaves"), 0);
    assert_eq!(state(store, &leaving).await, NodeState::Gone);
}

#[tokio::test]
async fn a_node_that_leaves_gives_back_what_it_could_not_finish() {
    let fixture = with_a_message().await;
    let (store, leaving) = (&fixture.store, node("leaving"));
    register(store, &leaving, HOUR).await;
    let (_, held) = renew(store, &leaving).await;
    lease_by(store, &leaving, &held).await;
    let shown = store.nodes().await.expect("readable");
    assert_eq!((shown[0].leases, shown[0].skew_ms), (1, 7));
    assert_eq!(store.leave_node(leaving.id, NOW, interrupted).await.expect("it leaves"), 1);
    assert_eq!(store.all_due(NOW).await.len(), 1);
}

#[tokio::test]
async fn a_node_neither_registers_nor_goes_on_with_tables_that_need_a_newer_one() {
    let fixture = Fixture::with_credits(1).await;
    let (store, first) = (&fixture.store, node("first"));
    register(store, &first, HOUR).await;
    let applied = async |version: i64, description: &str| {
        let row = sql("INSERT INTO _sqlx_migrations
                 (version, description, installed_on, success, checksum, execution_time)
             SELECT $1, $2, installed_on, success, checksum, 1 FROM _sqlx_migrations LIMIT 1");
        let row = row.bind(version).bind(description).run(&store.db.writer).await;
        assert_eq!(row.expect("written"), 1);
    };
    applied(9001, "a further column (needs 0)").await;
    applied(9002, "a column goes (needs 1)").await;
    assert_eq!(register(store, &node("second"), HOUR).await.others, 1);
    renew(store, &first).await;

    applied(9003, "another column goes (needs 9001)").await;
    let time = NodeTime::Renewed(HOUR);
    let refused = store.register_node(&node("third"), time, NOW, interrupted).await;
    let refused = refused.expect_err("refused");
    assert!(refused.is_newer(), "{refused}");
    assert!(refused.to_string().contains("migration 9003"), "{refused}");
    let renewal = Renewal { time: HOUR, phase: NodePhase::Live, skew_ms: 0 };
    let moves = |live: &[NodeId], placed: &[Placed]| moves(first.id, live, placed);
    let refused = store.renew_node(&first, renewal, NOW, interrupted, moves).await;
    assert!(refused.is_err_and(|it| it.is_newer()), "it stood still while they were changed");
}

#[tokio::test]
async fn nodes_of_two_versions_are_a_roll_until_one_version_is_gone() {
    let fixture = Fixture::with_credits(1).await;
    let (store, old, new) = (&fixture.store, node("old"), node("new"));
    let new = NodeRecord { version: "2", ..new };
    register(store, &old, HOUR).await;
    register(store, &new, HOUR).await;
    let shown = store.nodes().await.expect("readable");
    assert!(is_rolling(&shown), "{shown:?}");
    assert_eq!(shown[0].migration, store.db.migration);
    store.leave_node(old.id, NOW, interrupted).await.expect("it leaves");
    let shown = store.nodes().await.expect("readable");
    assert_eq!(shown.len(), 2);
    assert!(!is_rolling(&shown), "{shown:?}");
    let newer =
        sql("UPDATE nodes SET migration = 9001, version = '2', state = 'live' WHERE name = 'old'");
    assert_eq!(newer.run(&store.db.writer).await.expect("written"), 1);
    let again = sql("UPDATE nodes SET seen_until = (SELECT max(seen_until) FROM nodes)");
    again.run(&store.db.writer).await.expect("written");
    assert!(is_rolling(&store.nodes().await.expect("readable")), "one version with other tables");
}
