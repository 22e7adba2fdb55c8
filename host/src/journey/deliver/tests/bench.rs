//! A server's delivery without the server.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::future::Future;
use std::num::NonZeroU32;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use waxwing_dns::DnsServer;
use waxwing_mx::{Behaviour, MxServer, Received};

use crate::account::plan::Plan;
use crate::account::{Account, AccountState};
use crate::clock::{Clock, Timestamp};
use crate::credit::{Credits, EntryKind};
use crate::dns::{Reach, Resolver};
use crate::domain::key::{DkimKey, KeyPhase, identity};
use crate::domain::look_alike::LookAlikes;
use crate::domain::state::{DomainKind, Phase, SenderDomain, Standing};
use crate::id::{AccountId, DecisionId, DomainId, KeyId, MessageId};
use crate::journey::deliver::attempt::Attempts;
use crate::journey::deliver::carry::Carrier;
use crate::journey::deliver::destination::{Destinations, Limits};
use crate::journey::deliver::exchange::{
    AddressFamilies, Exchanges, FetchSettings, Policies, PolicyFetcher, Settings,
};
use crate::journey::deliver::placement::{Placement, RouteBook};
use crate::journey::deliver::return_path::ReturnPaths;
use crate::journey::deliver::route::{Routes, Rule, Smarthost, Way};
use crate::journey::deliver::schedule::Schedule;
use crate::journey::deliver::sign::Signatory;
use crate::journey::deliver::smtp::{Security, Timeouts, TlsClient};
use crate::journey::deliver::{Sandbox, Spawner, Worker};
use crate::mail::dkim::{Algorithm, SigningKey};
use crate::mail::verp::Verp;
use crate::store::Store;
use crate::store::facts::Facts;
use crate::store::records::{
    Acceptance, Answer, Body, BodyOf, Job, JobOutcome, NewMessage, ReturnPath, RouteChoice, Slot,
};
use crate::store::seal::{Purpose, Seal};
use crate::store::sqlite::{DomainRow, MessageFile, NewDomain};

/// When every test begins.
pub const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
pub const MINUTE: Duration = Duration::from_mins(1);
pub const HOUR: Duration = Duration::from_hours(1);
pub const DAY: Duration = Duration::from_hours(24);
/// Longer than a busy machine needs.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// How often a condition is looked at.
const POLL: Duration = Duration::from_millis(5);

const GRANT: i64 = 1_000;
const SENDER: &str = "sender.example";
const SEED: [u8; 32] = [7; 32];

/// How a bench is set up.
pub struct Setup<'a> {
    pub rules: Vec<Rule>,
    pub default: Way,
    /// The port of mail exchangers.
    pub port: u16,
    /// The bounds of each operator of mail exchangers.
    pub direct: Limits,
    /// Attempts at one time.
    pub concurrent: usize,
    /// Further authorities.
    pub ca: Option<&'a str>,
    pub timeouts: Timeouts,
}

impl Setup<'_> {
    /// All mail goes that way.
    pub fn way(default: Way) -> Self {
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
        Self { rules, default, port: 25, direct, concurrent: 64, ca: None, timeouts }
    }

    /// All mail goes through those.
    pub fn smarthosts(smarthosts: &[Smarthost]) -> Self {
        Self::way(Way::Smarthosts(smarthosts.into()))
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

pub struct Bench {
    pub store: Store,
    pub clock: Clock,
    pub dns: DnsServer,
    pub account: AccountId,
    domain: DomainId,
    wake: Arc<Notify>,
    stop: CancellationToken,
    worker: Option<JoinHandle<()>>,
    sent: Mutex<Vec<MessageId>>,
    _data: TempDir,
}

impl Bench {
    pub async fn new(setup: Setup<'_>) -> Self {
        let (data, dns) = (tempfile::tempdir().expect("a directory"), DnsServer::start().await);
        let clock = Clock::manual(NOW);
        let store = Store::open(&data.path().join("test.db")).await.expect("opens");
        let account = open_account(&store).await;
        let domain = add_domain(&store, account).await;
        let (wake, stop) = (Arc::new(Notify::new()), CancellationToken::new());
        let worker = worker(setup, &store, &clock, &dns, &wake, data.path()).await;
        let worker = tokio::spawn(worker.run(stop.clone()));
        Self {
            store,
            clock,
            dns,
            account,
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
            channel: "api",
            template: None,
            sender: format!("a@{SENDER}").parse().expect("valid"),
            domain: self.domain,
            return_path: ReturnPath::Author,
            recipient: to.parse().expect("valid"),
            subject: "Hi".to_owned(),
            route: RouteChoice::Configured,
            price: Credits(1),
            tags: Vec::new(),
            metadata: Map::new(),
            send_at: None,
            resent_from: None,
            body: BodyOf::Own(body),
            decision_id: DecisionId::new(NOW),
            decisions: json!([]).into(),
        };
        let job = Job {
            revision: self.store.revision().await.expect("readable"),
            account_id: self.account,
            key_id: KeyId::new(NOW),
            idempotency: None,
            acceptance: Acceptance::Each,
            slots: vec![Slot::Message(Box::new(message))],
        };
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

    pub async fn message(&self, id: MessageId) -> MessageFile {
        self.store.message(id).await.expect("it is there")
    }

    pub async fn state(&self, id: MessageId) -> String {
        self.message(id).await.row.state
    }

    /// A message after so many attempts, when nobody works on it.
    pub async fn after_attempts(&self, id: MessageId, attempts: usize) -> MessageFile {
        let ask = || async {
            let file = self.message(id).await;
            (file.attempts.len() >= attempts && file.row.state != "sending").then_some(file)
        };
        self.until(&format!("{attempts} attempts"), ask).await
    }

    /// Waits until a message is in that state.
    pub async fn until_state(&self, id: MessageId, state: &str) -> MessageFile {
        let ask = || async { Some(self.message(id).await).filter(|it| it.row.state == state) };
        self.until(state, ask).await
    }

    /// Waits until all of these are in that state.
    pub async fn until_all(&self, ids: &[MessageId], state: &str) {
        for id in ids {
            self.until_state(*id, state).await;
        }
    }

    /// Moves the clock to the next attempt of a message. How far, and the message after it.
    pub async fn retry(&self, id: MessageId) -> (Duration, MessageFile) {
        let file = self.message(id).await;
        let next = file.row.next_attempt_at.as_deref().expect("there is another attempt");
        let next = Timestamp::parse_rfc3339(next).expect("a moment");
        let pause = self.clock.now().until(next);
        self.advance(pause);
        (pause, self.after_attempts(id, file.attempts.len() + 1).await)
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
    pub async fn live_until(&self, until: Timestamp) {
        loop {
            self.quiet().await;
            let due = self.store.next_due().await.expect("readable").filter(|it| *it <= until);
            let Some(due) = due else { break };
            self.set_clock(due.max(self.clock.now()));
        }
        self.set_clock(until);
        self.quiet().await;
    }

    /// Waits until nothing is due and nothing is under way.
    pub async fn quiet(&self) {
        self.wake.notify_one();
        let none = BTreeSet::new();
        let ask = || async {
            let due = self.store.due(self.clock.now(), None, &none, 1).await.expect("readable");
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
            states.push(row.state);
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
            if begun.elapsed() > PATIENCE {
                panic!("waited in vain: {what}\n{}", self.story().await);
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// What has become of all messages, for a test that failed.
    async fn story(&self) -> String {
        let ids = self.sent().clone();
        let mut story = format!("it is {}\n", self.clock.now());
        for id in ids {
            let file = self.message(id).await;
            let row = &file.row;
            let next = row.next_attempt_at.as_deref().unwrap_or("never");
            writeln!(story, "{} {} ({}), next {next}", row.to, row.state, row.reason)
                .expect("text");
            for it in &file.attempts {
                let (at, route, outcome) = (&it.started_at, &it.route, &it.outcome);
                writeln!(story, "  {at} {route} {outcome}: {}", it.reply).expect("text");
            }
        }
        story
    }

    /// Ends the worker and holds every message and the money against the rules.
    pub async fn finish(mut self) {
        self.stop.cancel();
        self.worker.take().expect("it runs").await.expect("the worker does not panic");
        let mut spent = 0;
        let ids = self.sent().clone();
        for id in ids {
            let file = self.message(id).await;
            assert_legal(&file);
            spent += file.row.credits - file.row.refunded;
        }
        let row = self.store.account(self.account, NOW).await.expect("there");
        let ledger = self.store.ledger(self.account, 10_000).await.expect("readable");
        assert_eq!(row.balance.0, ledger.iter().map(|it| it.amount).sum::<i64>(), "the ledger");
        assert_eq!(row.balance.0, GRANT - spent, "one debit a message, and what was given back");
    }

    fn sent(&self) -> MutexGuard<'_, Vec<MessageId>> {
        self.sent.lock().expect("no panic under the lock")
    }
}

/// The types of its events, without `message.`.
pub fn events(file: &MessageFile) -> Vec<&str> {
    file.events.iter().map(|it| it.r#type.trim_start_matches("message.")).collect()
}

/// The Message-ID of a message as it stands in its header.
pub fn message_id(id: MessageId) -> String {
    format!("<{}@{SENDER}>", id.ulid())
}

/// Their Message-IDs.
pub fn message_ids(messages: &[Received]) -> Vec<String> {
    messages.iter().map(|it| it.header("Message-ID").expect("a Message-ID")).collect()
}

/// Each state follows from the one before it, each has a reason, and only what never left is given
/// back.
fn assert_legal(file: &MessageFile) {
    let events = events(file);
    assert_eq!(events.first(), Some(&"queued"), "{events:?}");
    assert_eq!(events.last().copied(), Some(file.row.state.as_str()), "{events:?}");
    for pair in events.windows(2) {
        let is_legal = match pair[0] {
            "queued" | "deferred" => pair[1] == "sending",
            "sending" => ["sending", "delivered", "relayed", "deferred", "bounced", "failed"]
                .contains(&pair[1]),
            _ => false,
        };
        assert!(is_legal, "{events:?}");
    }
    assert!(file.events.iter().all(|it| !it.detail.is_empty()), "{:?}", file.events);
    let given_back = if file.row.state == "failed" { file.row.credits } else { 0 };
    assert_eq!(file.row.refunded, given_back, "{}", file.row.state);
}

async fn open_account(store: &Store) -> AccountId {
    let account = Account {
        id: AccountId::new(NOW),
        name: "test".to_owned(),
        plan: Plan::named("pro"),
        state: AccountState::Active,
        sender: None,
        created_at: NOW,
    };
    store.create_account(&account).await.expect("created");
    let grant = Credits(GRANT);
    store.add_credits(account.id, EntryKind::Grant, grant, "test", NOW).await.expect("granted");
    account.id
}

/// A verified domain with a key that signs.
async fn add_domain(store: &Store, account_id: AccountId) -> DomainId {
    let id = DomainId::new(NOW);
    let made = SigningKey::generate(Algorithm::Ed25519).expect("a key");
    let seal = Seal::new(&SEED, Purpose::DkimKeys);
    let key = DkimKey {
        selector: "wx1e".to_owned(),
        algorithm: Algorithm::Ed25519.word().to_owned(),
        public_base64: made.key.public_base64(),
        sealed: seal.seal(&identity(id, "wx1e"), &made.pkcs8),
        phase: KeyPhase::Signing,
        since: NOW,
    };
    let standing =
        Standing { phase: Phase::Verified, since: NOW, progress: 100, missing: Vec::new() };
    let domain = SenderDomain {
        id,
        account_id,
        name: SENDER.parse().expect("a name"),
        kind: DomainKind::Dns,
        verification_token: "token".to_owned(),
        standing,
        created_at: NOW,
    };
    let row = DomainRow { domain, requirements: json!([]), decision: Value::Null };
    let look_alikes = LookAlikes::Allowed;
    let new = NewDomain { row, look_alikes, keys: vec![key], first_check: None };
    store.add_domain(&new, 10, NOW).await.expect("the store works").expect("added");
    id
}

async fn worker(
    setup: Setup<'_>,
    store: &Store,
    clock: &Clock,
    dns: &DnsServer,
    wake: &Arc<Notify>,
    data: &Path,
) -> Worker {
    let ca = setup.ca.map(|pem| {
        let file = data.join("ca.pem");
        std::fs::write(&file, pem).expect("written");
        file
    });
    let book = RouteBook {
        routes: Routes { rules: setup.rules, default: setup.default },
        direct: setup.direct,
        exceptions: Vec::new(),
        port: setup.port,
    };
    let placement = Arc::new(Placement {
        routes: Arc::new(ArcSwap::from_pointee(book)),
        exchanges: exchanges(store, clock, dns),
        destinations: Arc::new(Destinations::default()),
        clock: clock.clone(),
    });
    let facts = Arc::new(Facts::open(store.clone(), clock.clone()).await.expect("readable"));
    let seal = Seal::new(&SEED, Purpose::DkimKeys);
    let attempts = Attempts {
        store: store.clone(),
        signatory: Signatory::new(Arc::clone(&facts), seal, clock.clone()),
        return_paths: ReturnPaths::new(
            Verp::new(&SEED),
            "bounce.mail.example".parse().expect("a name"),
            facts,
        ),
        sandbox: Sandbox::new(([127, 0, 0, 1], 1).into()),
        carrier: Carrier {
            hello: "mail.example".to_owned(),
            local: Vec::new(),
            tls: TlsClient::new(ca.as_deref()).expect("authorities"),
            timeouts: setup.timeouts,
            clock: clock.clone(),
        },
        placement: Arc::clone(&placement),
        memory: Semaphore::new(64 << 10),
        memory_kib: 64 << 10,
    };
    Worker {
        store: store.clone(),
        clock: clock.clone(),
        owner: "test".to_owned(),
        attempts: Arc::new(attempts),
        placement,
        schedule: Arc::new(Schedule::default()),
        concurrent: setup.concurrent,
        wake: Arc::clone(wake),
        spawner: Spawner::new(|task| drop(tokio::spawn(task))),
    }
}

fn exchanges(store: &Store, clock: &Clock, dns: &DnsServer) -> Arc<Exchanges> {
    let settings = crate::dns::Settings {
        nameservers: vec![dns.address()],
        timeout: Duration::from_millis(500),
        tries: 2,
        concurrent: 16,
        per_second: NonZeroU32::new(10_000).expect("not zero"),
    };
    let resolver = Resolver::new(&settings, clock.clone()).expect("a server is named");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has them")
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let fetch = FetchSettings { reach: Reach::Anywhere, ..FetchSettings::default() };
    let fetcher = PolicyFetcher::new(resolver.clone(), tls, &fetch).expect("HTTPS");
    let policies = Policies::new(resolver.clone(), store.clone(), fetcher, clock.clone());
    let settings = Settings {
        addresses: AddressFamilies::Both,
        reach: Reach::Anywhere,
        own_names: vec!["mail.example".to_owned()],
    };
    Arc::new(Exchanges::new(resolver, Some(policies), clock.clone(), settings))
}
