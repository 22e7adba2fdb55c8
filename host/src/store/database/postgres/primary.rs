//! Which host of `store.url` is the primary. All hosts are asked again and again: a standby that was promoted is found
//! within seconds, and a primary that answers nothing any more holds up no statement for minutes.
//!
//! Whoever is promoted begins a new timeline. So of two hosts that both say that they are the primary, the one with the higher
//! timeline is, and one with a lower timeline than was ever seen is an old primary that was not stopped.

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
use super::sqlstate::{code, is_lost};

/// How often the hosts are asked.
const ASK_EVERY: Duration = Duration::from_millis(500);
/// How long a host may take to answer, with the connection to it.
const ANSWER_WAIT: Duration = Duration::from_secs(2);
/// Without a primary for so long, who wants a connection is refused at once.
const REFUSE_AFTER: Duration = Duration::from_secs(3);
/// Without a primary for so long, the statements that still wait for the last one end. It may be busy, so there is time.
const GIVE_UP_AFTER: Duration = Duration::from_secs(10);
/// The SQLSTATEs `feature_not_supported`, `undefined_function` and `insufficient_privilege`.
const NO_WAL: [&str; 3] = ["0A000", "42883", "42501"];

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
    /// The highest that a primary has had.
    timeline: Timeline,
    /// The places of old primaries, as they were logged last.
    outdated: Vec<usize>,
    /// Older connections are used no more.
    trusted_since: Instant,
    /// Since when no host is a primary that answers.
    silent_since: Option<Instant>,
    /// Whether the connections to the last primary were given up since then.
    is_given_up: bool,
}

/// Moves with each promotion; 0 where the server does not say it.
pub type Timeline = u32;

/// What a host says that it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Primary(Timeline),
    Standby,
    /// It did not answer in time.
    Silent,
}

/// What the answers of all hosts change.
#[derive(Debug, PartialEq, Eq)]
enum Change {
    Nothing,
    /// This host is the primary now, or another server stands behind its name.
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
    /// Of these hosts that one was the primary just now, with that timeline.
    pub fn new(hosts: Vec<PgConnectOptions>, (at, timeline): (usize, Timeline)) -> Self {
        let state = State {
            at,
            timeline,
            outdated: Vec::new(),
            trusted_since: Instant::now(),
            silent_since: None,
            is_given_up: false,
        };
        Self { hosts, state: Mutex::new(state), given_up: watch::Sender::new(0) }
    }

    /// Whether a host with that answer is the primary, and not one that was replaced.
    pub fn accepts(&self, role: Role) -> bool {
        role.timeline().is_some_and(|it| it >= self.state().timeline)
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
    /// connection all that were made before it are used no more.
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
                            "another server is the primary of the database now"
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

    /// What follows from the answers of the hosts, in their order. A primary that answers stays the primary, unless another
    /// one was promoted since.
    fn judge(&self, roles: &[Role], now: Instant) -> Change {
        let mut state = self.state();
        let newest = roles.iter().filter_map(|it| it.timeline()).max().unwrap_or_default();
        // One name, as of a proxy or a floating address, may lead to another server.
        let is_promoted = newest > state.timeline;
        state.timeline = state.timeline.max(newest);
        let primary = Role::Primary(state.timeline);
        let is_there = roles.get(state.at) == Some(&primary);
        let at = if is_there { Some(state.at) } else { roles.iter().position(|it| *it == primary) };
        self.tell_outdated(&mut state, roles);
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
        let has_moved = is_promoted || at != state.at;
        state.at = at;
        if has_moved { Change::Moved(at) } else { Change::Nothing }
    }

    /// Logs which hosts are old primaries, when that changes.
    fn tell_outdated(&self, state: &mut State, roles: &[Role]) {
        let is_outdated = |it: &Role| it.timeline().is_some_and(|it| it < state.timeline);
        let outdated: Vec<usize> =
            roles.iter().enumerate().filter(|(_, it)| is_outdated(it)).map(|(at, _)| at).collect();
        if outdated == state.outdated {
            return;
        }
        for host in outdated.iter().filter_map(|at| self.hosts.get(*at)) {
            tracing::error!(
                host = named(host),
                timeline = state.timeline,
                "this host says that it is the primary of the database, but another one was promoted since: nothing is \
                 written there; stop it, and make it a standby of the new primary. Where you have restored a dump into \
                 a new cluster, restart all servers instead"
            );
        }
        state.outdated = outdated;
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

impl Role {
    fn timeline(self) -> Option<Timeline> {
        match self {
            Self::Primary(timeline) => Some(timeline),
            Self::Standby | Self::Silent => None,
        }
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
            let role = role(&mut connection).await?;
            Ok::<_, sqlx::Error>((connection, role))
        };
        match timeout(ANSWER_WAIT, asked).await {
            Ok(Ok((connection, role))) => {
                self.connection = Some(connection);
                role
            }
            Ok(Err(_)) | Err(_) => Role::Silent,
        }
    }
}

/// What the host says that it is.
pub async fn role(connection: &mut PgConnection) -> Result<Role, sqlx::Error> {
    let asked = "SELECT pg_is_in_recovery() AS is_standby";
    if sqlx::query(asked).fetch_one(&mut *connection).await?.try_get("is_standby")? {
        return Ok(Role::Standby);
    }
    Ok(Role::Primary(timeline(connection).await?))
}

/// The timeline into which a primary writes.
pub async fn timeline(connection: &mut PgConnection) -> Result<Timeline, sqlx::Error> {
    let asked = "SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) AS timeline";
    match sqlx::query(asked).fetch_one(connection).await {
        Ok(row) => {
            let digits: String = row.try_get("timeline")?;
            Ok(Timeline::from_str_radix(&digits, 16).unwrap_or_default())
        }
        // An engine that speaks PostgreSQL, and has no WAL to name.
        Err(error) if code(&error).is_some_and(|it| NO_WAL.contains(&&*it)) => Ok(0),
        Err(error) => Err(error),
    }
}

pub fn no_answer() -> sqlx::Error {
    let why = "the database's primary does not answer, or is another host now";
    io::Error::new(io::ErrorKind::ConnectionAborted, why).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn primary() -> Primary {
        let hosts = ["postgres://a/mail", "postgres://b/mail"];
        let hosts = hosts.map(|it| it.parse::<PgConnectOptions>().expect("a URL"));
        Primary::new(hosts.to_vec(), (0, 1))
    }

    #[test]
    fn a_primary_that_answers_stays_it_beside_another_one() {
        let primary = primary();
        let now = Instant::now();
        assert_eq!(primary.judge(&[Role::Primary(1), Role::Standby], now), Change::Nothing);
        assert_eq!(primary.judge(&[Role::Primary(1), Role::Primary(1)], now), Change::Nothing);
    }

    #[test]
    fn an_old_primary_that_comes_back_is_never_used_again() {
        let primary = primary();
        let start = Instant::now();
        assert_eq!(primary.judge(&[Role::Primary(1), Role::Primary(2)], start), Change::Moved(1));
        assert_eq!(primary.judge(&[Role::Primary(1), Role::Primary(2)], start), Change::Nothing);
        assert_eq!(primary.state().outdated, [0]);
        assert_eq!(primary.judge(&[Role::Primary(1), Role::Silent], start), Change::Nothing);
        let later = start + GIVE_UP_AFTER + Duration::from_secs(1);
        assert_eq!(primary.judge(&[Role::Primary(1), Role::Silent], later), Change::GaveUp);
        assert_eq!(primary.judge(&[Role::Standby, Role::Primary(2)], later), Change::Nothing);
        assert!(primary.state().outdated.is_empty() && primary.state().at == 1);
    }

    #[test]
    fn another_server_behind_the_same_name_is_the_primary_from_then_on() {
        let primary = primary();
        let now = Instant::now();
        assert!(primary.accepts(Role::Primary(1)) && !primary.accepts(Role::Standby));
        assert_eq!(primary.judge(&[Role::Primary(2), Role::Standby], now), Change::Moved(0));
        assert_eq!(primary.judge(&[Role::Primary(2), Role::Standby], now), Change::Nothing);
        assert!(!primary.accepts(Role::Primary(1)), "what connects to the old one is refused");
        assert!(primary.accepts(Role::Primary(2)));
    }

    #[test]
    fn a_promoted_standby_is_the_primary_from_its_first_answer_on() {
        for before in [Role::Silent, Role::Standby] {
            let primary = primary();
            let now = Instant::now();
            assert_eq!(primary.judge(&[before, Role::Standby], now), Change::Nothing);
            assert_eq!(primary.judge(&[before, Role::Primary(2)], now), Change::Moved(1));
            assert_eq!(primary.judge(&[before, Role::Primary(2)], now), Change::Nothing);
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
        assert_eq!(primary.judge(&[Role::Primary(1), Role::Standby], later), Change::Nothing);
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
