//! Which share work belongs to, and which node a share belongs to: rendezvous hashing, so that a node that comes or goes
//! moves its own shares only.

use sha2::{Digest as _, Sha256};

use crate::id::{AccountId, Identifier, NodeId, WebhookId};

/// Enough that a few nodes get about the same, and few enough that all of them are one short read.
pub const SHARES: u8 = 64;

/// A part of all work. It never changes to which share work belongs: nodes of two versions must agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Share(u8);

/// How often a share has changed its node.
pub type Epoch = i64;

/// Work that is done once, however many nodes there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Job {
    /// Sender domains are looked up again.
    DomainChecks,
    /// Records past their time are deleted.
    Retention,
    /// Events become deliveries to webhooks.
    WebhookEvents,
    /// Accounts whose deletion was ordered are deleted.
    AccountDeletions,
    /// Alerts are sent about health checks of the database that all nodes share.
    HealthAlerts,
}

/// Which node has a share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    pub share: Share,
    pub node: NodeId,
    pub epoch: Epoch,
}

impl Share {
    pub fn all() -> impl Iterator<Item = Self> {
        (0..SHARES).map(Self)
    }

    /// Mail to a domain, of all accounts: one node keeps its connections, its limits and its back-offs.
    #[must_use]
    pub fn of_domain(domain: &str) -> Self {
        Self::of(b"domain", domain.as_bytes())
    }

    /// Mail of an account to the sandbox inbox, where all domains are one and no host is to be spared.
    #[must_use]
    pub fn of_sandbox(account: AccountId) -> Self {
        Self::of(b"sandbox", &account.to_bytes())
    }

    #[must_use]
    pub fn of_webhook(webhook: WebhookId) -> Self {
        Self::of(b"webhook", &webhook.to_bytes())
    }

    #[must_use]
    pub fn of_job(job: Job) -> Self {
        let name = match job {
            Job::DomainChecks => "domain checks",
            Job::Retention => "retention",
            Job::WebhookEvents => "webhook events",
            Job::AccountDeletions => "account deletions",
            Job::HealthAlerts => "health alerts",
        };
        Self::of(b"job", name.as_bytes())
    }

    /// As the database has it.
    #[must_use]
    pub fn number(self) -> i64 {
        i64::from(self.0)
    }

    #[must_use]
    pub fn from_number(number: i64) -> Option<Self> {
        u8::try_from(number).ok().filter(|it| *it < SHARES).map(Self)
    }

    /// The node that is to have it: the one with the highest score, whoever else is there.
    #[must_use]
    pub fn owner(self, nodes: &[NodeId]) -> Option<NodeId> {
        nodes.iter().copied().max_by_key(|node| (self.score(*node), *node))
    }

    fn score(self, node: NodeId) -> [u8; 32] {
        Sha256::new().chain_update(node.to_bytes()).chain_update([self.0]).finalize().into()
    }

    fn of(kind: &[u8], key: &[u8]) -> Self {
        let hash = Sha256::new().chain_update(kind).chain_update([0_u8]).chain_update(key);
        Self(hash.finalize()[0] % SHARES)
    }
}

/// The shares that change their node when `own` looks: those of nodes that are not `live`, and its own that belong to
/// another one now. What another live node has, that one hands over itself.
#[must_use]
pub fn moves(own: NodeId, live: &[NodeId], placed: &[Placed]) -> Vec<Placed> {
    let moved = |share: Share| {
        let before = placed.iter().find(|it| it.share == share);
        if before.is_some_and(|it| it.node != own && live.contains(&it.node)) {
            return None;
        }
        let node = share.owner(live).filter(|node| before.is_none_or(|it| it.node != *node))?;
        Some(Placed { share, node, epoch: before.map_or(1, |it| it.epoch + 1) })
    };
    Share::all().filter_map(moved).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;

    fn nodes(count: usize) -> Vec<NodeId> {
        (0..count).map(|_| NodeId::new(Timestamp::from_millis(1_800_000_000_000))).collect()
    }

    /// All shares as they are where each is with its owner.
    fn spread(nodes: &[NodeId]) -> Vec<Placed> {
        moves(nodes[0], nodes, &[])
    }

    fn count(placed: &[Placed], node: NodeId) -> usize {
        placed.iter().filter(|it| it.node == node).count()
    }

    /// What these moves make of the table.
    fn after(placed: &[Placed], moved: &[Placed]) -> Vec<Placed> {
        let now = |it: &Placed| moved.iter().find(|to| to.share == it.share).copied();
        placed.iter().map(|it| now(it).unwrap_or(*it)).collect()
    }

    #[test]
    fn work_never_changes_its_share() {
        let account = AccountId::from_bytes([7; 16]);
        let shares = [
            Share::of_domain("example.com"),
            Share::of_domain("example.org"),
            Share::of_sandbox(account),
            Share::of_webhook(WebhookId::from_bytes([7; 16])),
            Share::of_job(Job::Retention),
        ];
        let first = |text: &[u8]| Sha256::digest(text)[0] % SHARES;
        let by_hand = [
            first(b"domain\0example.com"),
            first(b"domain\0example.org"),
            first(&[&b"sandbox\0"[..], &[7; 16]].concat()),
            first(&[&b"webhook\0"[..], &[7; 16]].concat()),
            first(b"job\0retention"),
        ];
        assert_eq!(shares.map(|it| it.0), by_hand);
        assert!(Share::all().all(|it| Share::from_number(it.number()) == Some(it)));
        assert_eq!([-1, 64].map(Share::from_number), [None, None]);
    }

    #[test]
    fn every_node_gets_about_as_many_shares_as_the_others() {
        // Random identifiers: with three nodes the expectation is 21 and the deviation below 4.
        let mut counts = vec![0; 3];
        for _ in 0..50 {
            let nodes = nodes(3);
            let placed = spread(&nodes);
            assert_eq!(placed.len(), usize::from(SHARES));
            for (count_of_all, node) in counts.iter_mut().zip(&nodes) {
                *count_of_all += count(&placed, *node);
            }
        }
        // Of 3,200 shares: five deviations around the third.
        assert!(counts.iter().all(|it| (930..1_200).contains(it)), "{counts:?}");
    }

    #[test]
    fn a_node_that_joins_gets_its_shares_and_moves_no_other() {
        let nodes = nodes(3);
        let placed = spread(&nodes[..2]);
        let mut table = placed.clone();
        for node in &nodes[..2] {
            table = after(&table, &moves(*node, &nodes, &table));
        }
        for (before, now) in placed.iter().zip(&table) {
            let is_moved = now.node == nodes[2] && now.epoch == before.epoch + 1;
            assert!(before == now || is_moved, "{before:?} {now:?}");
        }
        assert!(table.iter().all(|it| it.share.owner(&nodes) == Some(it.node)));
        assert!(moves(nodes[2], &nodes, &table).is_empty(), "all are where they belong");
    }

    #[test]
    fn a_node_takes_nothing_from_another_one_that_lives() {
        let nodes = nodes(2);
        let placed = spread(&nodes[..1]);
        assert!(moves(nodes[1], &nodes, &placed).is_empty(), "the first one hands over itself");
        assert!(!moves(nodes[0], &nodes, &placed).is_empty());
    }

    #[test]
    fn the_shares_of_a_dead_node_go_to_those_that_live() {
        let nodes = nodes(3);
        let placed = spread(&nodes);
        let living = [nodes[0], nodes[2]];
        let moved = moves(nodes[0], &living, &placed);
        assert_eq!(moved.len(), count(&placed, nodes[1]), "nobody else's share moves");
        assert!(moved.iter().all(|it| it.epoch == 2 && it.share.owner(&living) == Some(it.node)));
        assert!(moves(nodes[0], &[], &placed).is_empty(), "with nobody there all stay");
    }
}
