//! API keys.

use super::Store;
use super::database::{Row, column, inconsistent, json, sql};
use crate::account::key::{ApiKey, KeyHash, KeyState, Mode};
use crate::clock::Timestamp;
use crate::id::{AccountId, KeyId};
use crate::store::StoreError;

impl Store {
    /// Stores a new key.
    pub async fn create_key(&self, key: &ApiKey) -> Result<(), StoreError> {
        sql("-- create_key
             INSERT INTO keys (id, account_id, name, mode, lookup, hash, scopes, domains, templates,
                               networks, state, expires_at, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)")
        .bind(key.id)
        .bind(key.account_id)
        .bind(&key.name)
        .bind(key.mode.as_str())
        .bind(&key.lookup)
        .bind(key.hash.0.to_vec())
        .json(&key.scopes)
        .json(&key.domains)
        .json(&key.templates)
        .json(&key.networks)
        .bind(state_word(key.state))
        .bind(key.expires_at.map(Timestamp::millis))
        .bind(key.created_at.millis())
        .run(&self.db.writer)
        .await
        .map(|_| ())
    }

    /// The keys of an account, oldest first.
    pub async fn keys(&self, account: AccountId) -> Result<Vec<ApiKey>, StoreError> {
        let rows = sql("-- keys
             SELECT id, account_id, name, mode, lookup, hash, scopes, domains, templates, networks,
                    state, expires_at, last_used_at, created_at
             FROM keys WHERE account_id = $1 ORDER BY id")
        .bind(account)
        .all(&self.db.readers)
        .await?;
        rows.iter().map(key_row).collect()
    }

    /// The mode of a key; none if there is no such key.
    pub async fn key_mode(&self, id: KeyId) -> Result<Option<Mode>, StoreError> {
        let row = sql("-- key_mode\nSELECT mode FROM keys WHERE id = $1")
            .bind(id)
            .optional(&self.db.readers)
            .await?;
        row.map(|row| mode(&row, "keys")).transpose()
    }

    /// Switches a key off; the next request with it is refused.
    ///
    /// # Errors
    /// The database failed, or there is no such key.
    pub async fn deactivate_key(&self, id: KeyId) -> Result<(), StoreError> {
        let done = sql("-- deactivate_key\nUPDATE keys SET state = 'deactivated' WHERE id = $1")
            .bind(id)
            .run(&self.db.writer)
            .await?;
        if done == 1 {
            return Ok(());
        }
        Err(StoreError::Missing { noun: "key", name: id.to_string() })
    }
}

/// The statement that finds a key by its 8 characters.
pub const KEY: &str = "-- key
    SELECT id, account_id, name, mode, lookup, hash, scopes, domains, templates, networks, state,
           expires_at, last_used_at, created_at
    FROM keys WHERE lookup = $1";

impl Store {
    /// Whose key has these 8 characters.
    pub(super) async fn key_owner(&self, lookup: &str) -> Result<Option<AccountId>, StoreError> {
        let row = sql("-- key_owner\nSELECT account_id FROM keys WHERE lookup = $1")
            .bind(lookup)
            .optional(&self.db.readers)
            .await?;
        row.map(|row| column(&row, "account_id")).transpose()
    }
}

/// Reads a row of [`KEY`].
///
/// # Errors
/// This version of the server cannot read it.
pub fn key_row(row: &Row) -> Result<ApiKey, StoreError> {
    let state: String = column(row, "state")?;
    let state = match state.as_str() {
        "active" => KeyState::Active,
        "deactivated" => KeyState::Deactivated,
        _ => return Err(inconsistent("keys", "state", &state)),
    };
    let hash: Vec<u8> = column(row, "hash")?;
    let hash = hash.try_into().map_err(|_| inconsistent("keys", "hash", "not 32 bytes"))?;
    let moment = |millis: Option<i64>| millis.map(Timestamp::from_millis);
    Ok(ApiKey {
        id: column(row, "id")?,
        account_id: column(row, "account_id")?,
        name: column(row, "name")?,
        mode: mode(row, "keys")?,
        lookup: column(row, "lookup")?,
        hash: KeyHash(hash),
        scopes: json(row, "keys", "scopes")?,
        domains: json(row, "keys", "domains")?,
        templates: json(row, "keys", "templates")?,
        networks: json(row, "keys", "networks")?,
        state,
        expires_at: moment(column(row, "expires_at")?),
        last_used_at: moment(column(row, "last_used_at")?),
        created_at: Timestamp::from_millis(column(row, "created_at")?),
    })
}

/// Reads the column `mode` of a row of `table`.
pub fn mode(row: &Row, table: &'static str) -> Result<Mode, StoreError> {
    let mode: String = column(row, "mode")?;
    match mode.as_str() {
        "live" => Ok(Mode::Live),
        "test" => Ok(Mode::Test),
        _ => Err(inconsistent(table, "mode", &mode)),
    }
}

fn state_word(state: KeyState) -> &'static str {
    match state {
        KeyState::Active => "active",
        KeyState::Deactivated => "deactivated",
    }
}
