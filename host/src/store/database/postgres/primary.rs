//! Which host of `store.url` is the primary. All hosts are asked again and again: a standby that was promoted is found
//! within seconds, and a primary that answers nothing any more holds up no statement for minutes.

use std::fmt;
use std::future::Future;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Row};
use tokio::sync::watch;
use tokio::time::timeout;

use super::hosts::named;
use super::sqlstate::is_lost;

/// How often the hosts are asked.
const ASK_EVERY: Duration = Duration::from_millis(500);
/// How long a host may take to answer, with the connection to it.
const ANSWER_WAIT: Duration = Duration::from_secs(2);
/// Without a primary for so long, who wants a connection is refused at once.
const REFUSE_AFTER: Duration = Duration::from_secs(3);
/// Without a primary for so long, the statements that still wait for the last one end. It may be busy, so there is time.
const GIVE_UP_AFTER: Duration = Duration::from_secs(10);

/// The hosts, and what is known of them.
pub struct Primary {
    hosts: Vec<PgConnectOptions>,
    state: Mutex<State>,
    /// Moves when the connections of that time are given up: what runs on one of them ends.
    given_up: watch::Sender<u64>,
}

#[derive(Debug)]
struct State {
    /// The place of the primary among the hosts.
    at: usize,
    /// Older connections are used no more.
    trusted_since: Instant,
    /// Since when no host is a primary that answers.
    silent_since: Option<Instant>,
    /// Whether the connections to the last primary were given up since then.
    is_given_up: bool,
}

/// What a host says that it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Primary,
    Standby,
    /// It did not answer in time.
    Silent,
}

/// What the answers of all hosts change.
#[derive(Debug, PartialEq, Eq)]
enum Change {
    Nothing,
    /// This host is the primary now.
    Moved(usize),
    /// The primary has been silent for too long.
    GaveUp,
}

/// A connection to one host that does nothing but ask.
struct Probe<'a> {
    host: &'a PgConnectOptions,
    connection: Option<PgConnection>,
}

impl Primary {
    /// Of these hosts that one was the primary just now.
    pub fn new(hosts: Vec<PgConnectOptions>, at: usize) -> Self {
        let trusted_since = Instant::now();
        let state = State { at, trusted_since, silent_since: None, is_given_up: false };
        Self { hosts, state: Mutex::new(state), given_up: watch::Sender::new(0) }
    }

    /// Whether a connection of that age is used.
    pub fn trusts(&self, age: Duration) -> bool {
        age <= self.state().trusted_since.elapsed()
    }

    /// Whether there has been no primary for some time. Known only where somebody [watches](Self::watch).
    pub fn is_missing(&self) -> bool {
        self.state().silent_since.is_some_and(|since| since.elapsed() > REFUSE_AFTER)
    }

    /// Runs a statement, unless the connections of this time are given up meanwhile. After an error that ends a
    /// connection those that are as old are used no more.
    pub async fn unless_given_up<T>(
        &self,
        work: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, sqlx::Error> {
        let mut given_up = self.given_up.subscribe();
        let done = tokio::select! {
            biased;
            done = work => done,
            _ = given_up.changed() => Err(no_answer()),
        };
        if done.as_ref().is_err_and(is_lost) {
            self.state().trusted_since = Instant::now();
        }
        done
    }

    /// Ends when the connections of this time are given up.
    pub fn until_given_up(&self) -> impl Future<Output = sqlx::Error> + Send + use<> {
        let mut given_up = self.given_up.subscribe();
        async move {
            // It fails where the store is gone, and its connections with it.
            drop(given_up.changed().await);
            no_answer()
        }
    }

    /// Asks all hosts for ever. `connect_to` is told the host to connect to from then on.
    pub async fn watch(&self, connect_to: impl Fn(&PgConnectOptions)) {
        let probe = |host| Probe { host, connection: None };
        let mut probes: Vec<Probe<'_>> = self.hosts.iter().map(probe).collect();
        loop {
            let roles = join_all(probes.iter_mut().map(Probe::ask)).await;
            match self.judge(&roles, Instant::now()) {
                Change::Nothing => {}
                Change::Moved(at) => {
                    if let Some(host) = self.hosts.get(at) {
                        let server = named(host);
                        tracing::warn!(
                            host = server,
                            "another host is the primary of the database now"
                        );
                        connect_to(host);
                    }
                    self.give_up();
                }
                Change::GaveUp => self.give_up(),
            }
            tokio::time::sleep(ASK_EVERY).await;
        }
    }

    /// What follows from the answers of the hosts, in their order. A primary that answers stays the primary, whatever
    /// another host says.
    fn judge(&self, roles: &[Role], now: Instant) -> Change {
        let mut state = self.state();
        let is_there = roles.get(state.at) == Some(&Role::Primary);
        let is_primary = |it: &Role| *it == Role::Primary;
        let at = if is_there { Some(state.at) } else { roles.iter().position(is_primary) };
        let Some(at) = at else {
            if state.silent_since.is_none() {
                tracing::error!(
                    "no host in store.url is a primary that answers; requests are refused until one does"
                );
            }
            let since = *state.silent_since.get_or_insert(now);
            if state.is_given_up || now.duration_since(since) <= GIVE_UP_AFTER {
                return Change::Nothing;
            }
            state.is_given_up = true;
            return Change::GaveUp;
        };
        if state.silent_since.take().is_some() {
            tracing::info!("the database answers again");
        }
        state.is_given_up = false;
        let has_moved = at != state.at;
        state.at = at;
        if has_moved { Change::Moved(at) } else { Change::Nothing }
    }

    /// The connections of this time are used no more, and what waits for them ends.
    fn give_up(&self) {
        self.state().trusted_since = Instant::now();
        self.given_up.send_modify(|it| *it += 1);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Primary {
    /// The hosts have a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Primary").field("state", &self.state).finish_non_exhaustive()
    }
}

impl Probe<'_> {
    async fn ask(&mut self) -> Role {
        // One that does not answer in time is dropped.
        let (host, kept) = (self.host, self.connection.take());
        let asked = async move {
            let mut connection = match kept {
                Some(it) => it,
                None => host.connect().await?,
            };
            let is_standby = is_standby(&mut connection).await?;
            Ok::<_, sqlx::Error>((connection, is_standby))
        };
        match timeout(ANSWER_WAIT, asked).await {
            Ok(Ok((connection, is_standby))) => {
                self.connection = Some(connection);
                if is_standby { Role::Standby } else { Role::Primary }
            }
            Ok(Err(_)) | Err(_) => Role::Silent,
        }
    }
}

/// Whether the host can only be read.
pub async fn is_standby(connection: &mut PgConnection) -> Result<bool, sqlx::Error> {
    let asked = "SELECT pg_is_in_recovery() AS is_standby";
    sqlx::query(asked).fetch_one(connection).await?.try_get("is_standby")
}

fn no_answer() -> sqlx::Error {
    let why = "the database's primary does not answer, or is another host now";
    io::Error::new(io::ErrorKind::ConnectionAborted, why).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn primary() -> Primary {
        let hosts = ["postgres://a/mail", "postgres://b/mail"];
        let hosts = hosts.map(|it| it.parse::<PgConnectOptions>().expect("a URL"));
        Primary::new(hosts.to_vec(), 0)
    }

    #[test]
    fn a_primary_that_answers_stays_it_beside_another_one() {
        let primary = primary();
        let now = Instant::now();
        assert_eq!(primary.judge(&[Role::Primary, Role::Standby], now), Change::Nothing);
        assert_eq!(primary.judge(&[Role::Primary, Role::Primary], now), Change::Nothing);
    }

    #[test]
    fn a_promoted_standby_is_the_primary_from_its_first_answer_on() {
        for before in [Role::Silent, Role::Standby] {
            let primary = primary();
            let now = Instant::now();
            assert_eq!(primary.judge(&[before, Role::Standby], now), Change::Nothing);
            assert_eq!(primary.judge(&[before, Role::Primary], now), Change::Moved(1));
            assert_eq!(primary.judge(&[Role::Primary, Role::Primary], now), Change::Nothing);
            assert_eq!(primary.state().at, 1);
        }
    }

    #[test]
    fn a_silent_primary_is_given_up_once_and_requests_are_refused() {
        let primary = primary();
        let silent = [Role::Silent, Role::Standby];
        assert!(!primary.is_missing());
        let start = Instant::now().checked_sub(2 * REFUSE_AFTER).expect("a time");
        assert_eq!(primary.judge(&silent, start), Change::Nothing);
        assert!(primary.is_missing());
        let later = start + GIVE_UP_AFTER + Duration::from_secs(1);
        assert_eq!(primary.judge(&silent, later), Change::GaveUp);
        assert_eq!(primary.judge(&silent, later), Change::Nothing, "once");
        assert_eq!(primary.judge(&[Role::Primary, Role::Standby], later), Change::Nothing);
        assert!(!primary.is_missing(), "it answers again");
    }

    #[tokio::test]
    async fn what_waits_for_a_primary_that_is_given_up_ends() {
        let primary = primary();
        let waiting = primary.unless_given_up(std::future::pending::<Result<(), sqlx::Error>>());
        let (waited, ()) = tokio::join!(waiting, async { primary.give_up() });
        assert!(waited.is_err_and(|it| is_lost(&it)));
        assert!(!primary.trusts(Duration::from_secs(1)), "its connections are used no more");
        assert!(primary.trusts(Duration::ZERO));
    }
}
