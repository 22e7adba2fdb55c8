use super::*;
use crate::clock::Timestamp;
use crate::id::{AccountId, DecisionId};
use crate::store::records::{
    Body, BodyOf, JobOutcome, NewMessage, NewSuppression, SuppressionKind,
};
use crate::store::{MessageFilter, SampleOutcome, SampleRecord, test_data};

const START: Timestamp = Timestamp::from_millis(1_800_000_000_000);
/// Whoever writes to it is suppressed: such messages rest at once.
const SUPPRESSED: &str = "nobody@example.com";

struct Fixture {
    store: Store,
    account: AccountId,
    directory: tempfile::TempDir,
    seed: u64,
}

impl Fixture {
    async fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let store = crate::store::test_data::open(&directory).await;
        let account = test_data::open_account(&store, 1_000_000, START).await;
        let nobody = NewSuppression {
            account_id: account,
            address: SUPPRESSED.to_owned(),
            kind: SuppressionKind::Manual,
            reason: "test".to_owned(),
            message_id: None,
            expires_at: None,
        };
        store.suppress(&nobody, START).await.expect("suppressed");
        Self { store, account, directory, seed: 1 }
    }

    /// Commits messages whose bodies cannot be compressed.
    async fn send(&mut self, messages: usize, to: &str, now: Timestamp) {
        let messages = (0..messages).map(|_| message(to, self.noise(), now)).collect();
        let revision = self.store.revision().await.expect("readable");
        let job = test_data::job(revision, self.account, messages, now);
        let outcomes = self.store.commit(&[job], now).await.expect("commits");
        assert!(matches!(outcomes[..], [JobOutcome::Answered(_)]));
    }

    fn noise(&mut self) -> Body {
        let mut bytes = Vec::with_capacity(8_192);
        while bytes.len() < 8_192 {
            // Xorshift: noise that is the same at every run.
            self.seed ^= self.seed << 13;
            self.seed ^= self.seed >> 7;
            self.seed ^= self.seed << 17;
            bytes.extend(self.seed.to_le_bytes());
        }
        Body::pack(&bytes)
    }

    fn bytes_on_disk(&self) -> u64 {
        std::fs::metadata(self.directory.path().join("test.db")).expect("there").len()
    }

    async fn messages(&self) -> usize {
        let all = MessageFilter::default();
        let page = self.store.messages(self.account, &all, None, 100_000).await.expect("readable");
        page.messages.len()
    }
}

fn message(to: &str, body: Body, now: Timestamp) -> NewMessage {
    let recipient = to.parse().expect("valid");
    NewMessage { recipient, body: BodyOf::Own(body), ..test_data::new_message(now) }
}

async fn pass(retention: Retention, store: &Store, now: Timestamp) {
    Pass::new(retention, store, now, &CancellationToken::new()).run().await;
}

#[tokio::test]
async fn samples_go_when_the_operators_time_is_over() {
    let fixture = Fixture::new().await;
    let sample = SampleRecord {
        decision_id: DecisionId::new(START),
        kind: "plan",
        slot: "plan".to_owned(),
        digest: "sha256:0".to_owned(),
        outcome: SampleOutcome::Answered,
        sealed: Vec::new(),
    };
    fixture.store.record_samples(&[sample], START, 10).await.expect("recorded");
    let retention = Retention { samples: Duration::from_hours(1), ..Retention::default() };
    for (minutes, left) in [(60, 1), (61, 0)] {
        pass(retention, &fixture.store, START.after(Duration::from_mins(minutes))).await;
        let rows = fixture.store.samples("plan", None, 10).await.expect("readable");
        assert_eq!(rows.len(), left, "after {minutes} minutes");
    }
}

#[tokio::test]
async fn content_goes_after_its_days_and_the_message_after_its_own() {
    let mut fixture = Fixture::new().await;
    fixture.send(600, SUPPRESSED, START).await;
    fixture.send(3, "ada@example.com", START).await;
    let content = async |fixture: &Fixture| {
        let all = MessageFilter::default();
        let page = fixture.store.messages(fixture.account, &all, None, 1_000).await;
        let mut kept = 0;
        for row in page.expect("readable").messages {
            kept += usize::from(fixture.store.body(row.id).await.expect("readable").is_some());
        }
        kept
    };
    for (days, bodies, messages) in [(7, 603, 603), (8, 3, 603), (90, 3, 603), (91, 3, 3)] {
        pass(Retention::default(), &fixture.store, START.after(DAY.saturating_mul(days))).await;
        let found = (content(&fixture).await, fixture.messages().await);
        assert_eq!(found, (bodies, messages), "after {days} days");
    }
}

#[tokio::test]
async fn no_days_mean_for_ever() {
    let mut fixture = Fixture::new().await;
    fixture.send(3, SUPPRESSED, START).await;
    let now = START.after(DAY.saturating_mul(3_650));
    let always =
        Retention { content: Kept::days(0), messages: Kept::days(0), ..Retention::default() };
    pass(always, &fixture.store, now).await;
    assert_eq!(fixture.messages().await, 3);
    let rows =
        Retention { content: Kept::days(0), messages: Kept::days(1), ..Retention::default() };
    pass(rows, &fixture.store, now).await;
    assert_eq!(fixture.messages().await, 0, "content goes with its message");
}

#[tokio::test]
async fn a_stopping_server_does_not_wait_for_a_pass() {
    let mut fixture = Fixture::new().await;
    fixture.send(3, SUPPRESSED, START).await;
    let stop = CancellationToken::new();
    stop.cancel();
    let now = START.after(DAY.saturating_mul(3_650));
    Pass::new(Retention::default(), &fixture.store, now, &stop).run().await;
    assert_eq!(fixture.messages().await, 3);
}

/// Commits beside a pass.
const MAX_COMMITS: usize = 500;

#[tokio::test]
async fn the_file_becomes_small_again_while_others_commit() {
    let mut fixture = Fixture::new().await;
    for _ in 0..40 {
        fixture.send(500, SUPPRESSED, START).await;
    }
    fixture.store.checkpoint_wal().await.expect("checkpointed");
    let full = fixture.bytes_on_disk();
    assert!(full > 20_000 * 8_192, "{full} bytes");

    let now = START.after(DAY.saturating_mul(8));
    let store = fixture.store.clone();
    let mut pass = std::pin::pin!(pass(Retention::default(), &store, now));
    let mut commits = 0_usize;
    let done = async {
        loop {
            let finished = {
                let commit = fixture.send(1, "ada@example.com", now);
                let mut commit = std::pin::pin!(commit);
                tokio::select! {
                    () = &mut commit => false,
                    () = &mut pass => { commit.await; true }
                }
            };
            commits += 1;
            if finished {
                break;
            }
            // What is sent meanwhile stays: more of it would hide how small the file becomes.
            if commits == MAX_COMMITS {
                pass.as_mut().await;
                break;
            }
        }
    };
    done.await;
    assert!(commits > 20, "only {commits} commits got between");
    let left = fixture.bytes_on_disk();
    assert!(left * 10 < full * 3, "{left} of {full} bytes are left after {commits} commits");
    assert_eq!(
        fixture
            .store
            .gauges(crate::clock::Timestamp::from_millis(0))
            .await
            .expect("readable")
            .waiting,
        i64::try_from(commits).expect("few")
    );
}
