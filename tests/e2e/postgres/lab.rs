//! A database, the servers over it, what they send to and ask, and who uses them.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use waxwing_dns::DnsServer;
use waxwing_mx::{Behaviour, MxServer, Reply, Stage};
use waxwing_tests::{Account, Launch, Server, name_server, until_async};
use waxwing_tools::Cluster;

use crate::fixture::{message, smarthosts, with};

pub const SENDER: &str = "sender.example";
/// Longer than a take-over takes on a busy machine.
pub const PATIENCE: Duration = Duration::from_mins(2);
pub const CREDITS: u32 = 10_000;
/// Domains that the mail goes to: each is a lane, and so of one share.
const DOMAINS: usize = 32;
/// How long the smarthost takes for a message where something is to be under way at any time.
const UNHURRIED: Duration = Duration::from_millis(60);

/// A database, and what all of its nodes send to and ask.
pub struct Lab {
    pub url: String,
    pub dns: DnsServer,
    pub post: MxServer,
}

/// Who sends, and who looks at the nodes.
pub struct Keys {
    pub account: Account,
    pub operator: String,
}

impl Lab {
    pub async fn new(database: &str) -> Option<Self> {
        let cluster = Cluster::shared("several servers on one PostgreSQL")?;
        Some(Self::at(cluster.create(database)).await)
    }

    /// The nodes of this empty database.
    pub async fn at(url: String) -> Self {
        Self { url, dns: name_server().await, post: MxServer::start(Behaviour::new()) }
    }

    /// One more server, with a data directory of its own and the same master key.
    pub fn node(&self, name: &str) -> Server {
        let serve = Launch::serve("[inbox]\nsmtp_listen = \"127.0.0.1:0\"\n");
        Server::start(self.settings(serve, name))
    }

    /// The same with the relay and a directory of plugins, to be started.
    pub fn dev(&self, name: &str) -> Launch {
        // A connection lasts, so that the smarthost never counts one that ends beside the next one.
        self.settings(Launch::dev(), name).with("delivery", "messages_per_connection", "100000")
    }

    fn settings(&self, launch: Launch, name: &str) -> Launch {
        let settings = [
            ("store", "url", self.url.as_str()),
            ("node", "name", name),
            ("node", "renew_s", "1"),
            ("node", "hold_s", "6"),
            ("delivery", "route", "smarthost"),
            ("delivery", "smarthosts", &smarthosts(&self.post)),
            ("delivery", "retry_pauses_s", "[1]"),
            ("webhooks", "allow_http", "true"),
            ("webhooks", "allow_private", "[\"127.0.0.1/32\"]"),
            ("webhooks", "timeout_s", "2"),
            ("limits", "lists_per_second", "10000"),
        ];
        let set = |launch: Launch, (section, key, value): (&str, &str, &str)| {
            launch.with(section, key, value)
        };
        settings.into_iter().fold(launch.that_asks(&self.dns), set)
    }

    pub async fn keys(&self, server: &Server) -> Keys {
        let account = server.open_account("pro", CREDITS);
        let (key_id, key) = server.make_key(&account.id, &["--scope", "send", "--scope", "admin"]);
        let (_, operator) = server.make_key(&account.id, &["--scope", "operator"]);
        let account = Account { key_id, key, ..account };
        drop(server.verified_domain(&self.dns, &account.key, SENDER).await);
        Keys { account, operator }
    }

    /// From now on whoever offers a message waits, before any of it has been sent.
    pub fn stall(&self) {
        self.post.set(Behaviour::new().answer(Stage::Mail, Reply::silence()));
    }

    pub fn go_on(&self) {
        self.post.set(Behaviour::new());
    }

    /// The recipients of all that came, with repetitions.
    pub fn recipients(&self) -> Vec<String> {
        let all = self.post.messages();
        all.iter().flat_map(|it| it.addresses()).map(str::to_owned).collect()
    }
}

/// It takes its time for each message.
pub fn unhurried() -> Behaviour {
    Behaviour::new().answer(Stage::EndOfData, Reply::new(250, "2.0.0 taken").after(UNHURRIED))
}

/// Who sends.
pub fn sender() -> String {
    format!("hello@{SENDER}")
}

/// The address of the recipient of that number.
pub fn recipient(number: usize) -> String {
    format!("n{number}@d{}.example", number % DOMAINS)
}

/// A message of the account, for HTTP.
pub fn mail(to: &str) -> Value {
    with(message(to), "from", json!(sender()))
}

/// The same for SMTP, with so many octets of text.
pub fn raw(to: &str, octets: usize) -> String {
    // Nothing that could be made shorter.
    let mut state = 1_u32;
    let mut letters = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from_digit(state >> 27, 32).expect("a digit of five bits")
    });
    let mut text = String::new();
    while text.len() < octets {
        text.extend(letters.by_ref().take(72));
        text.push_str("\r\n");
    }
    format!("From: {}\r\nTo: {to}\r\nSubject: Hi\r\n\r\n{text}", sender())
}

/// Mail to so many domains, by turns over these servers.
pub async fn send(servers: &[&Server], keys: &Keys, messages: usize) -> Vec<String> {
    let sends = (0..messages).zip(servers.iter().cycle()).map(|(n, server)| async move {
        let mail = mail(&format!("ada@d{n}.example"));
        server.send(&keys.account.key, &mail).await.message_id()
    });
    join_all(sends).await
}

pub async fn nodes(server: &Server, keys: &Keys) -> Vec<Value> {
    let answer = server.get_as(&keys.operator, "/v1/nodes").await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body["data"].as_array().expect("a list").clone()
}

pub async fn until_nodes(
    server: &Server,
    keys: &Keys,
    what: &str,
    wanted: impl Fn(&[Value]) -> bool,
) -> Vec<Value> {
    let wanted = &wanted;
    let ask = || async move { Some(nodes(server, keys).await).filter(|it| wanted(it)) };
    until_async(what, PATIENCE, ask).await
}

/// Waits until the nodes of these names, and no other ones, share all of the work.
pub async fn until_shared(server: &Server, keys: &Keys, names: &[&str]) {
    let mut wanted = names.to_vec();
    wanted.sort_unstable();
    let is_shared = |all: &[Value]| {
        let live: Vec<&Value> = all.iter().filter(|it| it["state"] == "live").collect();
        let shares: Vec<i64> = live.iter().filter_map(|it| it["shares"].as_i64()).collect();
        let mut found: Vec<&str> = live.iter().filter_map(|it| it["name"].as_str()).collect();
        found.sort_unstable();
        found == wanted && shares.iter().sum::<i64>() == 64 && shares.iter().all(|it| *it > 0)
    };
    until_nodes(server, keys, &format!("{names:?} share the work"), is_shared).await;
}

pub fn is_in(nodes: &[Value], name: &str, state: &str) -> bool {
    nodes.iter().any(|it| it["name"] == name && it["state"] == state)
}

pub fn leases(nodes: &[Value], name: &str) -> i64 {
    let own = nodes.iter().filter(|it| it["name"] == name);
    own.filter_map(|it| it["leases"].as_i64()).sum()
}
