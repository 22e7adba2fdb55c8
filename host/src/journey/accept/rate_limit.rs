//! How many sends a key and an account may make, and how often an address may fail to log in.

use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use governor::clock::{Clock as _, DefaultClock};
use governor::middleware::StateInformationMiddleware;
use governor::state::keyed::DashMapStateStore;
use governor::{Quota, RateLimiter};

use super::failed_logins::FailedLogins;
use super::refusal::Refusal;
use crate::id::{AccountId, KeyId};
use crate::nodes::part;

type Limiter<K> = RateLimiter<K, DashMapStateStore<K>, DefaultClock, StateInformationMiddleware>;

/// The largest batch. A bucket that could not hold one would refuse every such batch, however long the client waits.
const LARGEST_BATCH: NonZeroU32 = NonZeroU32::new(500).expect("not zero");

/// The buckets of this node, which has its part of the rates.
#[derive(Debug)]
pub struct RateLimits {
    rates: Mutex<Rates>,
    sends: ArcSwap<Sends>,
    failures: ArcSwap<FailedLogins>,
    clock: DefaultClock,
}

/// The rates of all nodes together, and how many these are.
#[derive(Debug, Clone, Copy)]
struct Rates {
    per_second: NonZeroU32,
    burst: NonZeroU32,
    failures: NonZeroU32,
    nodes: u32,
}

#[derive(Debug)]
struct Sends {
    quota: Quota,
    keys: Limiter<KeyId>,
    accounts: Limiter<AccountId>,
}

/// Where a key stands, for the `RateLimit-*` headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// Sends that a full bucket holds.
    pub limit: u32,
    /// Sends that are left in it.
    pub remaining: u32,
    /// Seconds until it is full again.
    pub reset_s: u64,
}

impl RateLimits {
    /// Buckets that hold `burst` sends and regain `per_second`. An address may fail to log in `failures`
    /// times at once, and half as many each minute.
    #[must_use]
    pub fn new(per_second: NonZeroU32, burst: NonZeroU32, failures: NonZeroU32) -> Self {
        let rates = Rates { per_second, burst, failures, nodes: 1 };
        Self {
            sends: ArcSwap::from_pointee(Sends::new(rates.sends())),
            failures: ArcSwap::from_pointee(FailedLogins::new(rates.failures())),
            rates: Mutex::new(rates),
            clock: DefaultClock::default(),
        }
    }

    /// Puts other rates, as for [`RateLimits::new`], in the place of those in use. Under another rate
    /// the buckets are full again; where a rate stays, so does what was taken.
    pub fn change(&self, per_second: NonZeroU32, burst: NonZeroU32, failures: NonZeroU32) {
        self.adjust(|rates| Rates { per_second, burst, failures, ..rates });
    }

    /// Divides the rates among so many nodes, this one included. A client whose requests all come to one node gets the
    /// part of that node.
    pub fn divide_among(&self, nodes: u32) {
        self.adjust(|rates| Rates { nodes, ..rates });
    }

    fn adjust(&self, to: impl FnOnce(Rates) -> Rates) {
        let mut rates = self.rates.lock().unwrap_or_else(PoisonError::into_inner);
        *rates = to(*rates);
        let sends = rates.sends();
        if self.sends.load().quota != sends {
            self.sends.store(Arc::new(Sends::new(sends)));
        }
        let failures = rates.failures();
        if self.failures.load().burst() != failures {
            self.failures.store(Arc::new(FailedLogins::new(failures)));
        }
    }

    /// Takes `sends` from the buckets of a key and its account.
    ///
    /// # Errors
    /// One of them does not hold that many.
    pub fn take(
        &self,
        key: KeyId,
        account: AccountId,
        sends: NonZeroU32,
    ) -> Result<Allowance, (Refusal, Allowance)> {
        let buckets = self.sends.load();
        let key = self.take_from(&buckets.keys, buckets.quota, &key, sends)?;
        let account = self.take_from(&buckets.accounts, buckets.quota, &account, sends)?;
        Ok(if key.remaining < account.remaining { key } else { account })
    }

    /// Counts a failed login and answers what the client gets: that it failed, and to an address that
    /// guesses also when it may try again.
    #[must_use]
    pub fn failed_login(&self, ip: IpAddr) -> Refusal {
        match self.failures.load().take(network(ip), Instant::now()) {
            Ok(()) => Refusal::Unauthorized,
            Err(retry_after) => Refusal::TooManyFailedLogins { retry_after },
        }
    }

    /// Counts a log-in with a password before the password is looked at: whoever guesses a password, unlike a key,
    /// succeeds some day, and nobody gets past an empty bucket.
    ///
    /// # Errors
    /// The address has failed too often; how long it has to wait.
    pub fn take_password_attempt(&self, ip: IpAddr) -> Result<(), Duration> {
        self.failures.load().take(network(ip), Instant::now())
    }

    /// Gives back what one log-in has taken that did not fail. What others of the address have taken stays.
    pub fn give_back_attempt(&self, ip: IpAddr) {
        self.failures.load().give_back(network(ip));
    }

    /// Forgets the buckets that are full again.
    pub fn tidy(&self) {
        let sends = self.sends.load();
        sends.keys.retain_recent();
        sends.accounts.retain_recent();
        self.failures.load().tidy(Instant::now());
    }

    fn take_from<K: std::hash::Hash + Eq + Clone>(
        &self,
        limiter: &Limiter<K>,
        quota: Quota,
        key: &K,
        sends: NonZeroU32,
    ) -> Result<Allowance, (Refusal, Allowance)> {
        let limit = quota.burst_size().get();
        let allowance = |remaining: u32| Allowance {
            limit,
            remaining,
            reset_s: {
                let refill = quota.replenish_interval() * limit.saturating_sub(remaining);
                refill.as_secs() + u64::from(refill.subsec_nanos() > 0)
            },
        };
        match limiter.check_key_n(key, sends) {
            Ok(Ok(state)) => Ok(allowance(state.remaining_burst_capacity())),
            Ok(Err(not_until)) => {
                let retry_after = not_until.wait_time_from(self.clock.now());
                Err((Refusal::RateLimited { retry_after }, allowance(0)))
            }
            Err(_) => {
                let message =
                    format!("a batch of {sends} sends is over the limit of {limit} of this server");
                Err((Refusal::fault("", "too_many", message), allowance(limit)))
            }
        }
    }
}

impl Rates {
    fn sends(&self) -> Quota {
        let burst = part(self.burst, self.nodes).max(self.burst.min(LARGEST_BATCH));
        of_sends(part(self.per_second, self.nodes), burst)
    }

    fn failures(&self) -> NonZeroU32 {
        part(self.failures, self.nodes)
    }
}

impl Sends {
    fn new(quota: Quota) -> Self {
        let keys = RateLimiter::dashmap(quota).with_middleware();
        Self { quota, keys, accounts: RateLimiter::dashmap(quota).with_middleware() }
    }
}

fn of_sends(per_second: NonZeroU32, burst: NonZeroU32) -> Quota {
    Quota::per_second(per_second).allow_burst(burst)
}

/// An IPv6 address counts with its /64: a client has a whole one.
#[must_use]
pub fn network(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V4(ip) => IpAddr::V4(ip),
        IpAddr::V6(ip) => {
            let [a, b, c, d, ..] = ip.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Timestamp;

    const FAILURES: u32 = 20;

    fn number(n: u32) -> NonZeroU32 {
        NonZeroU32::new(n).expect("not zero")
    }

    fn limits(burst: u32) -> RateLimits {
        RateLimits::new(number(1), number(burst), number(FAILURES))
    }

    #[test]
    fn a_key_gets_its_burst_and_then_a_time_to_wait() {
        let limits = limits(3);
        let now = Timestamp::from_millis(0);
        let (key, account) = (KeyId::new(now), AccountId::new(now));
        let one = NonZeroU32::MIN;
        let remaining: Vec<u32> =
            (0..3).map(|_| limits.take(key, account, one).expect("allowed").remaining).collect();
        assert_eq!(remaining, [2, 1, 0]);
        let (refusal, allowance) = limits.take(key, account, one).expect_err("empty");
        assert_eq!(refusal.code(), "RATE_LIMITED");
        assert_eq!(allowance.remaining, 0);
        assert!(limits.take(KeyId::new(now), AccountId::new(now), one).is_ok());
    }

    #[test]
    fn an_address_that_guesses_is_slowed_down() {
        let limits = limits(1);
        let guesser: IpAddr = "2001:db8::1".parse().expect("ip");
        let neighbour: IpAddr = "2001:db8::2".parse().expect("ip");
        for _ in 0..FAILURES {
            assert_eq!(limits.failed_login(guesser), Refusal::Unauthorized);
        }
        assert_eq!(limits.failed_login(guesser).code(), "RATE_LIMITED");
        assert_eq!(limits.failed_login(neighbour).code(), "RATE_LIMITED", "the same /64");
        let elsewhere = "2001:db8:1::1".parse().expect("ip");
        assert_eq!(limits.failed_login(elsewhere), Refusal::Unauthorized);
    }

    #[test]
    fn a_log_in_that_succeeds_takes_nothing_and_forgives_nothing() {
        let limits = limits(1);
        let ip: IpAddr = "192.0.2.1".parse().expect("ip");
        for _ in 0..FAILURES * 3 {
            assert_eq!(limits.take_password_attempt(ip), Ok(()), "a success");
            limits.give_back_attempt(ip);
        }
        // Somebody with an account of the own logs in between the guesses.
        for guess in 0..FAILURES {
            assert_eq!(limits.take_password_attempt(ip), Ok(()), "guess {guess}");
            if guess + 1 < FAILURES {
                assert_eq!(limits.take_password_attempt(ip), Ok(()), "a success");
                limits.give_back_attempt(ip);
            }
        }
        assert!(limits.take_password_attempt(ip).is_err(), "the guesses have emptied it");
    }

    #[test]
    fn the_same_rates_once_more_give_nothing_back() {
        let limits = limits(2);
        let now = Timestamp::from_millis(0);
        let (key, account, one) = (KeyId::new(now), AccountId::new(now), NonZeroU32::MIN);
        let guesser: IpAddr = "192.0.2.1".parse().expect("ip");
        for _ in 0..2 {
            assert!(limits.take(key, account, one).is_ok());
        }
        for _ in 0..FAILURES {
            assert_eq!(limits.failed_login(guesser), Refusal::Unauthorized);
        }
        limits.change(number(1), number(2), number(FAILURES));
        assert!(limits.take(key, account, one).is_err(), "still empty");
        assert_eq!(limits.failed_login(guesser).code(), "RATE_LIMITED");
        limits.change(number(1), number(3), number(FAILURES));
        assert_eq!(limits.failed_login(guesser).code(), "RATE_LIMITED", "a rate of its own");
        assert_eq!(limits.take(key, account, one).map(|it| (it.limit, it.remaining)), Ok((3, 2)));
    }

    #[test]
    fn the_nodes_share_the_rates_and_each_still_takes_a_whole_batch() {
        let limits = RateLimits::new(number(900), number(2_000), number(FAILURES));
        let now = Timestamp::from_millis(0);
        let holds = || {
            let (key, account) = (KeyId::new(now), AccountId::new(now));
            limits.take(key, account, NonZeroU32::MIN).map(|it| it.limit)
        };
        for (nodes, burst) in [(2, 1_000), (3, 666), (100, 500), (1, 2_000)] {
            limits.divide_among(nodes);
            assert_eq!(holds(), Ok(burst), "{nodes} nodes");
        }
        limits.divide_among(10);
        let guesser: IpAddr = "192.0.2.1".parse().expect("ip");
        for _ in 0..FAILURES / 10 {
            assert_eq!(limits.failed_login(guesser), Refusal::Unauthorized);
        }
        assert_eq!(limits.failed_login(guesser).code(), "RATE_LIMITED");
        limits.change(number(1), number(30), number(FAILURES));
        assert_eq!(holds(), Ok(30), "a burst below a batch stays whole");
        limits.divide_among(1);
        limits.change(number(1), number(30), number(FAILURES));
        assert_eq!(holds(), Ok(30));
    }

    #[test]
    fn a_lower_rate_holds_at_once() {
        let limits = limits(100);
        let now = Timestamp::from_millis(0);
        let (key, account, one) = (KeyId::new(now), AccountId::new(now), NonZeroU32::MIN);
        assert_eq!(limits.take(key, account, one).map(|it| it.limit), Ok(100));
        limits.change(number(1), number(1), number(1));
        assert_eq!(limits.take(key, account, one).map(|it| it.limit), Ok(1));
        assert_eq!(limits.take(key, account, one).map_err(|it| it.1.limit), Err(1));
        let guesser: IpAddr = "192.0.2.1".parse().expect("ip");
        assert_eq!(limits.failed_login(guesser), Refusal::Unauthorized);
        assert_eq!(limits.failed_login(guesser).code(), "RATE_LIMITED");
    }
}
