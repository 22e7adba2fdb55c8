//! The best transaction that does what a commit of so many sends does: the same locks and the same rows in the same
//! tables, made by the database itself from one row that a server has written.

use std::fmt::Write as _;
use std::io;

use serde_json::{Value, json};

use crate::postgres::{Database, filled};

/// What is written, in the language of `pgbench`.
const SCRIPT: &str = include_str!("group.sql");
/// The accounts by number, and the newest message that waits.
const SAMPLE: &str = "
    CREATE SCHEMA load;
    CREATE TABLE load.accounts AS
        SELECT row_number() OVER (ORDER BY a.id) - 1 AS n, a.id AS account_id, k.id AS key_id, d.id AS domain_id
        FROM accounts a JOIN keys k ON k.account_id = a.id JOIN domains d ON d.account_id = a.id
        WHERE a.name LIKE 'Account %';
    ALTER TABLE load.accounts ADD PRIMARY KEY (n);
    CREATE TABLE load.sample AS
        SELECT m.*, q.lane, q.octets FROM messages m JOIN queue q ON q.message_id = m.id ORDER BY m.id DESC LIMIT 1";
const OF_SAMPLE: &str = "SELECT json_build_object('accounts', (SELECT count(*) FROM load.accounts), 'bodyBytes',
    (SELECT CAST(avg(length(bytes)) AS BIGINT) FROM (SELECT bytes FROM bodies ORDER BY message_id DESC LIMIT 1000) b))";

/// What a transaction is made of.
pub struct Sample {
    accounts: u64,
    /// Of a body as a server stores it.
    body_bytes: u64,
}

impl Sample {
    /// Prepares a database to which servers have sent.
    pub async fn take(database: &Database) -> io::Result<Self> {
        database.ask(SAMPLE).await?;
        database.ask("VACUUM ANALYZE").await?;
        let found = database.ask_json(OF_SAMPLE).await?;
        let number = |name: &str| found[name].as_u64().filter(|it| *it > 0);
        let accounts = number("accounts").zip(number("bodyBytes"));
        let (accounts, body_bytes) =
            accounts.ok_or_else(|| io::Error::other(format!("nothing was sent: {found}")))?;
        Ok(Self { accounts, body_bytes })
    }

    /// The transaction of so many sends.
    pub fn script(&self, group: u64) -> String {
        // 61 has no divisor in common with the numbers of accounts that are measured: a group has none twice.
        let chosen = "(generate_series(1, {group}) AS i
            JOIN load.accounts a ON a.n = (CAST(:first AS BIGINT) + i * 61) % {accounts})";
        let recipient = "('load-' || lpad(CAST(i AS TEXT), 9, '0') || '@example.com')";
        let id = "decode(lpad(to_hex({now}), 12, '0') || lpad(to_hex(CAST(:seed AS BIGINT) + i), 20, '0'), 'hex')";
        let values = [
            ("chosen", chosen.to_owned()),
            ("recipient", recipient.to_owned()),
            ("id", id.to_owned()),
            // The same in all statements of a transaction.
            ("now", "CAST(floor(extract(epoch FROM now()) * 1000) AS BIGINT)".to_owned()),
            ("group", group.to_string()),
            ("accounts", self.accounts.to_string()),
            ("body", digits(self.body_bytes)),
        ];
        filled(SCRIPT, &values)
    }

    pub fn to_json(&self) -> Value {
        json!({"accounts": self.accounts, "bodyBytes": self.body_bytes})
    }
}

/// Bytes that look like random ones, in hexadecimal digits.
fn digits(bytes: u64) -> String {
    let (mut state, mut digits) = (0x9e37_79b9_7f4a_7c15_u64, String::new());
    for _ in 0..bytes {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        write!(digits, "{:02x}", state >> 56).expect("a string takes everything");
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The statements of the store that a commit runs.
    const STORE: [&str; 3] = [
        include_str!("../../../host/src/store/commit/write.rs"),
        include_str!("../../../host/src/store/events.rs"),
        include_str!("../../../host/src/store/database/postgres/tx.rs"),
    ];

    fn in_one_line(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_transaction_writes_what_the_store_writes() {
        let (store, script) = (in_one_line(&STORE.concat()), in_one_line(SCRIPT));
        let inserts: Vec<&str> = script
            .split("INSERT INTO ")
            .skip(1)
            .filter_map(|it| it.split_once(')').map(|(into, _)| into))
            .collect();
        assert_eq!(inserts.len(), 9, "{inserts:?}");
        for into in inserts {
            assert!(store.contains(&format!("INSERT INTO {into})")), "the store writes no {into})");
        }
        for lock in script.split("SELECT ").filter(|it| it.starts_with("pg_advisory")) {
            let (lock, _) = lock.split_once(';').expect("the end of the statement");
            assert!(store.contains(lock), "{lock}");
        }
    }

    #[test]
    fn a_script_has_no_name_left_and_as_many_sends_as_asked() {
        let script = Sample { accounts: 1_000, body_bytes: 3 }.script(24);
        assert!(!script.contains('{'), "{script}");
        assert!(script.contains("generate_series(1, 24)") && script.contains("% 1000)"));
        let body = script.split("decode('").nth(1).and_then(|it| it.split('\'').next());
        assert_eq!(body.map(str::len), Some(6));
    }
}
