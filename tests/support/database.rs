//! What stands in the store of a server, past everything that the server says of itself.

use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions};
use sqlx::{AssertSqlSafe, raw_sql};

use crate::server::Server;

/// How long a statement waits for a server that writes.
const BUSY: Duration = Duration::from_secs(30);

/// A statement. Most have one text for SQLite and PostgreSQL: see [`either`] for the others.
#[derive(Debug, Clone)]
pub struct Sql {
    sqlite: String,
    postgres: String,
}

impl From<&str> for Sql {
    fn from(text: &str) -> Self {
        either(text, text)
    }
}

/// What SQLite and PostgreSQL say in other words.
#[must_use]
pub fn either(sqlite: &str, postgres: &str) -> Sql {
    Sql { sqlite: sqlite.to_owned(), postgres: postgres.to_owned() }
}

/// The digits of a ULID, in their order.
const DIGITS: &str = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// The store of a server, as another process sees it. A statement that is wrong fails the test.
#[derive(Debug)]
pub struct Database(Pool);

#[derive(Debug)]
enum Pool {
    Sqlite(SqlitePool),
    Postgres(PgPool),
}

impl Database {
    /// For reading only.
    ///
    /// # Panics
    /// It does not open.
    pub async fn of(server: &Server) -> Self {
        Self::open(server, true).await
    }

    /// For a process that changes it for the operator.
    ///
    /// # Panics
    /// It does not open.
    pub async fn changing(server: &Server) -> Self {
        Self::open(server, false).await
    }

    async fn open(server: &Server, read_only: bool) -> Self {
        if let Some(url) = server.store_url() {
            let options: PgConnectOptions = url.parse().expect("a URL of PostgreSQL");
            let read_only = if read_only { "on" } else { "off" };
            let options = options.options([("default_transaction_read_only", read_only)]);
            let pool = PgPoolOptions::new().max_connections(1).connect_lazy_with(options);
            return Self(Pool::Postgres(pool));
        }
        let file = server.data_dir().join("waxwing.db");
        let options = SqliteConnectOptions::new().filename(file).read_only(read_only);
        let options = options.busy_timeout(BUSY);
        let pool = SqlitePoolOptions::new().max_connections(1).connect_with(options).await;
        Self(Pool::Sqlite(pool.expect("the database opens")))
    }

    /// The one number that a query answers.
    ///
    /// # Panics
    /// The query is wrong.
    pub async fn number(&self, sql: impl Into<Sql>) -> i64 {
        let Sql { sqlite, postgres } = sql.into();
        // A sum is no integer in PostgreSQL.
        let integer = |query: String| AssertSqlSafe(format!("SELECT CAST(({query}) AS BIGINT)"));
        let number = match &self.0 {
            Pool::Sqlite(pool) => sqlx::query_scalar(integer(sqlite)).fetch_one(pool).await,
            Pool::Postgres(pool) => sqlx::query_scalar(integer(postgres)).fetch_one(pool).await,
        };
        number.expect("the query is right")
    }

    /// The texts that a query answers, one a row.
    ///
    /// # Panics
    /// The query is wrong.
    pub async fn texts(&self, sql: impl Into<Sql>) -> Vec<String> {
        let Sql { sqlite, postgres } = sql.into();
        let (sqlite, postgres) = (AssertSqlSafe(sqlite), AssertSqlSafe(postgres));
        let texts = match &self.0 {
            Pool::Sqlite(pool) => sqlx::query_scalar(sqlite).fetch_all(pool).await,
            Pool::Postgres(pool) => sqlx::query_scalar(postgres).fetch_all(pool).await,
        };
        texts.expect("the query is right")
    }

    /// The identifiers of messages that a query answers, as they are told.
    ///
    /// # Panics
    /// The query is wrong.
    pub async fn messages(&self, sql: impl Into<Sql>) -> Vec<String> {
        let Sql { sqlite, postgres } = sql.into();
        let (sqlite, postgres) = (AssertSqlSafe(sqlite), AssertSqlSafe(postgres));
        let all: Result<Vec<Vec<u8>>, sqlx::Error> = match &self.0 {
            Pool::Sqlite(pool) => sqlx::query_scalar(sqlite).fetch_all(pool).await,
            Pool::Postgres(pool) => sqlx::query_scalar(postgres).fetch_all(pool).await,
        };
        all.expect("the query is right").iter().map(|it| told("msg_", it)).collect()
    }

    /// Runs statements; answers how many rows they have changed.
    pub async fn change(&self, sql: impl Into<Sql>) -> Result<u64, sqlx::Error> {
        let Sql { sqlite, postgres } = sql.into();
        let changed = match &self.0 {
            Pool::Sqlite(pool) => {
                raw_sql(AssertSqlSafe(sqlite)).execute(pool).await?.rows_affected()
            }
            Pool::Postgres(pool) => {
                raw_sql(AssertSqlSafe(postgres)).execute(pool).await?.rows_affected()
            }
        };
        Ok(changed)
    }

    /// Lets go of it, so that nobody but the server has it open.
    pub async fn close(self) {
        match self.0 {
            Pool::Sqlite(pool) => pool.close().await,
            Pool::Postgres(pool) => pool.close().await,
        }
    }
}

impl Server {
    /// An identifier that was told, as SQL of its store writes the bytes.
    ///
    /// # Panics
    /// It is none.
    #[must_use]
    pub fn in_sql(&self, id: &str) -> String {
        let (_, ulid) = id.split_once('_').expect("a prefix");
        let digit = |it| DIGITS.find(it).expect("a digit of a ULID") as u128;
        let bits = ulid.chars().fold(0_u128, |bits, it| (bits << 5) | digit(it));
        self.bytes_in_sql(&bits.to_be_bytes())
    }

    /// Bytes, as SQL of its store writes them.
    #[must_use]
    pub fn bytes_in_sql(&self, bytes: &[u8]) -> String {
        let digits: Vec<String> = bytes.iter().map(|it| format!("{it:02x}")).collect();
        let digits = digits.concat();
        match self.store_url() {
            None => format!("x'{digits}'"),
            Some(_) => format!("CAST('\\x{digits}' AS BYTEA)"),
        }
    }
}

/// An identifier of the database as it is told: a prefix and a ULID.
///
/// # Panics
/// These are not 16 bytes.
#[must_use]
pub fn told(prefix: &str, bytes: &[u8]) -> String {
    let bits = u128::from_be_bytes(bytes.try_into().expect("16 bytes"));
    let digit = |place: u32| usize::try_from((bits >> (5 * place)) & 31).expect("a digit");
    let digits = (0..26).rev().map(|place| char::from(DIGITS.as_bytes()[digit(place)]));
    prefix.chars().chain(digits).collect()
}
