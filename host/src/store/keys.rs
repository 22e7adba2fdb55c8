//! API keys.

use super::Store;
use super::database::{Row, Statement, column, inconsistent, json, sql};
use crate::account::key::{ApiKey, KeyHash, KeyState, Mode};
use crate::clock::Timestamp;
use crate::id::{AccountId, Identifier, KeyId};
use crate::store::StoreError;

impl Store {
    /// Stores a new key.
    pub async fn create_key(&self, key: &ApiKey) -> Result<(), StoreError> {
        insert(key).run(&self.db.writer).await.map(|_| ())
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

    /// Stores a new key, unless `decide` refuses it on the number of keys that its account has.
    ///
    /// # Errors
    /// The database failed. What `decide` refuses is within the answer.
    pub async fn add_key<E>(
        &self,
        key: &ApiKey,
        decide: impl Fn(u32) -> Result<(), E>,
    ) -> Result<Result<(), E>, StoreError> {
        let mut tx = self.db.begin("add_key").await?;
        let keys =
            sql("-- add_key: count\nSELECT count(*) AS keys FROM keys WHERE account_id = $1")
                .bind(key.account_id)
                .one(&mut tx)
                .await?;
        if let Err(refused) = decide(column(&keys, "keys")?) {
            return Ok(Err(refused));
        }
        insert(key).run(&mut tx).await?;
        tx.commit().await?;
        Ok(Ok(()))
    }

    /// The keys of an account in the order of their making, behind `after`.
    pub async fn keys_after(
        &self,
        account: AccountId,
        after: Option<KeyId>,
        limit: u32,
    ) -> Result<Vec<ApiKey>, StoreError> {
        let rows = sql("-- keys_after
             SELECT id, account_id, name, mode, lookup, hash, scopes, domains, templates, networks,
                    state, expires_at, last_used_at, created_at
             FROM keys WHERE account_id = $1 AND id > $2 ORDER BY id LIMIT $3")
        .bind(account)
        .bind(after.unwrap_or(Identifier::MIN))
        .bind(limit)
        .all(&self.db.pages)
        .await?;
        rows.iter().map(key_row).collect()
    }

    /// One key; none where there is no such key.
    pub async fn key(&self, id: KeyId) -> Result<Option<ApiKey>, StoreError> {
        let row = sql(KEY_BY_ID).bind(id).optional(&self.db.readers).await?;
        row.map(|row| key_row(&row)).transpose()
    }

    /// Changes a key to what `decide` makes of it: name, scopes, restrictions, end and state. The next request with
    /// it is decided on that. Answers none where there is no such key.
    ///
    /// # Errors
    /// The database failed. What `decide` refuses is within the answer.
    pub async fn change_key<E>(
        &self,
        id: KeyId,
        decide: impl Fn(ApiKey) -> Result<ApiKey, E>,
    ) -> Result<Option<Result<ApiKey, E>>, StoreError> {
        let mut tx = self.db.begin("change_key").await?;
        let Some(row) = sql(KEY_BY_ID).bind(id).optional(&mut tx).await? else { return Ok(None) };
        let before = key_row(&row)?;
        let key = match decide(before.clone()) {
            // A change moves the revision of the facts, so that every fact is read again.
            Ok(key) if is_same(&before, &key) => return Ok(Some(Ok(key))),
            Ok(key) => key,
            Err(refused) => return Ok(Some(Err(refused))),
        };
        sql("-- change_key
             UPDATE keys SET name = $1, scopes = $2, domains = $3, templates = $4, networks = $5, expires_at = $6,
                    state = $7
             WHERE id = $8")
        .bind(&key.name)
        .json(&key.scopes)
        .json(&key.domains)
        .json(&key.templates)
        .json(&key.networks)
        .bind(key.expires_at.map(Timestamp::millis))
        .bind(state_word(key.state))
        .bind(id)
        .run(&mut tx)
        .await?;
        tx.commit().await?;
        Ok(Some(Ok(key)))
    }

    /// The mode of a key; none if there is no such key.
    pub async fn key_mode(&self, id: KeyId) -> Result<Option<Mode>, StoreError> {
        let row = sql("-- key_mode\nSELECT mode FROM keys WHERE id = $1")
            .bind(id)
            .optional(&self.db.readers)
            .await?;
        row.map(|row| mode(&row, "keys")).transpose()
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

const KEY_BY_ID: &str = "-- key_by_id
    SELECT id, account_id, name, mode, lookup, hash, scopes, domains, templates, networks, state,
           expires_at, last_used_at, created_at
    FROM keys WHERE id = $1";

/// Whether nothing has changed that can be changed.
fn is_same(one: &ApiKey, other: &ApiKey) -> bool {
    let rights = |it: &ApiKey| (it.scopes.clone(), it.networks.clone(), it.expires_at, it.state);
    let names = |it: &ApiKey| (it.name.clone(), it.domains.clone(), it.templates.clone());
    names(one) == names(other) && rights(one) == rights(other)
}

fn insert(key: &ApiKey) -> Statement<'_> {
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
}

/// Reads a row of [`KEY`].
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
