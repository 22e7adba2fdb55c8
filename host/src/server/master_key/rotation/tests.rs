//! Whatever interrupts a rotation, every value opens; a key goes only when nothing needs it.

use super::*;
use crate::id::SessionId;
use crate::store::{NewFactor, NewUser, NewWebhook, SampleOutcome, SampleRecord, WebhookOwner};

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

struct Fixture {
    data: DataDir,
    store: Store,
    decisions: Vec<DecisionId>,
    directory: tempfile::TempDir,
}

impl Fixture {
    /// With more values than a batch has.
    async fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let data = DataDir::open(directory.path()).expect("opened");
        let store = Store::open(&data.database().expect("made")).await.expect("opens");
        verify(&data, &store).await.expect("a new one");
        let decisions: Vec<_> = (0..=BATCH_ROWS).map(|_| DecisionId::new(NOW)).collect();
        let it = Self { data, store, decisions, directory };
        it.record(&it.decisions, &it.seal()).await;
        it
    }

    fn seal(&self) -> Seal {
        Seal::of(&self.data.key_ring().expect("keys"), Purpose::Samples)
    }

    async fn record(&self, decisions: &[DecisionId], seal: &Seal) {
        let sample = |decision_id: &DecisionId| SampleRecord {
            decision_id: *decision_id,
            kind: "plan",
            slot: "slot".to_owned(),
            digest: "sha256:0".to_owned(),
            outcome: SampleOutcome::Answered,
            sealed: seal.seal(&sample_identity(*decision_id, "plan"), b"a call"),
        };
        let samples: Vec<SampleRecord> = decisions.iter().map(sample).collect();
        self.store.record_samples(&samples, NOW, 1_000).await.expect("recorded");
    }

    /// As the next process finds it.
    fn next(&self) -> DataDir {
        DataDir::open(self.directory.path()).expect("opened")
    }

    async fn assert_all_open(&self, data: &DataDir) {
        verify(data, &self.store).await.expect("the proof opens");
        let seal = Seal::of(&data.key_ring().expect("keys"), Purpose::Samples);
        for decision in &self.decisions {
            let rows = self.store.sample(*decision).await.expect("readable");
            assert_eq!(rows[0].open(&seal).as_deref(), Ok(&b"a call"[..]));
        }
    }

    async fn values(&self) -> Vec<u64> {
        let found = overview(&self.next(), &self.store).await.expect("found");
        assert_eq!(found.unreadable, 0);
        found.keys.iter().map(|it| it.values).collect()
    }
}

/// The values of the fixture, and the proof.
fn all() -> u64 {
    u64::from(BATCH_ROWS) + 2
}

#[tokio::test]
async fn after_a_rotation_everything_is_sealed_with_the_new_key() {
    let it = Fixture::new().await;
    let before = it.next();
    drop(before.key_ring().expect("a server that runs"));
    let rotated = rotate(&it.next(), &it.store, NOW).await.expect("rotated");
    assert_eq!((rotated.values, rotated.unreadable), (all(), 0));
    assert_eq!(it.values().await, [all(), 0]);
    it.assert_all_open(&it.next()).await;
    // The server has not read the file yet.
    it.assert_all_open(&before).await;
    let alone = Seal::new(&it.next().master_key().expect("a key"), Purpose::Samples);
    let rows = it.store.sample(it.decisions[0]).await.expect("readable");
    assert!(rows[0].open(&alone).is_ok());
}

#[tokio::test]
async fn secrets_of_webhooks_and_second_factors_are_sealed_for_their_rows() {
    let it = Fixture::new().await;
    let (webhook, user) = (WebhookId::new(NOW), UserId::new(NOW));
    let ring = it.data.key_ring().expect("keys");
    let (webhooks, factors) =
        (Seal::of(&ring, Purpose::Webhooks), Seal::of(&ring, Purpose::Factors));
    let new = NewWebhook {
        id: webhook,
        owner: WebhookOwner::Server,
        url: "https://hooks.example/".to_owned(),
        description: String::new(),
        types: Vec::new(),
        secret: webhooks.seal(&webhook_identity(webhook), b"earlier"),
    };
    let added = it.store.add_webhook(&new, NOW, |_| Ok::<(), ()>(())).await;
    assert_eq!(added.expect("added"), Ok(()));
    let secret = webhooks.seal(&webhook_identity(webhook), b"newer");
    assert!(it.store.rotate_webhook(webhook, &secret, NOW, NOW).await.expect("rotated"));
    let person = NewUser {
        id: user,
        email: "ada@example.com".parse().expect("an address"),
        password: None,
        is_operator: true,
        membership: None,
        at: NOW,
    };
    assert!(it.store.add_user(&person).await.expect("added"));
    let secret = factors.seal(&factor_identity(user), b"factor");
    let factor = NewFactor { secret, last_step: 0, recovery_codes: Vec::new() };
    it.store.replace_factor((user, SessionId::new(NOW)), &factor, NOW).await.expect("added");

    let rotated = rotate(&it.next(), &it.store, NOW).await.expect("rotated");
    assert_eq!((rotated.values, rotated.unreadable), (all() + 3, 0));
    let alone = it.next().master_key().expect("a key");
    let row = it.store.webhook(webhook).await.expect("readable").expect("a webhook");
    let (earlier, _) = row.earlier.expect("an earlier secret");
    let webhooks = Seal::new(&alone, Purpose::Webhooks);
    for (sealed, plain) in [(row.secret, &b"newer"[..]), (earlier, &b"earlier"[..])] {
        assert_eq!(webhooks.open(&webhook_identity(webhook), &sealed).as_deref(), Ok(plain));
    }
    let factor = it.store.factor(user).await.expect("readable").expect("a factor");
    let factors = Seal::new(&alone, Purpose::Factors);
    assert_eq!(factors.open(&factor_identity(user), &factor.secret).as_deref(), Ok(&b"factor"[..]));
}

#[tokio::test]
async fn a_rotation_that_was_killed_leaves_everything_readable_and_is_finished() {
    let it = Fixture::new().await;
    // The file has the new key, and some values are sealed with it.
    let data = it.next();
    let mut keys = data.master_keys().expect("keys");
    keys.insert(0, MasterKey::random(Some(NOW)));
    data.write_master_keys(&keys).expect("written");
    let some = &it.decisions[..10];
    it.record(some, &Seal::of(&data.key_ring().expect("keys"), Purpose::Samples)).await;
    it.assert_all_open(&it.next()).await;
    assert_eq!(it.values().await, [10, all() - 10]);
    let rest = reseal(&it.next(), &it.store).await.expect("resealed");
    assert_eq!(rest.values, all() - 10);
    assert_eq!(it.values().await, [all(), 0]);
    it.assert_all_open(&it.next()).await;
}

#[tokio::test]
async fn an_earlier_key_goes_when_no_return_path_of_it_can_come_back() {
    let it = Fixture::new().await;
    let first = key_name(&it.data.master_key().expect("a key"));
    rotate(&it.next(), &it.store, NOW).await.expect("rotated");
    // A server that had not read the new key has sealed something since.
    let earlier = it.next().master_keys().expect("keys")[1].bytes;
    it.record(&it.decisions[..1], &Seal::new(&earlier, Purpose::Samples)).await;
    let early = NOW.after(RETURN_PATHS_COME_BACK.saturating_sub(Duration::from_secs(1)));
    let dropped = drop_earlier(&it.next(), &it.store, (Haste::WhenUnneeded, early)).await;
    assert!(dropped.expect("looked").is_empty());
    let late = NOW.after(RETURN_PATHS_COME_BACK);
    let dropped = drop_earlier(&it.next(), &it.store, (Haste::WhenUnneeded, late)).await;
    assert_eq!(dropped.expect("dropped"), [first]);
    assert_eq!(it.values().await, [all()]);
    it.assert_all_open(&it.next()).await;
    let none = drop_earlier(&it.next(), &it.store, (Haste::AtOnce, late)).await;
    assert!(none.expect("looked").is_empty(), "the newest key stays");
}

#[tokio::test]
async fn a_key_goes_at_once_only_while_no_server_runs() {
    let it = Fixture::new().await;
    rotate(&it.next(), &it.store, NOW).await.expect("rotated");
    let server = it.next().lock().expect("free");
    let refused = drop_earlier(&it.next(), &it.store, (Haste::AtOnce, NOW)).await;
    let refused = refused.expect_err("a server runs");
    assert!(matches!(refused, RotationError::DataDir(DataDirError::Locked { .. })), "{refused}");
    drop(server);
    let dropped = drop_earlier(&it.next(), &it.store, (Haste::AtOnce, NOW)).await;
    assert_eq!(dropped.expect("dropped").len(), 1);
    it.assert_all_open(&it.next()).await;
}

#[tokio::test]
async fn no_key_goes_while_a_backup_is_taken() {
    let it = Fixture::new().await;
    rotate(&it.next(), &it.store, NOW).await.expect("rotated");
    let backup = it.next().lock_backups().expect("free");
    let refused = drop_earlier(&it.next(), &it.store, (Haste::AtOnce, NOW)).await;
    let refused = refused.expect_err("a backup is taken");
    assert!(matches!(refused, RotationError::DataDir(DataDirError::BackedUp { .. })), "{refused}");
    drop(backup);
    let dropped = drop_earlier(&it.next(), &it.store, (Haste::AtOnce, NOW)).await;
    assert_eq!(dropped.expect("dropped").len(), 1);
}

#[tokio::test]
async fn a_file_never_has_more_keys_than_can_be_read() {
    let it = Fixture::new().await;
    for _ in 1..MAX_MASTER_KEYS {
        rotate(&it.next(), &it.store, NOW).await.expect("rotated");
    }
    let refused = rotate(&it.next(), &it.store, NOW).await.expect_err("there are enough");
    assert!(matches!(refused, RotationError::TooMany { .. }), "{refused}");
    it.assert_all_open(&it.next()).await;
}

#[tokio::test]
async fn a_value_that_no_key_opens_is_counted_and_left_as_it_is() {
    let it = Fixture::new().await;
    let stranger = Seal::new(&[9; 32], Purpose::Samples);
    it.record(&it.decisions[..1], &stranger).await;
    let rotated = rotate(&it.next(), &it.store, NOW).await.expect("rotated");
    assert_eq!((rotated.values, rotated.unreadable), (all() - 1, 1));
    let rows = it.store.sample(it.decisions[0]).await.expect("readable");
    assert!(rows[0].open(&stranger).is_ok());
}
