//! Room that all accounts share, such as the memory for request bodies: an account that has much of it
//! leaves as much to the others.
//!
//! An account may hold as much as is still free afterwards (the dynamic threshold of Choudhury and Hahne,
//! known from switches with a shared buffer). One greedy account gets half of the room, two get a third
//! each, and there is always some left for the next account. Who holds nothing comes before who holds
//! something, so a large request is not passed for ever by small ones.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::id::AccountId;

/// Room in units of its user's choice: KiB, requests, messages.
#[derive(Debug)]
pub struct FairShare {
    room: Mutex<Room>,
}

/// Who holds a share of the room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ShareOwner {
    Account(AccountId),
    /// Whoever steers the server.
    Operator,
}

/// What an account holds of the room; given back when it is dropped.
#[derive(Debug)]
pub struct Share {
    of: Arc<FairShare>,
    owner: ShareOwner,
    amount: usize,
}

#[derive(Debug)]
struct Room {
    size: usize,
    used: usize,
    owners: HashMap<ShareOwner, Own>,
    /// Accounts with somebody who waits; the next one in turn first.
    turns: VecDeque<ShareOwner>,
}

#[derive(Debug, Default)]
struct Own {
    used: usize,
    waiting: VecDeque<Waiter>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holding {
    Nothing,
    Something,
}

#[derive(Debug)]
struct Waiter {
    amount: usize,
    granted: oneshot::Sender<Share>,
}

impl FairShare {
    /// A room of that size, all of it free.
    #[must_use]
    pub fn new(size: usize) -> Arc<Self> {
        let room = Room { size, used: 0, owners: HashMap::new(), turns: VecDeque::new() };
        Arc::new(Self { room: Mutex::new(room) })
    }

    /// Changes the size. Nobody loses what they hold.
    pub fn resize(self: &Arc<Self>, size: usize) {
        let mut room = self.room();
        room.size = size;
        let granted = self.grant(&mut room);
        drop(room);
        hand_over(granted);
    }

    /// Takes a share if the account may have it now.
    #[must_use]
    pub fn try_take(self: &Arc<Self>, owner: ShareOwner, amount: usize) -> Option<Share> {
        let mut room = self.room();
        let amount = amount.min(room.size);
        let may = room.allows(owner, amount) && !room.must_wait(owner);
        may.then(|| self.take_from(&mut room, owner, amount))
    }

    /// Takes a share, and waits for it behind the account's earlier requests. None when `within` is over.
    pub async fn take(
        self: &Arc<Self>,
        owner: ShareOwner,
        amount: usize,
        within: Duration,
    ) -> Option<Share> {
        // A waiter that has gone away is passed over: its end of the channel is closed.
        tokio::time::timeout(within, self.wait(owner, amount)).await.ok()
    }

    /// The same for work that has a time limit of its own.
    ///
    /// # Panics
    /// Never: the room outlives its waiters, and keeps each one until it is served.
    pub async fn wait(self: &Arc<Self>, owner: ShareOwner, amount: usize) -> Share {
        if let Some(share) = self.try_take(owner, amount) {
            return share;
        }
        let (granted, grant) = oneshot::channel();
        {
            let mut room = self.room();
            let amount = amount.min(room.size);
            let own = room.owners.entry(owner).or_default();
            own.waiting.push_back(Waiter { amount, granted });
            if own.waiting.len() == 1 {
                room.turns.push_back(owner);
            }
            let granted = self.grant(&mut room);
            drop(room);
            hand_over(granted);
        }
        grant.await.expect("a waiter is kept until it is served")
    }

    /// Grants what can be granted: first to accounts that hold nothing. While one of them waits for more
    /// than is free, nobody who holds something gets more.
    fn grant(self: &Arc<Self>, room: &mut Room) -> Vec<(oneshot::Sender<Share>, Share)> {
        let mut granted = Vec::new();
        let newcomers_wait = self.grant_to(room, Holding::Nothing, &mut granted);
        if !newcomers_wait {
            self.grant_to(room, Holding::Something, &mut granted);
        }
        granted
    }

    /// One turn after another, until nobody of these can be served; whether some of them still wait.
    fn grant_to(
        self: &Arc<Self>,
        room: &mut Room,
        holding: Holding,
        granted: &mut Vec<(oneshot::Sender<Share>, Share)>,
    ) -> bool {
        let mut passed_over = 0;
        let mut still_wait = false;
        while passed_over < room.turns.len() {
            let Some(owner) = room.turns.pop_front() else { break };
            let Some(waiter) = room.next_waiter(owner) else {
                room.forget_if_idle(owner);
                continue;
            };
            room.turns.push_back(owner);
            let of_these = room.holding(owner) == holding;
            if of_these && room.allows(owner, waiter.amount) {
                let share = self.take_from(room, owner, waiter.amount);
                granted.push((waiter.granted, share));
                passed_over = 0;
            } else {
                room.put_back(owner, waiter);
                still_wait |= of_these;
                passed_over += 1;
            }
        }
        still_wait
    }

    fn take_from(self: &Arc<Self>, room: &mut Room, owner: ShareOwner, amount: usize) -> Share {
        room.take(owner, amount);
        Share { of: Arc::clone(self), owner, amount }
    }

    fn give_back(self: &Arc<Self>, owner: ShareOwner, amount: usize) {
        if amount == 0 {
            return;
        }
        let mut room = self.room();
        room.used = room.used.saturating_sub(amount);
        if let Some(own) = room.owners.get_mut(&owner) {
            own.used = own.used.saturating_sub(amount);
        }
        room.forget_if_idle(owner);
        let granted = self.grant(&mut room);
        drop(room);
        hand_over(granted);
    }

    fn room(&self) -> MutexGuard<'_, Room> {
        self.room.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Share {
    /// How much it is.
    #[must_use]
    pub fn amount(&self) -> usize {
        self.amount
    }

    /// Makes it larger if the account may have so much more now; the only share of an account may take
    /// what is free. This does not wait: two requests that each hold something and wait for more would
    /// wait for each other.
    #[must_use]
    pub fn grow(&mut self, amount: usize) -> bool {
        let mut room = self.of.room();
        if !room.allows_more(self.owner, self.amount, amount) {
            return false;
        }
        room.take(self.owner, amount);
        self.amount += amount;
        true
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.of.give_back(self.owner, self.amount);
    }
}

impl From<AccountId> for ShareOwner {
    fn from(account: AccountId) -> Self {
        Self::Account(account)
    }
}

impl Room {
    fn take(&mut self, owner: ShareOwner, amount: usize) {
        self.used += amount;
        self.owners.entry(owner).or_default().used += amount;
    }

    /// Whether an account may take a share of this amount.
    fn allows(&self, owner: ShareOwner, amount: usize) -> bool {
        self.allows_more(owner, 0, amount)
    }

    /// Whether the account leaves as much free as it then holds. The only request of an account may be
    /// larger than that: it would never be served otherwise.
    fn allows_more(&self, owner: ShareOwner, share: usize, amount: usize) -> bool {
        let Some(free) = self.size.saturating_sub(self.used).checked_sub(amount) else {
            return false;
        };
        let held = self.owners.get(&owner).map_or(0, |own| own.used);
        held == share || held + amount <= free
    }

    /// Whether somebody waits who comes first: a request of the same account, or, where the account
    /// holds something, an account that holds nothing.
    fn must_wait(&self, owner: ShareOwner) -> bool {
        let has_waiters = |own: &Own| own.waiting.iter().any(|it| !it.granted.is_closed());
        self.owners.get(&owner).is_some_and(has_waiters)
            || (self.holding(owner) == Holding::Something
                && self.turns.iter().any(|it| self.holding(*it) == Holding::Nothing))
    }

    fn holding(&self, owner: ShareOwner) -> Holding {
        match self.owners.get(&owner) {
            Some(own) if own.used > 0 => Holding::Something,
            Some(_) | None => Holding::Nothing,
        }
    }

    /// The account's first waiter that has not gone away.
    fn next_waiter(&mut self, owner: ShareOwner) -> Option<Waiter> {
        let waiting = &mut self.owners.get_mut(&owner)?.waiting;
        while let Some(waiter) = waiting.pop_front() {
            if !waiter.granted.is_closed() {
                return Some(waiter);
            }
        }
        None
    }

    fn put_back(&mut self, owner: ShareOwner, waiter: Waiter) {
        self.owners.entry(owner).or_default().waiting.push_front(waiter);
    }

    fn forget_if_idle(&mut self, owner: ShareOwner) {
        if self.owners.get(&owner).is_some_and(|it| it.used == 0 && it.waiting.is_empty()) {
            self.owners.remove(&owner);
        }
    }
}

/// Outside the lock: a share whose waiter has gone away comes back at once.
fn hand_over(granted: Vec<(oneshot::Sender<Share>, Share)>) {
    for (sender, share) in granted {
        drop(sender.send(share));
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::clock::Timestamp;

    const LONG: Duration = Duration::from_hours(1);

    fn account(n: i64) -> ShareOwner {
        AccountId::first_of(Timestamp::from_millis(n)).into()
    }

    fn take_all(room: &Arc<FairShare>, account: ShareOwner) -> Vec<Share> {
        std::iter::from_fn(|| room.try_take(account, 1)).collect()
    }

    #[test]
    fn an_account_leaves_as_much_to_the_others_as_it_has() {
        let room = FairShare::new(64);
        let taken = [1, 2, 3].map(|n| take_all(&room, account(n)));
        assert_eq!(taken.each_ref().map(Vec::len), [32, 16, 8]);
        drop(taken);
        assert_eq!(take_all(&room, account(3)).len(), 32, "all of it came back");
        assert!(room.room().owners.is_empty(), "and nobody is remembered");
    }

    #[test]
    fn the_first_request_of_an_account_may_be_larger_than_its_share() {
        let room = FairShare::new(10);
        let share = room.try_take(account(1), 8).expect("all of it is free");
        assert!(room.try_take(account(2), 3).is_none());
        assert!(room.try_take(account(2), 2).is_some());
        drop(share);
        let share = room.try_take(account(1), 11).expect("more than there is counts as all");
        assert_eq!(share.amount(), 10);
    }

    #[test]
    fn a_share_grows_only_while_others_keep_as_much() {
        let room = FairShare::new(64);
        let other = room.try_take(account(1), 1).expect("free");
        let mut share = room.try_take(account(1), 15).expect("free");
        assert!(share.grow(16));
        assert!(!share.grow(1));
        assert_eq!(share.amount(), 31);
        drop(other);
        assert!(share.grow(2), "the only one of its account");
        assert!(room.try_take(account(2), 16).is_some());
    }

    #[tokio::test]
    async fn who_waits_is_served_in_order_and_an_account_waits_for_itself_alone() {
        let room = FairShare::new(8);
        let held = room.try_take(account(1), 4).expect("free");
        let first = room.take(account(1), 2, LONG).now_or_never();
        assert!(first.is_none(), "over its share");
        let (mut first, mut second) =
            (Box::pin(room.take(account(1), 4, LONG)), Box::pin(room.take(account(1), 1, LONG)));
        assert!(first.as_mut().now_or_never().is_none());
        assert!(second.as_mut().now_or_never().is_none());
        assert!(room.try_take(account(1), 0).is_none(), "behind those that wait");
        assert!(room.try_take(account(2), 1).is_some(), "another account does not wait");
        drop(held);
        let first = first.await.expect("its turn");
        assert!(second.as_mut().now_or_never().is_none(), "the first one has its share");
        drop(first);
        assert!(second.await.is_some());
    }

    #[tokio::test]
    async fn small_requests_do_not_pass_a_large_one_of_another_account_for_ever() {
        let room = FairShare::new(8);
        let (one, two) = (room.try_take(account(1), 1), room.try_take(account(1), 1));
        let mut large = Box::pin(room.take(account(2), 8, LONG));
        assert!(large.as_mut().now_or_never().is_none());
        assert!(room.try_take(account(1), 1).is_none(), "it holds something, and others nothing");
        drop((one, two));
        assert_eq!(large.await.map(|it| it.amount()), Some(8));
    }

    #[tokio::test]
    async fn who_gives_up_waiting_takes_nothing() {
        let room = FairShare::new(4);
        let held = room.try_take(account(1), 4).expect("free");
        assert!(room.take(account(2), 2, Duration::ZERO).await.is_none());
        drop(held);
        assert_eq!(take_all(&room, account(3)).len(), 2);
    }

    #[tokio::test]
    async fn a_larger_room_serves_who_waits_and_a_smaller_one_takes_from_nobody() {
        let room = FairShare::new(4);
        let held = room.try_take(account(1), 2).expect("free");
        let mut more = Box::pin(room.take(account(1), 2, LONG));
        assert!(more.as_mut().now_or_never().is_none());
        room.resize(8);
        let more = more.await.expect("there is room now");
        room.resize(1);
        assert_eq!((held.amount(), more.amount(), room.room().used), (2, 2, 4));
        assert!(room.try_take(account(2), 1).is_none());
    }
}
