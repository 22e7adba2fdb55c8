//! What the metrics say of the queue and the file.

use super::*;
use crate::clock::Clock;

#[tokio::test]
async fn the_age_of_the_oldest_due_message_rises_until_it_is_leased() {
    let fixture = Fixture::with_credits(5).await;
    let store = &fixture.store;
    let clock = Clock::manual(NOW);
    let age = async || store.gauges(clock.now()).await.expect("readable").oldest_due;
    assert_eq!(age().await, Duration::ZERO, "nothing waits");
    fixture.commit(&[fixture.job(1, 1).await]).await;
    for minutes in [0, 10, 20] {
        assert_eq!(age().await, Duration::from_mins(minutes));
        clock.advance(Duration::from_mins(10));
    }
    let leases = lease(store, "one", clock.now()).await;
    assert_eq!(age().await, Duration::ZERO, "an attempt is under way");
    clock.advance(Duration::from_mins(3));
    assert_eq!(age().await, Duration::from_mins(2), "its worker is gone, and the lease is over");
    let next = clock.now().after(Duration::from_hours(1));
    let deferred = settled(&leases[0], deferred_until(next));
    store.settle("one", &[deferred], clock.now()).await.expect("settles");
    assert_eq!(age().await, Duration::ZERO, "it waits for its next attempt");
    assert_eq!(store.gauges(clock.now()).await.expect("readable").waiting, 1);
    clock.advance(Duration::from_hours(2));
    assert_eq!(age().await, Duration::from_hours(1));
}

#[tokio::test]
async fn the_size_gauge_equals_the_database_file() {
    let fixture = Fixture::with_credits(5).await;
    fixture.store.checkpoint_wal().await.expect("checkpointed");
    let file = fixture.directory.path().join("test.db");
    let bytes = std::fs::metadata(file).expect("there").len();
    let gauges = fixture.store.gauges(NOW).await.expect("readable");
    let size = gauges.file.expect("it is a file");
    assert_eq!(u64::try_from(size.bytes), Ok(bytes));
    assert!((0..size.bytes).contains(&size.free_bytes), "{size:?}");
}
