//! Rows of sender domains: adding, listing and removing them, and what a send reads of one.

use serde_json::Value;

use super::Store;
use super::database::{Row, Tx, column, inconsistent, json, parsed, sql};
use crate::clock::Timestamp;
use crate::domain::key::DkimKey;
use crate::domain::look_alike::{LookAlikes, Originals, skeleton_of};
use crate::domain::name::DomainName;
use crate::domain::state::{DomainKind, Phase, SenderDomain, Standing};
use crate::id::{AccountId, DomainId, Identifier};
use crate::store::StoreError;
use crate::store::records::PluginDecision;

/// A domain with the verdict of the policy.
#[derive(Debug, Clone)]
pub struct DomainRow {
    pub domain: SenderDomain,
    /// The records to publish, as the policy's `require` gave them.
    pub requirements: Value,
    /// The domain policy's decision at the last check, as JSON.
    pub decision: Value,
}

/// A domain as sends need it.
#[derive(Debug)]
pub struct DomainFacts {
    pub domain: SenderDomain,
    /// The same decision in the form that a message's record has.
    pub judgement: PluginDecision,
}

/// A domain as it is added.
#[derive(Debug)]
pub struct NewDomain {
    pub row: DomainRow,
    /// Whether its name may look like a verified domain of another account.
    pub look_alikes: LookAlikes,
    pub keys: Vec<DkimKey>,
    /// When it is checked first; none for one that needs no records.
    pub first_check: Option<Timestamp>,
}

/// What the database says of the account and the name before a domain is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddingFacts {
    /// The account has a domain of this name.
    pub is_there: bool,
    /// Domains of the account.
    pub domains: u64,
    /// One of the domains is there that it must not be mistaken for.
    pub has_look_alike: bool,
}

impl Store {
    /// Adds a domain with its keys and its first check, all or nothing, unless `decide` refuses it on what
    /// stands then.
    ///
    /// # Errors
    /// The database failed; nothing was added.
    pub async fn add_domain<E>(
        &self,
        new: &NewDomain,
        now: Timestamp,
        originals: &Originals,
        decide: impl Fn(AddingFacts) -> Result<(), E>,
    ) -> Result<Result<(), E>, StoreError> {
        let mut tx = self.db.begin("add_domain").await?;
        let DomainRow { domain, requirements, decision } = &new.row;
        if let Err(refused) =
            decide(facts(&mut tx, domain.account_id, &domain.name, originals).await?)
        {
            return Ok(Err(refused));
        }
        let id = domain.id;
        sql(
            "-- add_domain
             INSERT INTO domains (id, account_id, name, kind, verification_token, phase, since,
                                  progress, missing, requirements, decision, organizational, skeleton,
                                  may_look_alike, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)",
        )
        .bind(id)
        .bind(domain.account_id)
        .bind(domain.name.as_str())
        .bind(domain.kind.as_str())
        .bind(&domain.verification_token)
        .bind(domain.standing.phase.as_str())
        .bind(domain.standing.since.millis())
        .bind(i64::from(domain.standing.progress))
        .json(&domain.standing.missing)
        .bind(requirements.to_string())
        .bind(decision.to_string())
        .bind(domain.name.organizational())
        .bind(skeleton_of(&domain.name))
        .bind(new.look_alikes == LookAlikes::Allowed)
        .bind(now.millis())
        .run(&mut tx)
        .await?;
        if let Some(first) = new.first_check {
            sql("-- add_domain: its first check
                 INSERT INTO domain_checks (domain_id, number, next_at, findings, observations)
                 VALUES ($1, 0, $2, '[]', '[]')")
            .bind(id)
            .bind(first.millis())
            .run(&mut tx)
            .await?;
        }
        super::domain_keys::put(&mut tx, domain.id, &new.keys).await?;
        tx.commit().await?;
        Ok(Ok(()))
    }

    /// Domains of all accounts that were verified, and whose records are gone or wrong.
    pub async fn domains_in_trouble(&self, limit: u32) -> Result<Vec<DomainRow>, StoreError> {
        let rows = sql("-- domains_in_trouble
             SELECT id, account_id, name, kind, verification_token, phase, since, progress, missing,
                    requirements, decision, created_at
             FROM domains WHERE phase IN ('warned', 'degraded')
             ORDER BY id LIMIT $1")
        .bind(limit)
        .all(&self.db.pages)
        .await?;
        rows.iter().map(domain_row).collect()
    }

    /// Domains of an account in the order of their adding, behind `after`.
    pub async fn domains(
        &self,
        account: AccountId,
        after: Option<DomainId>,
        limit: u32,
    ) -> Result<Vec<DomainRow>, StoreError> {
        let rows = sql("-- domains
             SELECT id, account_id, name, kind, verification_token, phase, since, progress, missing,
                    requirements, decision, created_at
             FROM domains WHERE account_id = $1 AND id > $2 ORDER BY id LIMIT $3")
        .bind(account)
        .bind(after.unwrap_or(Identifier::MIN))
        .bind(limit)
        .all(&self.db.readers)
        .await?;
        rows.iter().map(domain_row).collect()
    }

    /// A domain of an account by its name.
    pub async fn domain_named(
        &self,
        account: AccountId,
        name: &DomainName,
    ) -> Result<Option<DomainRow>, StoreError> {
        sql(DOMAIN)
            .bind(account)
            .bind(name.as_str())
            .optional(&self.db.readers)
            .await?
            .map(|row| domain_row(&row))
            .transpose()
    }

    /// Lets a domain look like another account's, and brings its next check forward to `now`.
    pub async fn allow_look_alike(&self, id: DomainId, now: Timestamp) -> Result<(), StoreError> {
        let mut tx = self.db.begin("allow_look_alike").await?;
        sql("-- allow_look_alike\nUPDATE domains SET may_look_alike = TRUE WHERE id = $1")
            .bind(id)
            .run(&mut tx)
            .await?;
        sql("-- allow_look_alike\nUPDATE domain_checks SET next_at = $1 WHERE domain_id = $2")
            .bind(now.millis())
            .bind(id)
            .run(&mut tx)
            .await?;
        tx.commit().await
    }

    /// Removes a domain. Its DKIM keys and checks go with it (ON DELETE CASCADE).
    pub async fn remove_domain(&self, id: DomainId) -> Result<(), StoreError> {
        sql("-- remove_domain\nDELETE FROM domains WHERE id = $1")
            .bind(id)
            .run(&self.db.writer)
            .await
            .map(|_| ())
    }

    /// What adding that domain would see now: a look before its keys are made.
    pub async fn adding_facts(
        &self,
        account: AccountId,
        name: &DomainName,
        originals: &Originals,
    ) -> Result<AddingFacts, StoreError> {
        let mut tx = self.db.snapshot("adding_facts").await?;
        let facts = facts(&mut tx, account, name, originals).await?;
        tx.rollback().await?;
        Ok(facts)
    }

    /// The tokens of other accounts whose proof of a domain of this name is there since `since` or
    /// later.
    pub async fn proofs_of_others(
        &self,
        domain: &SenderDomain,
        since: Timestamp,
    ) -> Result<Vec<String>, StoreError> {
        let rows = sql("-- proofs_of_others
             SELECT d.verification_token FROM domains d JOIN domain_checks c ON c.domain_id = d.id
             WHERE d.name = $1 AND d.account_id <> $2 AND c.owned_since >= $3
               AND d.phase IN (SELECT value FROM json_each($4))")
        .bind(domain.name.as_str())
        .bind(domain.account_id)
        .bind(since.millis())
        .list(&Phase::sending())
        .all(&self.db.readers)
        .await?;
        rows.iter().map(|row| column(row, "verification_token")).collect()
    }

    /// Whether one of those domains is there.
    pub async fn has_one_of(&self, originals: &Originals) -> Result<bool, StoreError> {
        let mut tx = self.db.snapshot("has_one_of").await?;
        let found = has_one_of(&mut tx, originals).await?;
        tx.rollback().await?;
        Ok(found)
    }
}

pub async fn has_one_of(tx: &mut Tx, originals: &Originals) -> Result<bool, StoreError> {
    // The index has domains that are proven by DNS alone, so the kind stands in the text.
    let found = sql("-- has_one_of
         SELECT 1 AS is_there FROM domains
         WHERE kind = 'dns' AND skeleton = $1 AND organizational <> $2 AND account_id <> $3
           AND phase IN (SELECT value FROM json_each($4)) LIMIT 1")
    .bind(&originals.skeleton)
    .bind(&originals.not_organizational)
    .bind(originals.not_of)
    .list(&originals.phases)
    .optional(tx)
    .await?;
    Ok(found.is_some())
}

async fn facts(
    tx: &mut Tx,
    account: AccountId,
    name: &DomainName,
    originals: &Originals,
) -> Result<AddingFacts, StoreError> {
    let row = sql("-- add_domain: may it be added
         SELECT (SELECT count(*) FROM domains WHERE account_id = $1 AND name = $2) AS same,
                (SELECT count(*) FROM domains WHERE account_id = $1) AS have")
    .bind(account)
    .bind(name.as_str())
    .one(&mut *tx)
    .await?;
    let count = |name| column::<i64>(&row, name);
    Ok(AddingFacts {
        is_there: count("same")? > 0,
        domains: u64::try_from(count("have")?).unwrap_or(0),
        has_look_alike: has_one_of(tx, originals).await?,
    })
}

/// The statement that finds a domain of an account.
pub const DOMAIN: &str = "-- domain
    SELECT id, account_id, name, kind, verification_token, phase, since, progress, missing,
           requirements, decision, created_at
    FROM domains WHERE account_id = $1 AND name = $2";

/// Reads a row of [`DOMAIN`].
pub fn domain_row(row: &Row) -> Result<DomainRow, StoreError> {
    let kind: String = column(row, "kind")?;
    let kind = match kind.as_str() {
        "dns" => DomainKind::Dns,
        "sandbox" => DomainKind::Sandbox,
        _ => return Err(inconsistent("domains", "kind", &kind)),
    };
    let phase: String = column(row, "phase")?;
    let phase = Phase::from_name(&phase).ok_or_else(|| inconsistent("domains", "phase", &phase))?;
    let progress: i64 = column(row, "progress")?;
    let progress = u8::try_from(progress)
        .map_err(|_| inconsistent("domains", "progress", &progress.to_string()))?;
    let missing = json(row, "domains", "missing")?;
    let since = Timestamp::from_millis(column(row, "since")?);
    Ok(DomainRow {
        domain: SenderDomain {
            id: column(row, "id")?,
            account_id: column(row, "account_id")?,
            name: parsed(row, "domains", "name")?,
            kind,
            verification_token: column(row, "verification_token")?,
            standing: Standing { phase, since, progress, missing },
            created_at: Timestamp::from_millis(column(row, "created_at")?),
        },
        requirements: json(row, "domains", "requirements")?,
        decision: json(row, "domains", "decision")?,
    })
}

/// Reads a row of [`DOMAIN`] as far as sends need it.
pub fn domain_facts(row: &Row) -> Result<DomainFacts, StoreError> {
    let DomainRow { domain, decision, .. } = domain_row(row)?;
    match judgement(&decision) {
        Some(judgement) => Ok(DomainFacts { domain, judgement }),
        None => Err(inconsistent("domains", "decision", &decision.to_string())),
    }
}

/// The domain policy's decision as messages record it. The members beside `kind`, `verdict`, `reason` and `micros`
/// identify the component.
fn judgement(decision: &Value) -> Option<PluginDecision> {
    let mut members = decision.as_object()?.clone();
    let mut take = |name| members.shift_remove(name).unwrap_or_default();
    let (kind, verdict, reason) = (take("kind"), take("verdict"), take("reason"));
    let micros = take("micros").as_u64()?;
    Some(PluginDecision {
        kind: (kind == "domain").then_some("domain")?,
        identity: Value::Object(members).to_string().into(),
        verdict: verdict.as_str()?.to_owned().into(),
        reason: reason.as_str().map(str::to_owned),
        micros,
        blank: Vec::new(),
        locale: None,
    })
}
