//! Clients over HTTP and SMTP that go on while nodes are killed, started again, cut off and refuse, and remember what they
//! were promised.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use reqwest::Method;
use tokio::sync::{RwLock, RwLockReadGuard};
use tokio::task::JoinSet;
use waxwing_tests::{Port, Server, Smtp, until_async};

use super::lab::{Lab, PATIENCE, mail, raw, recipient, sender, unhurried};

/// Paces a client that was refused, or found nobody; the sleep waits for no event.
const PAUSE: Duration = Duration::from_millis(20);
/// Paces a client from one message to the next, so that the load is small; the sleep waits for no event.
const PACE: Duration = Duration::from_millis(150);
/// Octets of a message over SMTP.
const OCTETS: usize = 500;

/// Servers that are started again while clients use them.
pub type Nodes = Arc<Vec<RwLock<Server>>>;

/// What clients were told.
#[derive(Debug, Default)]
pub struct Sent {
    /// What was answered 201 or 250: the message, and its recipient.
    pub accepted: BTreeMap<String, String>,
    /// Recipients of what was offered over SMTP and refused for now.
    pub refused: BTreeSet<String>,
    /// Recipients of what nobody said anything of.
    pub unanswered: BTreeSet<String>,
}

/// The clients, until they are told to end.
pub struct Load {
    clients: Arc<Clients>,
    tasks: JoinSet<()>,
}

struct Clients {
    nodes: Nodes,
    key: String,
    sent: Mutex<Sent>,
    counts: Vec<Counts>,
    next: AtomicUsize,
    is_over: AtomicBool,
}

/// How often one node has said so.
#[derive(Debug, Default)]
struct Counts {
    accepted: AtomicUsize,
    refused_http: AtomicUsize,
    refused_smtp: AtomicUsize,
}

/// The only node of a lab under load, and a session over SMTP that has logged in.
pub async fn load_one_node(lab: &Lab, connections: usize) -> (Nodes, Load, Smtp) {
    lab.post.set(unhurried());
    let launch = lab.dev("one").with("delivery", "connections", &connections.to_string());
    let node = Server::start(launch);
    let key = lab.keys(&node).await.account.key;
    let mut session = Smtp::secured(&node, Port::Implicit).await;
    session.log_in(&key).await.assert(235);
    let nodes: Nodes = Arc::new(vec![RwLock::new(node)]);
    let load = Load::start(&nodes, &key, (4, 2));
    (nodes, load, session)
}

impl Load {
    /// So many clients over HTTP and over SMTP, spread over the nodes. Each has one message under way at a time.
    pub fn start(nodes: &Nodes, key: &str, (http, smtp): (usize, usize)) -> Self {
        let clients = Arc::new(Clients {
            nodes: Arc::clone(nodes),
            key: key.to_owned(),
            sent: Mutex::default(),
            counts: nodes.iter().map(|_| Counts::default()).collect(),
            next: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
        });
        let mut tasks = JoinSet::new();
        for first in 0..http {
            tasks.spawn(Arc::clone(&clients).send_by_http(first));
        }
        for first in 0..smtp {
            tasks.spawn(Arc::clone(&clients).send_by_smtp(first));
        }
        Self { clients, tasks }
    }

    /// Waits until so many more are accepted, by whichever node.
    pub async fn until_accepted(&self, more: usize) {
        let count = || self.clients.sent().accepted.len();
        let wanted = count() + more;
        let ask = || async { (count() >= wanted).then_some(()) };
        until_async("messages are accepted", PATIENCE, ask).await;
    }

    /// Waits until a node accepts some more.
    pub async fn until_accepted_by(&self, node: usize) {
        self.until_more("it accepts", node, |it| &it.accepted).await;
    }

    /// Waits until a node refuses as it has to, over HTTP and over SMTP.
    pub async fn until_refused_by(&self, node: usize) {
        self.until_more("it refuses over HTTP", node, |it| &it.refused_http).await;
        self.until_more("it refuses over SMTP", node, |it| &it.refused_smtp).await;
    }

    /// Notes that nobody knows what became of a message which the test itself has offered.
    pub fn doubt(&self, to: &str) {
        self.clients.sent().unanswered.insert(to.to_owned());
    }

    /// Notes that a message was accepted which the test itself has offered.
    pub fn accept(&self, id: &str, to: &str) {
        self.clients.sent().accepted.insert(id.to_owned(), to.to_owned());
    }

    /// The recipient of a message which the test itself offers.
    pub fn recipient(&self) -> String {
        self.clients.recipient()
    }

    /// Ends the clients when they have been told what became of what they have under way.
    pub async fn finish(mut self) -> Sent {
        self.clients.is_over.store(true, Ordering::Relaxed);
        while let Some(ended) = self.tasks.join_next().await {
            ended.expect("no client panics");
        }
        std::mem::take(&mut *self.clients.sent())
    }

    async fn until_more(&self, what: &str, node: usize, of: impl Fn(&Counts) -> &AtomicUsize) {
        let count = || of(&self.clients.counts[node]).load(Ordering::Relaxed);
        let before = count();
        until_async(what, PATIENCE, || async { (count() > before).then_some(()) }).await;
    }
}

impl Clients {
    /// Each message under a key of its own, so that it is offered until it is accepted, once, by whichever node.
    async fn send_by_http(self: Arc<Self>, first: usize) {
        while !self.is_over() {
            let to = self.recipient();
            let mut node = first;
            while !self.is_accepted(node, &to).await {
                tokio::time::sleep(PAUSE).await;
                node += 1;
            }
            tokio::time::sleep(PACE).await;
        }
    }

    /// Each message once: nobody can ask again what became of it.
    async fn send_by_smtp(self: Arc<Self>, first: usize) {
        let from = sender();
        let mut node = first;
        while !self.is_over() {
            self.offer(node, &from).await;
            tokio::time::sleep(PACE).await;
            node += 1;
        }
    }

    async fn is_accepted(&self, node: usize, to: &str) -> bool {
        let Some((server, counts)) = self.node(node) else { return false };
        let request = server.request(Method::POST, "/messages/send").json(&mail(to));
        let request = request.header("x-api-key", &self.key).header("idempotency-key", to);
        let Ok(answer) = server.try_answer(request).await else { return false };
        if answer.status == 201 {
            self.sent().accepted.insert(answer.message_id(), to.to_owned());
            counts.accepted.fetch_add(1, Ordering::Relaxed);
            return true;
        }
        // The harness has looked for Retry-After. In flight is what this client has asked before, and not waited for.
        assert!(matches!(answer.status, 409 | 503), "{}: {}", answer.status, answer.body);
        if answer.status == 503 {
            counts.refused_http.fetch_add(1, Ordering::Relaxed);
        }
        false
    }

    async fn offer(&self, node: usize, from: &str) {
        let Some((server, counts)) = self.node(node) else { return };
        let to = self.recipient();
        let text = raw(&to, OCTETS);
        match Smtp::try_send(&server, &self.key, (from, &to), &text).await {
            Ok(reply) if reply.code == 250 => {
                self.sent().accepted.insert(reply.message_id(), to);
                counts.accepted.fetch_add(1, Ordering::Relaxed);
            }
            Ok(reply) => {
                // At AUTH the key could not be checked; later the message could not be kept.
                assert!(matches!(reply.code, 451 | 454), "{reply:?}");
                self.sent().refused.insert(to);
                counts.refused_smtp.fetch_add(1, Ordering::Relaxed);
            }
            Err(_) => {
                self.sent().unanswered.insert(to);
            }
        }
    }

    /// A node that is not being started.
    fn node(&self, number: usize) -> Option<(RwLockReadGuard<'_, Server>, &Counts)> {
        let place = number % self.nodes.len();
        Some((self.nodes[place].try_read().ok()?, &self.counts[place]))
    }

    fn recipient(&self) -> String {
        recipient(self.next.fetch_add(1, Ordering::Relaxed))
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    fn sent(&self) -> MutexGuard<'_, Sent> {
        self.sent.lock().expect("no client panics")
    }
}
