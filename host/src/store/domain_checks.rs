//! The checks of sender domains: which are due, what was seen, and what came of it.

use std::time::Duration;

use serde_json::Value;

use super::Store;
use super::database::{Row, Tx, column, either, json, sql};
use super::domain_keys;
use super::domains::{DomainRow, domain_row, has_one_of};
use super::events::{About, EventRow, record_event};
use crate::clock::Timestamp;
use crate::domain::key::DkimKey;
use crate::domain::look_alike::{LookAlikes, Originals, skeleton_of};
use crate::domain::state::Phase;
use crate::domain::verification::DomainEvent;
use crate::id::{AccountId, DomainId, Identifier};
use crate::store::StoreError;

/// A domain with its last check and its keys.
#[derive(Debug, Clone)]
pub struct DomainDetails {
    /// The domain and its last judgement.
    pub row: DomainRow,
    /// Its last check; none for a sandbox domain.
    pub check: Option<CheckRow>,
    pub keys: Vec<DkimKey>,
    /// Whether it may be as another account's.
    pub look_alikes: LookAlikes,
}

/// The last check of a domain.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckRow {
    /// How many were written down before.
    pub number: i64,
    /// When the next one is due; none where only the account holder asks for one.
    pub next_at: Option<Timestamp>,
    /// When it was made; none before the first.
    pub checked_at: Option<Timestamp>,
    /// Since when the proof of ownership is there without a gap.
    pub owned_since: Option<Timestamp>,
    /// When the proof of ownership was last seen.
    pub owned_at: Option<Timestamp>,
    /// Since when required records could not be seen.
    pub unclear_since: Option<Timestamp>,
    /// The policy's findings.
    pub findings: Value,
    /// The look-ups with their answers.
    pub observations: Value,
    /// Why there was no judgement.
    pub failure: Option<String>,
}

/// How the name servers of a domain answered at its last check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Responsiveness {
    /// All lookups were answered, or the domain was never checked.
    Normal,
    /// The name servers are slow or silent, so a check takes long.
    Slow,
}

/// What a check has changed.
#[derive(Debug)]
pub struct Checked {
    /// The domain, where it or its judgement is another one now.
    pub row: Option<DomainRow>,
    /// The check; its `number` is that of the one before.
    pub check: CheckRow,
    /// All keys of the domain, where one was added, has moved or was dropped.
    pub keys: Option<Vec<DkimKey>>,
    /// What happened to the domain, and why.
    pub event: Option<(DomainEvent, String)>,
    pub others: OtherDomains,
}

/// What a check does to the domains of other accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OtherDomains {
    /// Nothing.
    Untouched,
    /// Nothing is written where one of `originals` is there. Those of the same name in the phases of `recheck` are
    /// checked at once.
    Contested { originals: Option<Originals>, recheck: &'static [Phase] },
}

impl Store {
    /// A domain with its last check and its keys; none where there is no such domain.
    pub async fn domain_details(&self, id: DomainId) -> Result<Option<DomainDetails>, StoreError> {
        let mut tx = self.db.snapshot("domain_details").await?;
        let row = sql("-- domain_details
             SELECT d.id, d.account_id, d.name, d.kind, d.verification_token, d.phase, d.since, d.progress, d.missing,
                    d.requirements, d.decision, d.may_look_alike, d.created_at, c.number, c.next_at, c.checked_at, c.owned_since, c.owned_at,
                    c.unclear_since, c.findings, c.observations, c.failure
             FROM domains d LEFT JOIN domain_checks c ON c.domain_id = d.id WHERE d.id = $1")
        .bind(id)
        .optional(&mut tx)
        .await?;
        let keys = domain_keys::keys(&mut tx, id).await?;
        tx.rollback().await?;
        let Some(row) = row else { return Ok(None) };
        let look_alikes =
            if column(&row, "may_look_alike")? { LookAlikes::Allowed } else { LookAlikes::Refused };
        let (row, check) = (domain_row(&row)?, check_row(&row)?);
        Ok(Some(DomainDetails { row, check, keys, look_alikes }))
    }

    /// Takes up to `limit` domains that are due; each is due again at `until` if nothing comes of it.
    ///
    /// # Errors
    /// The database failed; nothing is taken then.
    pub async fn due_domains(
        &self,
        responsiveness: Responsiveness,
        limit: u32,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<Vec<DomainId>, StoreError> {
        let statement = match responsiveness {
            Responsiveness::Normal => {
                "-- due_domains: clear
                 UPDATE domain_checks SET next_at = $1 WHERE domain_id IN
                     (SELECT domain_id FROM domain_checks
                      WHERE next_at <= $2 AND unclear_since IS NULL ORDER BY next_at LIMIT $3)
                 RETURNING domain_id"
            }
            Responsiveness::Slow => {
                "-- due_domains: unclear
                 UPDATE domain_checks SET next_at = $1 WHERE domain_id IN
                     (SELECT domain_id FROM domain_checks
                      WHERE next_at <= $2 AND unclear_since IS NOT NULL ORDER BY next_at LIMIT $3)
                 RETURNING domain_id"
            }
        };
        let rows = sql(statement)
            .bind(until.millis())
            .bind(now.millis())
            .bind(limit)
            .all(&self.db.writer)
            .await?;
        rows.iter().map(|row| column(row, "domain_id")).collect()
    }

    /// When the next check is due; none where none is.
    pub async fn next_domain_check(&self) -> Result<Option<Timestamp>, StoreError> {
        let row = sql("-- next_domain_check
             SELECT min(due) AS due FROM
                 (SELECT min(next_at) AS due FROM domain_checks WHERE unclear_since IS NULL
                  UNION ALL
                  SELECT min(next_at) FROM domain_checks WHERE unclear_since IS NOT NULL) AS next")
        .one(&self.db.readers)
        .await?;
        Ok(column::<Option<i64>>(&row, "due")?.map(Timestamp::from_millis))
    }

    /// Writes a check with all that it has changed, in one transaction. Answers whether it was
    /// written: it is not when the domain is gone, was checked by somebody else meanwhile, or would be
    /// verified at the same moment as one of those that it must not be mistaken for.
    ///
    /// # Errors
    /// The database failed; nothing was written.
    pub async fn record_check(
        &self,
        id: DomainId,
        checked: &Checked,
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut tx = self.db.begin("record_check").await?;
        let check = &checked.check;
        let millis = |at: Option<Timestamp>| at.map(Timestamp::millis);
        let written = sql(
            "-- record_check
             UPDATE domain_checks SET number = number + 1, next_at = $1, checked_at = $2,
                    owned_since = $3, owned_at = $4, unclear_since = $5, findings = $6, observations = $7, failure = $8
             WHERE domain_id = $9 AND number = $10",
        )
        .bind(millis(check.next_at))
        .bind(millis(check.checked_at))
        .bind(millis(check.owned_since))
        .bind(millis(check.owned_at))
        .bind(millis(check.unclear_since))
        .bind(check.findings.to_string())
        .bind(check.observations.to_string())
        .bind(&check.failure)
        .bind(id)
        .bind(check.number)
        .run(&mut tx)
        .await?;
        if written == 0 {
            return Ok(false);
        }
        if let Some(row) = &checked.row {
            put_judgement(&mut tx, row).await?;
        }
        if let Some(keys) = &checked.keys {
            domain_keys::put(&mut tx, id, keys).await?;
        }
        if let OtherDomains::Contested { originals, recheck } = &checked.others {
            if let Some(originals) = originals
                && has_one_of(&mut tx, originals).await?
            {
                return Ok(false);
            }
            recheck_others(&mut tx, id, recheck, now).await?;
        }
        if let Some((event, detail)) = &checked.event {
            put_event(&mut tx, id, *event, detail, now).await?;
        }
        tx.commit().await?;
        Ok(true)
    }

    /// Brings checks that are planned for later than `latest` forward to it: a clock that was wrong
    /// must not keep a domain from being checked.
    pub async fn clamp_domain_checks(&self, latest: Timestamp) -> Result<(), StoreError> {
        for statement in [
            "-- clamp_domain_checks: clear
             UPDATE domain_checks SET next_at = $1 WHERE next_at > $1 AND unclear_since IS NULL",
            "-- clamp_domain_checks: unclear
             UPDATE domain_checks SET next_at = $1 WHERE next_at > $1 AND unclear_since IS NOT NULL",
        ] {
            sql(statement)
                .bind(latest.millis())
                .run(&self.db.writer)
                .await?;
        }
        Ok(())
    }

    /// Brings planned checks of up to `batch` domains behind `after` forward, and discards those that
    /// are under way: each is due at some time within `over`. Answers the last of them; none at the end.
    pub async fn hasten_domain_checks(
        &self,
        after: Option<DomainId>,
        batch: u32,
        over: Duration,
        now: Timestamp,
    ) -> Result<Option<DomainId>, StoreError> {
        let after = after.unwrap_or(Identifier::MIN);
        let row = sql(
            "-- hasten_domain_checks: a batch
             SELECT max(domain_id) AS last FROM
                 (SELECT domain_id FROM domain_checks WHERE domain_id > $1 ORDER BY domain_id LIMIT $2) AS batch",
        )
        .bind(after)
        .bind(batch)
        .one(&self.db.readers)
        .await?;
        let Some(last) = column::<Option<DomainId>>(&row, "last")? else { return Ok(None) };
        sql(either(
            "-- hasten_domain_checks
             UPDATE domain_checks
             SET number = number + 1, next_at = min(next_at, $1 + abs(random() % $2))
             WHERE domain_id > $3 AND domain_id <= $4 AND next_at IS NOT NULL",
            "-- postgres: hasten_domain_checks
             UPDATE domain_checks
             SET number = number + 1, next_at = least(next_at, $1 + CAST(floor(random() * CAST($2 AS BIGINT)) AS BIGINT))
             WHERE domain_id > $3 AND domain_id <= $4 AND next_at IS NOT NULL",
        ))
        .bind(now.millis())
        .bind(i64::try_from(over.as_millis()).unwrap_or(i64::MAX).max(1))
        .bind(after)
        .bind(last)
        .run(&self.db.writer)
        .await?;
        Ok(Some(last))
    }

    /// How many domains are checked.
    pub async fn count_domain_checks(&self) -> Result<u32, StoreError> {
        let row = sql("-- count_domain_checks\nSELECT count(*) AS domains FROM domain_checks")
            .one(&self.db.readers)
            .await?;
        Ok(u32::try_from(column::<i64>(&row, "domains")?).unwrap_or(u32::MAX))
    }

    /// What happened to a domain last, newest first.
    pub async fn domain_events(
        &self,
        id: DomainId,
        limit: u32,
    ) -> Result<Vec<EventRow>, StoreError> {
        let rows = sql("-- domain_events
             SELECT sequence, id, type, detail, created_at FROM events WHERE subject = $1
             ORDER BY sequence DESC LIMIT $2")
        .bind(id)
        .bind(limit)
        .all(&self.db.readers)
        .await?;
        rows.iter().map(|row| self.event_row(row)).collect()
    }
}

async fn put_judgement(tx: &mut Tx, row: &DomainRow) -> Result<(), StoreError> {
    let standing = &row.domain.standing;
    sql("-- record_check: the judgement
         UPDATE domains SET phase = $1, since = $2, progress = $3, missing = $4, requirements = $5,
                            decision = $6, organizational = $7, skeleton = $8
         WHERE id = $9")
    .bind(standing.phase.as_str())
    .bind(standing.since.millis())
    .bind(i64::from(standing.progress))
    .json(&standing.missing)
    .bind(row.requirements.to_string())
    .bind(row.decision.to_string())
    .bind(row.domain.name.organizational())
    .bind(skeleton_of(&row.domain.name))
    .bind(row.domain.id)
    .run(&mut *tx)
    .await
    .map(|_| ())
}

async fn put_event(
    tx: &mut Tx,
    id: DomainId,
    event: DomainEvent,
    detail: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let row = sql("-- record_check: whose it is\nSELECT account_id FROM domains WHERE id = $1")
        .bind(id)
        .one(&mut *tx)
        .await?;
    let account: AccountId = column(&row, "account_id")?;
    record_event(tx, event.into(), About::of(id), Some(account), detail, now).await
}

/// Makes the other accounts' domains of this name due that are in one of these phases.
async fn recheck_others(
    tx: &mut Tx,
    id: DomainId,
    phases: &[Phase],
    now: Timestamp,
) -> Result<(), StoreError> {
    sql("-- record_check: who else has this name
         UPDATE domain_checks SET next_at = $1, number = number + 1 WHERE domain_id IN
             (SELECT other.id FROM domains own JOIN domains other USING (name)
              WHERE own.id = $2 AND other.id <> own.id
                AND other.phase IN (SELECT value FROM json_each($3)))")
    .bind(now.millis())
    .bind(id)
    .list(&phases.iter().map(|it| it.as_str()).collect::<Vec<_>>())
    .run(tx)
    .await
    .map(|_| ())
}

/// None where the domain has no checks.
fn check_row(row: &Row) -> Result<Option<CheckRow>, StoreError> {
    let Some(number) = column::<Option<i64>>(row, "number")? else { return Ok(None) };
    let at = |name| column::<Option<i64>>(row, name).map(|it| it.map(Timestamp::from_millis));
    Ok(Some(CheckRow {
        number,
        next_at: at("next_at")?,
        checked_at: at("checked_at")?,
        owned_since: at("owned_since")?,
        owned_at: at("owned_at")?,
        unclear_since: at("unclear_since")?,
        findings: json(row, "domain_checks", "findings")?,
        observations: json(row, "domain_checks", "observations")?,
        failure: column(row, "failure")?,
    }))
}
