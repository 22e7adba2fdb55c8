//! Several servers over one database: each message is delivered once, whichever node took it, and whichever node dies.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use waxwing_dns::DnsServer;
use waxwing_mx::{Behaviour, MxServer, Reply, Stage};
use waxwing_tests::{Account, Launch, Receiver, Server, name_server, until, until_async};
use waxwing_tools::Cluster;

use crate::fixture::{message, with};

const SENDER: &str = "sender.example";
/// Longer than a take-over takes on a busy machine.
const PATIENCE: Duration = Duration::from_mins(2);
const CREDITS: u32 = 10_000;

/// A database, and what all of its nodes send to and ask.
struct Lab {
    url: String,
    dns: DnsServer,
    post: MxServer,
}

/// Who sends, and who looks at the nodes.
struct Keys {
    account: Account,
    operator: String,
}

impl Lab {
    async fn new(database: &str) -> Option<Self> {
        let url = Cluster::shared("several servers on one PostgreSQL")?.create(database);
        Some(Self { url, dns: name_server().await, post: MxServer::start(Behaviour::new()) })
    }

    /// One more server, with a data directory of its own and the same master key.
    fn node(&self, name: &str) -> Server {
        let port = self.post.address().port();
        let smarthosts = format!(
            "[{{ name = \"post\", host = \"127.0.0.1\", port = {port}, security = \"none\" }}]"
        );
        let launch = Launch::serve("[inbox]\nsmtp_listen = \"127.0.0.1:0\"\n").that_asks(&self.dns);
        let settings = [
            ("store", "url", self.url.as_str()),
            ("node", "name", name),
            ("node", "renew_s", "1"),
            ("node", "hold_s", "6"),
            ("delivery", "route", "smarthost"),
            ("delivery", "smarthosts", &smarthosts),
            ("delivery", "retry_pauses_s", "[1]"),
            ("webhooks", "allow_http", "true"),
            ("webhooks", "allow_private", "[\"127.0.0.1/32\"]"),
            ("webhooks", "timeout_s", "2"),
            ("limits", "lists_per_second", "10000"),
        ];
        let set = |launch: Launch, (section, key, value): (&str, &str, &str)| {
            launch.with(section, key, value)
        };
        Server::start(settings.into_iter().fold(launch, set))
    }

    async fn keys(&self, server: &Server) -> Keys {
        let account = server.open_account("pro", CREDITS);
        let (key_id, key) = server.make_key(&account.id, &["--scope", "send", "--scope", "admin"]);
        let (_, operator) = server.make_key(&account.id, &["--scope", "operator"]);
        let account = Account { key_id, key, ..account };
        drop(server.verified_domain(&self.dns, &account.key, SENDER).await);
        Keys { account, operator }
    }

    /// From now on whoever offers a message waits, before any of it has been sent.
    fn stall(&self) {
        self.post.set(Behaviour::new().answer(Stage::Mail, Reply::silence()));
    }

    fn go_on(&self) {
        self.post.set(Behaviour::new());
    }

    /// The recipients of all that came, with repetitions.
    fn recipients(&self) -> Vec<String> {
        let all = self.post.messages();
        all.iter().flat_map(|it| it.addresses()).map(str::to_owned).collect()
    }
}

/// Mail to so many domains, by turns over these servers.
async fn send(servers: &[&Server], keys: &Keys, messages: usize) -> Vec<String> {
    let sends = (0..messages).zip(servers.iter().cycle()).map(|(n, server)| async move {
        let mail = message(&format!("ada@d{n}.example"));
        let mail = with(mail, "from", json!(format!("hello@{SENDER}")));
        server.send(&keys.account.key, &mail).await.message_id()
    });
    join_all(sends).await
}

async fn nodes(server: &Server, keys: &Keys) -> Vec<Value> {
    let answer = server.get_as(&keys.operator, "/v1/nodes").await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.body["data"].as_array().expect("a list").clone()
}

async fn until_nodes(
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
async fn until_shared(server: &Server, keys: &Keys, names: &[&str]) {
    let is_shared = |all: &[Value]| {
        let live: Vec<&Value> = all.iter().filter(|it| it["state"] == "live").collect();
        let shares: Vec<i64> = live.iter().filter_map(|it| it["shares"].as_i64()).collect();
        live.iter().filter_map(|it| it["name"].as_str()).eq(names.iter().copied())
            && shares.iter().sum::<i64>() == 64
            && shares.iter().all(|it| *it > 0)
    };
    until_nodes(server, keys, &format!("{names:?} share the work"), is_shared).await;
}

fn is_in(nodes: &[Value], name: &str, state: &str) -> bool {
    nodes.iter().any(|it| it["name"] == name && it["state"] == state)
}

fn leases(nodes: &[Value], name: &str) -> i64 {
    let own = nodes.iter().filter(|it| it["name"] == name);
    own.filter_map(|it| it["leases"].as_i64()).sum()
}

/// Waits until all of these are relayed, each settled once and paid once.
async fn until_relayed(server: &Server, keys: &Keys, ids: &[String]) {
    for id in ids {
        let path = format!("/v1/messages/{id}");
        let ask = || async {
            let answer = server.get_as(&keys.account.key, &path).await;
            (answer.body["state"] == "relayed").then_some(())
        };
        until_async(&format!("{id} is relayed"), PATIENCE, ask).await;
    }
    assert_settled_once(server, keys, ids).await;
}

async fn assert_settled_once(server: &Server, keys: &Keys, ids: &[String]) {
    for id in ids {
        let path = format!("/v1/messages/{id}/events");
        let answer = server.get_as(&keys.account.key, &path).await;
        let events = answer.body["data"].as_array().expect("events").iter();
        let relayed = events.filter(|it| it["type"] == "message.relayed").count();
        assert_eq!(relayed, 1, "{}", answer.body);
    }
    let spent = i64::try_from(ids.len()).expect("a small number");
    assert_eq!(server.balance(&keys.account.id), i64::from(CREDITS) - spent);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_message_is_delivered_once_whichever_of_three_nodes_took_it() {
    let Some(lab) = Lab::new("three_nodes").await else { return };
    let one = lab.node("one");
    let keys = lab.keys(&one).await;
    let (two, mut three) = (lab.node("two"), lab.node("three"));
    until_shared(&one, &keys, &["one", "two", "three"]).await;
    let listed = three.cli(&["nodes"]);
    let names = listed.as_array().expect("a list").iter().filter_map(|it| it["name"].as_str());
    assert!(names.eq(["one", "two", "three"]), "{listed}");
    let receiver = Receiver::start().await;
    two.make_webhook(&keys.account.key, &receiver, &["message.relayed"]).await;

    let ids = send(&[&one, &two, &three], &keys, 90).await;
    until_relayed(&three, &keys, &ids).await;
    let came = lab.recipients();
    assert_eq!(came.len(), 90, "{came:?}");
    assert_eq!(came.iter().collect::<BTreeSet<_>>().len(), 90, "{came:?}");
    for node in [&one, &two, &three] {
        assert!(node.log().contains("delivery attempted"), "each node has its share");
    }
    let told = receiver.until("90 events", |all| all.len() >= 90).await;
    let events: BTreeSet<&str> = told.iter().map(|it| it.header("webhook-id")).collect();
    assert_eq!((told.len(), events.len()), (90, 90), "each event is told once");

    assert!(three.terminate().success());
    until_shared(&one, &keys, &["one", "two"]).await;
    let shown = nodes(&two, &keys).await;
    assert!(is_in(&shown, "three", "gone"), "{shown:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_node_had_under_way_is_delivered_by_the_others() {
    let Some(lab) = Lab::new("killed_node").await else { return };
    let mut one = lab.node("one");
    let keys = lab.keys(&one).await;
    let two = lab.node("two");
    until_shared(&two, &keys, &["one", "two"]).await;
    lab.stall();
    let ids = send(&[&one, &two], &keys, 30).await;
    until_nodes(&two, &keys, "both deliver", |all| {
        leases(all, "one") > 0 && leases(all, "two") > 0
    })
    .await;
    one.kill9();
    lab.go_on();
    until_shared(&two, &keys, &["two"]).await;
    until_relayed(&two, &keys, &ids).await;
    let came = lab.recipients();
    assert_eq!(came.len(), 30, "nothing had been sent by the one that was killed: {came:?}");

    one.restart();
    until_shared(&two, &keys, &["two", "one"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_stood_still_settles_nothing_that_another_one_took() {
    let Some(lab) = Lab::new("stopped_node").await else { return };
    let one = lab.node("one");
    let keys = lab.keys(&one).await;
    let two = lab.node("two");
    until_shared(&two, &keys, &["one", "two"]).await;
    lab.stall();
    let ids = send(&[&two], &keys, 30).await;
    let shown = until_nodes(&two, &keys, "both deliver", |all| {
        leases(all, "one") > 0 && leases(all, "two") > 0
    })
    .await;
    let under_way = usize::try_from(leases(&shown, "one")).expect("a small number");
    one.signal("STOP");
    until_nodes(&two, &keys, "its time is over", |all| is_in(all, "one", "gone")).await;
    lab.go_on();
    until_relayed(&two, &keys, &ids).await;

    one.signal("CONT");
    let attempted = || {
        let log = one.log();
        (log.matches("delivery attempted").count() >= under_way).then_some(())
    };
    until("it ends what it had begun", PATIENCE, attempted);
    until_shared(&one, &keys, &["one", "two"]).await;
    assert_settled_once(&two, &keys, &ids).await;
    let again = send(&[&one, &two], &keys, 6).await;
    until_relayed(&one, &keys, &[ids, again].concat()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_one_node_deactivates_is_refused_by_the_other() {
    let Some(lab) = Lab::new("two_doors").await else { return };
    let one = lab.node("one");
    let keys = lab.keys(&one).await;
    let two = lab.node("two");
    let (id, spare) = one.make_key(&keys.account.id, &[]);
    let mail = with(message("ada@d1.example"), "from", json!(format!("hello@{SENDER}")));
    for server in [&one, &two] {
        server.send(&spare, &mail).await.message_id();
    }
    let path = format!("/v1/keys/{id}/deactivate");
    let request = one.request(Method::POST, &path).header("x-api-key", &keys.account.key);
    let done = one.answer(request).await;
    assert_eq!(done.status, 200, "{}", done.body);
    two.send(&spare, &mail).await.assert_refused(401, "UNAUTHORIZED");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_starts_again_takes_its_own_shares_up_at_once() {
    let Some(lab) = Lab::new("one_node").await else { return };
    let mut one = lab.node("one");
    let keys = lab.keys(&one).await;
    lab.stall();
    let ids = send(&[&one], &keys, 3).await;
    until_nodes(&one, &keys, "it delivers", |all| leases(all, "one") > 0).await;
    one.kill9();
    lab.go_on();
    one.restart();
    let shown = nodes(&one, &keys).await;
    assert_eq!(shown.len(), 1, "the earlier start is forgotten: {shown:?}");
    assert!(is_in(&shown, "one", "live") && shown[0]["shares"] == 64, "{shown:?}");
    until_relayed(&one, &keys, &ids).await;
    assert_eq!(lab.recipients().len(), 3);
}
