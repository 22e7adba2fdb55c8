//! What must be true after every fault: what was promised is there and has arrived, was paid once and told, and what came
//! twice is no more than what was under way.

use std::collections::{BTreeMap, BTreeSet};

use waxwing_mx::MxServer;
use waxwing_tests::{Posted, Receiver, until_async};
use waxwing_tools::Cluster;

use super::lab::PATIENCE;
use super::load::Sent;
use crate::fixture::{UNSOUND, told};

/// What must not be when nothing is under way any more.
const UNSETTLED: [(&str, &str); 5] = [
    (
        "a ledger that parts, or begins twice",
        "SELECT count(*) FROM (SELECT 1 FROM ledger GROUP BY account_id, previous HAVING count(*) > 1) AS parts",
    ),
    (
        "a message that has not arrived, or was settled twice",
        "SELECT count(*) FROM messages m WHERE state <> 'relayed'
           OR (SELECT count(*) FROM events e WHERE e.subject = m.id AND e.type = 5) <> 1",
    ),
    (
        "a message without one event of its acceptance",
        "SELECT count(*) FROM messages m
         WHERE (SELECT count(*) FROM events e WHERE e.subject = m.id AND e.type IN (1, 2, 9)) <> 1",
    ),
    (
        "an attempt that was begun and not ended, or ended and not begun",
        "SELECT count(*) FROM messages m
         WHERE (SELECT count(*) FROM events e WHERE e.subject = m.id AND e.type = 3)
            <> (SELECT count(*) FROM attempts a WHERE a.message_id = m.id)",
    ),
    (
        "a count of changes of state that is not that of their events",
        "SELECT count(*) FROM
           (SELECT s.changes, (SELECT count(*) FROM events e
                               WHERE e.type = CASE s.state WHEN 'relayed' THEN 5 WHEN 'deferred' THEN 6
                                                           WHEN 'bounced' THEN 7 WHEN 'failed' THEN 8 END) AS told
            FROM (SELECT state, sum(changes) AS changes FROM sent
                  WHERE state IN ('relayed', 'deferred', 'bounced', 'failed') GROUP BY state) AS s) AS counted
         WHERE changes <> told",
    ),
];

/// A database, past everything that its servers say of it.
#[derive(Debug, Clone, Copy)]
pub struct Database<'a> {
    pub cluster: &'a Cluster,
    pub name: &'a str,
}

/// What may come twice: what was under way where a node was killed, or cut off.
#[derive(Debug, Default)]
pub struct UnderWay {
    recipients: BTreeSet<String>,
    /// Identifiers of events.
    posts: BTreeSet<String>,
}

/// What is held against what.
pub struct Whole<'a> {
    pub database: Database<'a>,
    pub sent: Sent,
    pub under_way: UnderWay,
    /// Those that all mail went to.
    pub posts: &'a [&'a MxServer],
    /// Connections that each of these may have seen at one time.
    pub connections: usize,
    pub refusals: Refusals,
}

/// What 451 says of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusals {
    /// It was not stored.
    Final,
    /// The answer to a COMMIT may have been lost: it may have been stored.
    Doubtful,
}

impl Database<'_> {
    pub fn number(&self, sql: &str) -> i64 {
        let answer = self.cluster.run(self.name, sql);
        answer.parse().expect("a number")
    }

    pub fn lines(&self, sql: &str) -> Vec<String> {
        self.cluster.run(self.name, sql).lines().map(str::to_owned).collect()
    }
}

impl UnderWay {
    /// Adds what a node has leased, and what is to be posted to webhooks.
    pub fn add(&mut self, database: Database<'_>, node: &str) {
        self.recipients.extend(database.lines(&format!(
            "SELECT m.recipient FROM queue q JOIN messages m ON m.id = q.message_id
             WHERE q.lease_owner IN (SELECT id FROM nodes WHERE name = '{node}')"
        )));
        let posts =
            "SELECT encode(event_id, 'hex') FROM webhook_deliveries WHERE state = 'pending'";
        self.posts.extend(database.lines(posts).iter().map(|it| identifier("evt_", it)));
    }
}

impl Whole<'_> {
    /// Waits until nothing is under way any more; then everything has to agree.
    pub async fn assert_ledger_and_mail_are_whole(&self) {
        let (database, sent) = (self.database, &self.sent);
        let waiting = "SELECT count(*) FROM queue";
        let rests = || async move { (database.number(waiting) == 0).then_some(()) };
        until_async("nothing waits, and nothing is being sent", PATIENCE, rests).await;
        for (what, sql) in UNSOUND.into_iter().chain(UNSETTLED) {
            assert_eq!(database.number(sql), 0, "{what}");
        }

        let stored = self.stored();
        for (id, to) in &sent.accepted {
            assert_eq!(stored.get(id), Some(to), "{id} was accepted");
        }
        let others = stored.iter().filter(|(id, _)| !sent.accepted.contains_key(*id));
        let is_explained = |to: &String| {
            let may_be = self.refusals == Refusals::Doubtful && sent.refused.contains(to);
            may_be || sent.unanswered.contains(to)
        };
        let unexplained: Vec<&String> =
            others.map(|(_, to)| to).filter(|to| !is_explained(to)).collect();
        assert!(unexplained.is_empty(), "stored, and accepted by nobody: {unexplained:?}");

        let came = self.came();
        let recipients: BTreeSet<&String> = stored.values().collect();
        assert_eq!(recipients.len(), stored.len(), "each message has a recipient of its own");
        assert_eq!(came.keys().collect::<BTreeSet<_>>(), recipients, "each message has arrived");
        let twice: Vec<&String> = came
            .iter()
            .filter(|(to, times)| **times > 1 && !self.under_way.recipients.contains(*to))
            .map(|(to, _)| to)
            .collect();
        assert!(twice.is_empty(), "not under way, and sent more than once: {twice:?}");
        for post in self.posts {
            assert_eq!(post.violations(), [""; 0]);
            let most = post.most_at_one_time();
            assert!(most <= self.connections, "{most} connections at one time");
        }
    }

    /// Waits until each message's event was told; twice only what was to be told where a node was killed.
    pub async fn assert_each_event_was_told(&self, receiver: &Receiver) {
        let stored: BTreeSet<String> = self.stored().into_keys().collect();
        let told = |all: &[Posted]| all.iter().map(message).collect::<BTreeSet<_>>() == stored;
        let posted = receiver.until("an event of each message", told).await;
        let mut times: BTreeMap<&str, usize> = BTreeMap::new();
        for it in &posted {
            *times.entry(it.header("webhook-id")).or_default() += 1;
        }
        assert_eq!(times.len(), stored.len(), "each message has one event");
        let is_unexpected =
            |(id, times): &(&&str, &usize)| **times > 1 && !self.under_way.posts.contains(**id);
        let twice: Vec<&&str> = times.iter().filter(is_unexpected).map(|(id, _)| id).collect();
        assert!(twice.is_empty(), "not under way, and posted more than once: {twice:?}");
        let open = "SELECT count(*) FROM webhook_deliveries WHERE state <> 'delivered'";
        let rests = || async { (self.database.number(open) == 0).then_some(()) };
        until_async("each delivery is settled", PATIENCE, rests).await;
    }

    /// All messages with their recipients.
    fn stored(&self) -> BTreeMap<String, String> {
        let rows = self.database.lines("SELECT encode(id, 'hex'), recipient FROM messages");
        let parts = rows.iter().map(|row| row.split_once('|').expect("two columns"));
        parts.map(|(id, to)| (identifier("msg_", id), to.to_owned())).collect()
    }

    /// How often something came for each recipient.
    fn came(&self) -> BTreeMap<String, usize> {
        let mut came = BTreeMap::new();
        for message in self.posts.iter().flat_map(|it| it.messages()) {
            for to in message.addresses() {
                *came.entry(to.to_owned()).or_default() += 1;
            }
        }
        came
    }
}

/// The message that an event is about.
fn message(posted: &Posted) -> String {
    posted.event()["data"]["messageId"].as_str().expect("an event of a message").to_owned()
}

/// An identifier as it is told, of the digits that PostgreSQL shows of its octets.
fn identifier(prefix: &str, digits: &str) -> String {
    let bits = u128::from_str_radix(digits, 16).expect("16 octets");
    told(prefix, &bits.to_be_bytes())
}
