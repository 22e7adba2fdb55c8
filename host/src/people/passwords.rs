//! Passwords: argon2id, off the threads that serve requests, and a bounded number at one time. Of each address one password
//! waits in the queue of all addresses, so whoever sends many at one time delays no others.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use argon2::{Algorithm, Argon2, Params, PasswordHasher, PasswordVerifier, Version};
use tokio::sync::Semaphore;

use crate::id::fill_random;
use crate::journey::accept::rate_limit::network;
use crate::journey::render::visible;

const MEMORY_KIB: u32 = 19 * 1_024;
const PASSES: u32 = 2;
const LANES: u32 = 1;
const SALT_BYTES: usize = 16;
/// Each takes 19 MiB and a core for some 60 ms.
const MAX_PARALLEL_HASHES: usize = 2;
/// Passwords of one address that are compared or wait at one time. A further one is refused at once: an attack does not
/// make the queue longer, and an office behind one address can log in.
const MAX_HASHES_OF_ADDRESS: u32 = 8;
/// How long a password waits to be hashed.
const HASH_WAIT: Duration = Duration::from_secs(10);
const MIN_PASSWORD_CHARS: usize = 12;
const MAX_PASSWORD_BYTES: usize = 256;
/// What is compared where there is no such person, so that an address tells nothing by the time that it takes: of a
/// password that nobody has.
const NOBODY: &str = "$argon2id$v=19$m=19456,t=2,p=1$d2F4d2luZyBub2JvZHkhIQ\
                      $9rU0lTNXlq8kYVz3a5m0mJ0nN3m1m3v1m4h2m0Jx0aY";

#[derive(Debug, Clone)]
pub struct Passwords {
    /// Places for the passwords that are hashed now, given in the order in which they are asked for.
    hashes: Arc<Semaphore>,
    queues: Arc<Queues>,
}

/// The addresses from which passwords come now; an IPv6 address counts with its /64.
#[derive(Debug, Default)]
struct Queues(Mutex<HashMap<IpAddr, Queue>>);

#[derive(Debug)]
struct Queue {
    length: u32,
    /// Held by the one password of this address that waits in the queue of all addresses, or is hashed.
    turn: Arc<Semaphore>,
}

/// A place in the queue of an address.
#[derive(Debug)]
struct QueuePlace {
    queues: Arc<Queues>,
    network: IpAddr,
    turn: Arc<Semaphore>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PasswordError {
    #[error("a password has at least {MIN_PASSWORD_CHARS} characters")]
    TooShort,
    #[error("a password has at most {MAX_PASSWORD_BYTES} bytes")]
    TooLong,
    #[error(
        "a password has at least one character that can be seen; choose letters, digits or signs"
    )]
    Blank,
    #[error("too many people log in at this moment; try again in some seconds")]
    Busy,
    #[error("too many passwords from your address wait to be compared; try again in a second")]
    TooManyHere,
}

impl Default for Passwords {
    fn default() -> Self {
        let hashes = Arc::new(Semaphore::new(MAX_PARALLEL_HASHES));
        Self { hashes, queues: Arc::default() }
    }
}

impl Queues {
    /// A place for one more password of an address; none where it has as many as it may.
    fn enter(self: &Arc<Self>, from: IpAddr) -> Option<QueuePlace> {
        let network = network(from);
        let mut queues = self.queues();
        let queue = queues
            .entry(network)
            .or_insert_with(|| Queue { length: 0, turn: Arc::new(Semaphore::new(1)) });
        if queue.length >= MAX_HASHES_OF_ADDRESS {
            return None;
        }
        queue.length += 1;
        let turn = Arc::clone(&queue.turn);
        Some(QueuePlace { queues: Arc::clone(self), network, turn })
    }

    fn queues(&self) -> MutexGuard<'_, HashMap<IpAddr, Queue>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for QueuePlace {
    fn drop(&mut self) {
        let mut queues = self.queues.queues();
        let Some(queue) = queues.get_mut(&self.network) else { return };
        queue.length -= 1;
        if queue.length == 0 {
            queues.remove(&self.network);
        }
    }
}

impl Passwords {
    /// Whether somebody may choose it.
    pub fn check(password: &str) -> Result<(), PasswordError> {
        if password.chars().count() < MIN_PASSWORD_CHARS {
            return Err(PasswordError::TooShort);
        }
        if password.len() > MAX_PASSWORD_BYTES {
            return Err(PasswordError::TooLong);
        }
        if !visible::in_text(password) {
            return Err(PasswordError::Blank);
        }
        Ok(())
    }

    /// The hash to keep, as a PHC string, for somebody at that address.
    ///
    /// # Panics
    /// argon2 refuses a password of an allowed length; it never does.
    pub async fn hash(&self, password: &str, from: IpAddr) -> Result<String, PasswordError> {
        Self::check(password)?;
        let password = password.to_owned();
        self.off_the_workers(from, move || {
            let mut salt = [0; SALT_BYTES];
            fill_random(&mut salt);
            let hash = argon2().hash_password_with_salt(password.as_bytes(), &salt);
            hash.expect("a password of that length is hashed").to_string()
        })
        .await
    }

    /// Whether the password is the one of that hash. None is nobody's, and takes as long.
    pub async fn is_right(
        &self,
        password: &str,
        hash: Option<&str>,
        from: IpAddr,
    ) -> Result<bool, PasswordError> {
        if password.len() > MAX_PASSWORD_BYTES {
            return Ok(false);
        }
        let (password, is_somebody) = (password.to_owned(), hash.is_some());
        let hash = hash.unwrap_or(NOBODY).to_owned();
        self.off_the_workers(from, move || {
            argon2().verify_password(password.as_bytes(), hash.as_str()).is_ok() && is_somebody
        })
        .await
    }

    async fn off_the_workers<T: Send + 'static>(
        &self,
        from: IpAddr,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, PasswordError> {
        let entered = self.queues.enter(from).ok_or(PasswordError::TooManyHere)?;
        let turn = Arc::clone(&entered.turn);
        let both = async {
            let turn = turn.acquire_owned().await.ok()?;
            Some((turn, Arc::clone(&self.hashes).acquire_owned().await.ok()?))
        };
        let places = tokio::time::timeout(HASH_WAIT, both).await.ok().flatten();
        let places = places.ok_or(PasswordError::Busy)?;
        // Where the client hangs up, the work goes on, and so must its places.
        let work = move || {
            let _places = (places, entered);
            work()
        };
        tokio::task::spawn_blocking(work).await.map_err(|_| PasswordError::Busy)
    }
}

fn argon2() -> Argon2<'static> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).expect("the parameters are valid");
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use futures_util::FutureExt;

    use super::*;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn address(last: u8) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(192, 0, 2, last))
    }

    #[tokio::test]
    async fn an_address_with_a_full_queue_is_refused_and_others_are_not() {
        let passwords = Passwords::default();
        // Nothing is hashed: whoever comes waits.
        let held = Arc::clone(&passwords.hashes).acquire_many_owned(2).await.expect("free");
        let mut waiting: Vec<_> = (0..MAX_HASHES_OF_ADDRESS)
            .map(|_| Box::pin(passwords.is_right("x", None, address(1))))
            .collect();
        for one in &mut waiting {
            assert!(one.as_mut().now_or_never().is_none(), "it waits");
        }
        let beyond = passwords.is_right("x", None, address(1)).await;
        assert_eq!(beyond, Err(PasswordError::TooManyHere));
        let mut other = Box::pin(passwords.is_right("x", None, address(2)));
        assert!(other.as_mut().now_or_never().is_none(), "another address may wait");
        // One place: the address that waits longest has it first, and the other comes next, before its second.
        drop(held);
        let (first, mut second) = (waiting.remove(0), waiting.remove(0));
        assert_eq!(first.await, Ok(false));
        assert_eq!(other.await, Ok(false), "behind one of the full queue and not behind eight");
        assert!(second.as_mut().await.is_ok());
        drop(waiting);
        assert!(passwords.queues.queues().is_empty(), "nobody is remembered");
    }

    #[tokio::test]
    async fn of_one_address_a_single_password_stands_before_those_of_others() {
        let passwords = Passwords::default();
        let held = Arc::clone(&passwords.hashes).acquire_many_owned(2).await.expect("free");
        let mut waiting: Vec<_> =
            (0..4).map(|_| Box::pin(passwords.is_right("x", None, address(1)))).collect();
        for one in &mut waiting {
            assert!(one.as_mut().now_or_never().is_none(), "it waits");
        }
        let turn = Arc::clone(&passwords.queues.queues()[&network(address(1))].turn);
        assert_eq!(turn.available_permits(), 0, "one of them waits with all others");
        drop((held, waiting));
        assert_eq!(turn.available_permits(), 1, "who gives up gives its turn on");
    }

    #[tokio::test]
    async fn a_password_is_kept_as_argon2id_and_known_again() {
        let passwords = Passwords::default();
        let hash = passwords.hash("correct horse battery", HERE).await.expect("hashed");
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert_eq!(passwords.is_right("correct horse battery", Some(&hash), HERE).await, Ok(true));
        assert_eq!(passwords.is_right("correct horse batterz", Some(&hash), HERE).await, Ok(false));
        assert_eq!(passwords.is_right("correct horse battery", None, HERE).await, Ok(false));
        assert_eq!(passwords.hash("short", HERE).await, Err(PasswordError::TooShort));
        assert_eq!(passwords.hash(&"x".repeat(257), HERE).await, Err(PasswordError::TooLong));
    }

    #[test]
    fn a_password_of_which_nothing_can_be_seen_is_refused() {
        for blank in [" ", "\t", "\0", "\u{a0}", "\u{3000}", "\u{200b}", " \u{7f}"] {
            let typed = blank.repeat(MIN_PASSWORD_CHARS);
            assert_eq!(Passwords::check(&typed), Err(PasswordError::Blank), "{typed:?}");
        }
        assert_eq!(Passwords::check("           a"), Ok(()), "a blank may stand in one");
    }

    /// A hash that does not parse would be refused at once, and tell that there is nobody.
    #[test]
    fn nobodys_hash_is_computed_like_all_others() {
        let hash = argon2::PasswordHash::new(NOBODY).expect("a PHC string");
        let params = Params::try_from(&hash).expect("parameters");
        assert_eq!(
            (params.m_cost(), params.t_cost(), params.p_cost()),
            (MEMORY_KIB, PASSES, LANES)
        );
        assert_eq!(hash.hash.map(|it| it.len()), Some(32));
    }
}
