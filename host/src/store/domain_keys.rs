//! The DKIM keys of sender domains.

use serde::Deserialize;

use super::Store;
use super::database::{Row, Sql, Tx, column, either, inconsistent, json, moment, sql};
use crate::clock::Timestamp;
use crate::domain::key::{DkimKey, KeyPhase};
use crate::domain::name::DomainName;
use crate::domain::state::Phase;
use crate::id::{AccountId, DomainId};
use crate::store::StoreError;

/// The keys that sign for a domain.
#[derive(Debug, Clone)]
pub struct SigningKeys {
    /// The domain, for which they are sealed.
    pub domain: DomainId,
    /// Where the domain stands: its keys sign only while it may send.
    pub phase: Phase,
    /// The keys, RSA first; none for a sandbox domain.
    pub keys: Vec<SealedKey>,
    /// The domain's own alias of the host to which reports come back, while that can be seen.
    pub return_path: Option<DomainName>,
}

/// A key that signs.
#[derive(Debug, Clone, Deserialize)]
pub struct SealedKey {
    /// The first label of its record's name.
    pub selector: String,
    /// `rsa-sha256` or `ed25519-sha256`.
    pub algorithm: String,
    /// PKCS #8, sealed.
    #[serde(with = "hexadecimal")]
    pub sealed: Vec<u8>,
}

/// The public half of a key that signs, or has signed, for a domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedKey {
    /// The first label of its record's name.
    pub selector: String,
    /// `rsa-sha256` or `ed25519-sha256`.
    pub algorithm: String,
    /// The value of the tag `p=`.
    pub public: String,
}

impl Store {
    /// The keys that a message of that domain may be signed with: also those that were rotated out and are
    /// still published.
    pub async fn published_keys(
        &self,
        account: AccountId,
        domain: &DomainName,
    ) -> Result<Vec<PublishedKey>, StoreError> {
        let rows = sql("-- published_keys
             SELECT k.selector, k.algorithm, k.public_key
             FROM domains d JOIN dkim_keys k ON k.domain_id = d.id
             WHERE d.account_id = $1 AND d.name = $2 AND k.phase <> 'next'")
        .bind(account)
        .bind(domain.as_str())
        .all(&self.db.readers)
        .await?;
        let key = |row: &Row| {
            Ok(PublishedKey {
                selector: column(row, "selector")?,
                algorithm: column(row, "algorithm")?,
                public: column(row, "public_key")?,
            })
        };
        rows.iter().map(key).collect()
    }

    /// Domains that have signed with one key since before that moment, and since when; the oldest first.
    pub async fn old_signing_keys(
        &self,
        before: Timestamp,
        limit: u32,
    ) -> Result<Vec<(String, Timestamp)>, StoreError> {
        let rows = sql("-- old_signing_keys
             SELECT d.name, min(k.since) AS since FROM dkim_keys k JOIN domains d ON d.id = k.domain_id
             WHERE k.phase = 'signing' AND k.since <= $1
             GROUP BY d.id, d.name ORDER BY min(k.since), d.name LIMIT $2")
        .bind(before.millis())
        .bind(limit)
        .all(&self.db.pages)
        .await?;
        rows.iter().map(|row| Ok((column(row, "name")?, moment(row, "since")?))).collect()
    }
}

/// The statement that finds the signing keys of a domain of an account, in one row.
pub const SIGNING_KEYS: Sql = either(
    "-- signing_keys
    SELECT d.id, d.phase,
           (SELECT json_group_array(json_object('selector', selector, 'algorithm', algorithm,
                                                'sealed', hex(private_key))
                                    ORDER BY algorithm DESC)
            FROM dkim_keys k WHERE k.domain_id = d.id AND phase = 'signing') AS keys,
           (SELECT r.value ->> 'name'
            FROM domain_checks c, json_each(d.requirements) r, json_each(c.findings) f
            WHERE c.domain_id = d.id AND r.value ->> 'id' = 'return-path'
              AND r.value ->> 'type' = 'CNAME' AND f.value ->> 'id' = 'return-path'
              AND f.value ->> 'wasSatisfied') AS return_path
    FROM domains d WHERE d.account_id = $1 AND d.name = $2",
    "-- postgres: signing_keys
    SELECT d.id, d.phase,
           (SELECT CAST(coalesce(json_agg(json_build_object('selector', selector, 'algorithm', algorithm,
                                                            'sealed', encode(private_key, 'hex'))
                                          ORDER BY algorithm DESC), '[]') AS TEXT)
            FROM dkim_keys k WHERE k.domain_id = d.id AND phase = 'signing') AS keys,
           (SELECT r.value ->> 'name'
            FROM domain_checks c, json_array_elements(CAST(d.requirements AS JSON)) r,
                 json_array_elements(CAST(c.findings AS JSON)) f
            WHERE c.domain_id = d.id AND r.value ->> 'id' = 'return-path'
              AND r.value ->> 'type' = 'CNAME' AND f.value ->> 'id' = 'return-path'
              AND f.value ->> 'wasSatisfied' = 'true' LIMIT 1) AS return_path
    FROM domains d WHERE d.account_id = $1 AND d.name = $2",
);

/// Reads a row of [`SIGNING_KEYS`].
pub fn signing_keys_row(row: &Row) -> Result<SigningKeys, StoreError> {
    let phase: String = column(row, "phase")?;
    Ok(SigningKeys {
        domain: column(row, "id")?,
        phase: Phase::from_name(&phase).ok_or_else(|| inconsistent("domains", "phase", &phase))?,
        keys: json(row, "dkim_keys", "keys")?,
        // A policy may name what is no host: then there is none.
        return_path: column::<Option<String>>(row, "return_path")?.and_then(|it| it.parse().ok()),
    })
}

/// All keys of a domain, oldest first.
pub async fn keys(tx: &mut Tx, id: DomainId) -> Result<Vec<DkimKey>, StoreError> {
    let rows = sql("-- domain keys
         SELECT selector, algorithm, public_key, private_key, phase, since FROM dkim_keys
         WHERE domain_id = $1 ORDER BY since, phase, algorithm DESC")
    .bind(id)
    .all(&mut *tx)
    .await?;
    rows.iter().map(dkim_key).collect()
}

/// Makes these the keys of a domain, and no others.
pub async fn put(tx: &mut Tx, id: DomainId, keys: &[DkimKey]) -> Result<(), StoreError> {
    let selectors: Vec<&str> = keys.iter().map(|key| key.selector.as_str()).collect();
    sql("-- put domain keys: drop
         DELETE FROM dkim_keys
         WHERE domain_id = $1 AND selector NOT IN (SELECT value FROM json_each($2))")
    .bind(id)
    .list(&selectors)
    .run(&mut *tx)
    .await?;
    for key in keys {
        sql(
            "-- put domain keys
             INSERT INTO dkim_keys (domain_id, selector, algorithm, public_key, private_key, phase,
                                    since)
             VALUES ($1, $2, $3, $4, $5, $6, $7)
             ON CONFLICT (domain_id, selector) DO UPDATE SET
                 phase = excluded.phase, since = excluded.since, private_key = excluded.private_key",
        )
        .bind(id)
        .bind(&key.selector)
        .bind(&key.algorithm)
        .bind(&key.public_base64)
        .bind(&key.sealed)
        .bind(key.phase.as_str())
        .bind(key.since.millis())
        .run(&mut *tx)
        .await?;
    }
    Ok(())
}

fn dkim_key(row: &Row) -> Result<DkimKey, StoreError> {
    let phase: String = column(row, "phase")?;
    Ok(DkimKey {
        selector: column(row, "selector")?,
        algorithm: column(row, "algorithm")?,
        public_base64: column(row, "public_key")?,
        sealed: column(row, "private_key")?,
        phase: KeyPhase::from_name(&phase)
            .ok_or_else(|| inconsistent("dkim_keys", "phase", &phase))?,
        since: Timestamp::from_millis(column(row, "since")?),
    })
}

mod hexadecimal {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer};

    pub fn deserialize<'de, D: Deserializer<'de>>(text: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(text)?;
        let digits = text.as_bytes().chunks_exact(2);
        if !digits.remainder().is_empty() {
            return Err(D::Error::custom("an odd number of digits"));
        }
        digits
            .map(|pair| {
                let pair = str::from_utf8(pair).map_err(D::Error::custom)?;
                u8::from_str_radix(pair, 16).map_err(D::Error::custom)
            })
            .collect()
    }
}
