//! Test fixture: a delivery worker on a store, a clock and a name server of its own, without the server.

mod parts;

use std::fmt::Write as _;
use std::future::Future;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use waxwing_dns::DnsServer;
use waxwing_mx::{Behaviour, MxServer, Received};

use parts::{add_domain, worker};

use crate::clock::{Clock, Timestamp};
use crate::delivery::limits::Limits;
use crate::delivery::routing::route::{Route, Rule, Smarthost};
use crate::delivery::shaping::admission::AdmissionControl;
use crate::delivery::smtp::{Security, Timeouts};
use crate::id::{AccountId, DomainId, MessageId};
use crate::store::records::{Answer, Body, BodyOf, JobOutcome, NewMessage, RouteChoice};
use crate::store::{MessageDetails, Store, test_data};

/// When every test begins.
pub const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
pub const MINUTE: Duration = Duration::from_mins(1);
pub const HOUR: Duration = Duration::from_hours(1);
pub const DAY: Duration = Duration::from_hours(24);
/// Longer than a busy machine needs.
pub const PATIENCE: Duration = Duration::from_mins(1);
/// How often a condition is looked at.
const POLL: Duration = Duration::from_millis(5);

const GRANT: i64 = 1_000;
const SENDER: &str = "sender.example";
const SEED: [u8; 32] = [7; 32];

/// What the worker is set up with.
pub struct Setup<'a> {
    pub rules: Vec<Rule>,
    pub default: Route,
    pub port: u16,
    /// The bounds of each operator of mail exchangers.
    pub direct: Limits,
    /// Attempts at one time.
    pub concurrent: usize,
    /// Further authorities.
    pub ca: Option<&'a str>,
    pub timeouts: Timeouts,
    pub inbox: std::net::SocketAddr,
    /// Since which backup delivery is held when the worker starts.
    pub held_since: Option<Timestamp>,
}

impl Setup<'_> {
    /// All mail goes that way.
    pub fn route(default: Route) -> Self {
        let direct = Limits { connections: 20, messages_per_connection: 100, per_minute: None };
        let timeouts = Timeouts {
            connect: Duration::from_secs(5),
            greeting: Duration::from_secs(5),
            command: Duration::from_secs(5),
            data_block: Duration::from_secs(5),
            content: Duration::from_secs(10),
            end_of_data: Duration::from_secs(5),
        };
        let rules = Vec::new();
        let inbox = ([127, 0, 0, 1], 1).into();
        Self {
            rules,
            default,
            port: 25,
            direct,
            concurrent: 64,
            ca: None,
            timeouts,
            inbox,
            held_since: None,
        }
    }

    /// All mail goes through those.
    pub fn smarthosts(smarthosts: &[Smarthost]) -> Self {
        Self::route(Route::Smarthosts(smarthosts.into()))
    }
}

/// A smarthost that is that server, spoken to in clear text.
pub fn smarthost(name: &str, server: &MxServer) -> Smarthost {
    Smarthost {
        name: name.to_owned(),
        host: server.address().ip().to_string(),
        port: server.address().port(),
        security: Security::Plain,
        login: None,
        weight: 1,
        limits: Limits { connections: 20, messages_per_connection: 100, per_minute: None },
    }
}

/// A server on that loopback address; port 0 picks a free one.
pub fn server_on(address: &str, port: u16, behaviour: Behaviour) -> MxServer {
    MxServer::start_on(
        (address.parse::<std::net::IpAddr>().expect("valid"), port).into(),
        behaviour,
    )
}

pub struct Fixture {
    pub store: Store,
    pub clock: Clock,
    pub dns: DnsServer,
    pub account: AccountId,
    /// What the worker has learnt.
    pub admission: Arc<AdmissionControl>,
    domain: DomainId,
    wake: Arc<Notify>,
    stop: CancellationToken,
    worker: Option<JoinHandle<()>>,
    sent: Mutex<Vec<MessageId>>,
    _data: TempDir,
}

impl Fixture {
    pub async fn new(setup: Setup<'_>) -> Self {
        let (data, dns) = (tempfile::tempdir().expect("a directory"), DnsServer::start().await);
        let clock = Clock::manual(NOW);
        let store = crate::store::test_data::open(&data).await;
        let account = test_data::open_account(&store, GRANT, NOW).await;
        let domain = add_domain(&store, account).await;
        let (wake, stop) = (Arc::new(Notify::new()), CancellationToken::new());
        let held_since = setup.held_since;
        let worker = worker(setup, &store, &clock, &dns, &wake, data.path()).await;
        let admission = Arc::clone(&worker.admission);
        if let Some(backup) = held_since {
            store.hold_delivery(backup).await.expect("noted");
            admission.is_held.store(true, Ordering::Relaxed);
        }
        let worker = tokio::spawn(worker.run(stop.clone()));
        Self {
            store,
            clock,
            dns,
            account,
            admission,
            domain,
            wake,
            stop,
            worker: Some(worker),
            sent: Mutex::default(),
            _data: data,
        }
    }

    /// A message to that address is accepted.
    pub async fn send(&self, to: &str) -> MessageId {
        self.send_as(MessageId::new(self.clock.now()), to).await
    }

    /// The same with that identifier.
    pub async fn send_as(&self, id: MessageId, to: &str) -> MessageId {
        let content = format!(
            "From: a@{SENDER}\r\nTo: {to}\r\nSubject: Hi\r\nMessage-ID: <{}@{SENDER}>\r\n\r\nHi\r\n",
            id.ulid()
        );
        self.accept(id, to, Body::pack(content.as_bytes())).await;
        id
    }

    /// A message with that stored body is accepted.
    pub async fn accept(&self, id: MessageId, to: &str, body: Body) {
        let message = NewMessage {
            id,
            sender: format!("a@{SENDER}").parse().expect("valid"),
            domain: self.domain,
            recipient: to.parse().expect("valid"),
            route: RouteChoice::Configured,
            body: BodyOf::Own(body),
            ..test_data::new_message(NOW)
        };
        let revision = self.store.revision().await.expect("readable");
        let job = test_data::job(revision, self.account, vec![message], NOW);
        let outcomes = self.store.commit(&[job], self.clock.now()).await.expect("commits");
        let [JobOutcome::Answered(answers)] = outcomes.as_slice() else { panic!("{outcomes:?}") };
        assert!(matches!(answers[0], Answer::Accepted { .. }), "{answers:?}");
        self.sent().push(id);
        self.wake.notify_one();
    }

    /// So many messages to addresses of a domain.
    pub async fn send_many(&self, messages: usize, domain: &str) -> Vec<MessageId> {
        let mut ids = Vec::with_capacity(messages);
        for n in 0..messages {
            ids.push(self.send(&format!("n{n}@{domain}")).await);
        }
        ids
    }

    pub async fn message(&self, id: MessageId) -> MessageDetails {
        self.store.message(id).await.expect("it is there")
    }

    pub async fn state(&self, id: MessageId) -> String {
        self.message(id).await.row.state.to_string()
    }

    /// A message after so many attempts, when nobody works on it.
    pub async fn after_attempts(&self, id: MessageId, attempts: usize) -> MessageDetails {
        let ask = || async {
            // First the attempts, and then what they have led to.
            let made = self.store.message_attempts(id).await.expect("readable").len() >= attempts;
            if made {
                Some(self.message(id).await).filter(|it| it.row.state.as_str() != "sending")
            } else {
                None
            }
        };
        self.until(&format!("{attempts} attempts"), ask).await
    }

    /// Waits until a message is in that state.
    pub async fn until_state(&self, id: MessageId, state: &str) -> MessageDetails {
        let ask =
            || async { Some(self.message(id).await).filter(|it| it.row.state.as_str() == state) };
        self.until(state, ask).await
    }

    /// Waits until all of these are in that state.
    pub async fn until_all(&self, ids: &[MessageId], state: &str) {
        for id in ids {
            self.until_state(*id, state).await;
        }
    }

    /// Moves the clock to the next attempt of a message; answers how far, and the message after that attempt.
    pub async fn run_next_attempt(&self, id: MessageId) -> (Duration, MessageDetails) {
        let details = self.message(id).await;
        let next = details.row.next_attempt_at.expect("there is another attempt");
        let pause = self.clock.now().until(next);
        self.advance(pause);
        (pause, self.after_attempts(id, details.attempts.len() + 1).await)
    }

    /// Moves the clock, and lets the worker notice.
    pub fn advance(&self, by: Duration) {
        self.clock.advance(by);
        self.wake.notify_one();
    }

    /// Sets the clock, and lets the worker notice.
    pub fn set_clock(&self, to: Timestamp) {
        self.clock.set(to);
        self.wake.notify_one();
    }

    /// Moves the clock from one due message to the next until `until`, and works each time until
    /// nothing is due.
    pub async fn run_until(&self, until: Timestamp) {
        loop {
            self.until_idle().await;
            let due = self.store.next_due(self.clock.now()).await.expect("readable");
            let Some(due) = due.filter(|it| *it <= until) else { break };
            self.set_clock(due.max(self.clock.now()));
        }
        self.set_clock(until);
        self.until_idle().await;
    }

    /// Waits until nothing is due and nothing is under way.
    pub async fn until_idle(&self) {
        self.wake.notify_one();
        let ask = || async {
            let due = self.store.all_due(self.clock.now()).await;
            let is_done = due.is_empty() && !self.states().await.iter().any(|it| it == "sending");
            is_done.then_some(())
        };
        self.until("nothing is due", ask).await;
    }

    /// The states of all messages, in the order of their sending.
    pub async fn states(&self) -> Vec<String> {
        let ids = self.sent().clone();
        let mut states = Vec::with_capacity(ids.len());
        for id in ids {
            let row = self.store.message_row(id).await.expect("readable").expect("it is there");
            states.push(row.state.to_string());
        }
        states
    }

    /// Waits for a condition.
    pub async fn until<T, F>(&self, what: &str, mut ask: impl FnMut() -> F) -> T
    where
        F: Future<Output = Option<T>>,
    {
        let begun = Instant::now();
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            let is_in_time = begun.elapsed() <= PATIENCE;
            assert!(is_in_time, "waited in vain: {what}\n{}", self.story().await);
            tokio::time::sleep(POLL).await;
        }
    }

    /// What has become of all messages, for a test that failed.
    async fn story(&self) -> String {
        let ids = self.sent().clone();
        let mut story = format!("it is {}\n", self.clock.now());
        for id in ids {
            let details = self.message(id).await;
            let row = &details.row;
            let next = row.next_attempt_at.map_or_else(|| "never".to_owned(), Timestamp::rfc3339);
            writeln!(story, "{} {} ({}), next {next}", row.to, row.state, row.reason)
                .expect("text");
            for it in &details.attempts {
                let (at, route, outcome) = (&it.started_at, &it.route, &it.outcome);
                writeln!(story, "  {at} {route} {outcome}: {}", it.reply).expect("text");
            }
        }
        story
    }

    /// Ends the worker: nothing is leased any more.
    pub async fn halt(&mut self) {
        self.stop.cancel();
        if let Some(worker) = self.worker.take() {
            worker.await.expect("the worker does not panic");
        }
    }

    /// Ends the worker and holds every message and the money against the rules.
    pub async fn finish(mut self) {
        self.halt().await;
        let mut spent = 0;
        let ids = self.sent().clone();
        for id in ids {
            let details = self.message(id).await;
            assert_legal(&details);
            spent += details.row.credits.0 - details.row.refunded.0;
        }
        let row = self.store.account(self.account, NOW).await.expect("there");
        let ledger = self.store.ledger(self.account, 10_000).await.expect("readable");
        assert_eq!(row.balance.0, ledger.iter().map(|it| it.amount.0).sum::<i64>(), "the ledger");
        assert_eq!(row.balance.0, GRANT - spent, "one debit a message, and the refunds");
    }

    fn sent(&self) -> MutexGuard<'_, Vec<MessageId>> {
        self.sent.lock().expect("no panic under the lock")
    }
}

/// The types of its events, without `message.`.
pub fn events(details: &MessageDetails) -> Vec<&str> {
    details.events.iter().map(|it| it.r#type.as_str().trim_start_matches("message.")).collect()
}

/// The Message-ID of a message as it stands in its header.
pub fn message_id(id: MessageId) -> String {
    format!("<{}@{SENDER}>", id.ulid())
}

pub fn message_ids(messages: &[Received]) -> Vec<String> {
    messages.iter().map(|it| it.header("Message-ID").expect("a Message-ID")).collect()
}

/// Each state follows from the one before it, each has a reason, and only what never left is given
/// back.
fn assert_legal(details: &MessageDetails) {
    let events = events(details);
    assert_eq!(events.first(), Some(&"queued"), "{events:?}");
    assert_eq!(events.last().copied(), Some(details.row.state.as_str()), "{events:?}");
    for pair in events.windows(2) {
        let is_legal = match pair[0] {
            // It is not offered while its destination is backed off from.
            "queued" => ["sending", "deferred", "canceled"].contains(&pair[1]),
            "deferred" => pair[1] == "sending",
            "sending" => ["sending", "delivered", "relayed", "deferred", "bounced", "failed"]
                .contains(&pair[1]),
            _ => false,
        };
        assert!(is_legal, "{events:?}");
    }
    assert!(details.events.iter().all(|it| !it.detail.is_empty()), "{:?}", details.events);
    // What may have arrived is not refunded.
    let is_uncertain = details.attempts.iter().any(|it| it.reply.contains("may have arrived"));
    let never_left = ["failed", "canceled"].contains(&details.row.state.as_str());
    let is_refunded = never_left && !is_uncertain;
    let refunded = if is_refunded { details.row.credits.0 } else { 0 };
    assert_eq!(details.row.refunded.0, refunded, "{}", details.row.state);
}
