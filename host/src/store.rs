//! Where everything is kept. The hot path reads through [`facts`]; `commit` writes through the store.
//!
//! A file for each noun: its statements stand beside the rows that they read. What is decided above the store
//! comes in as data or as a function; what the database is, only `database` and `embedded` know.

mod accounts;
mod attempts;
mod audit;
mod back_off;
mod cancel;
mod commit;
mod database;
mod decisions;
mod deletion;
mod delivery_hold;
mod domain_checks;
mod domain_keys;
mod domains;
mod drive_while;
pub mod embedded;
mod error;
mod event_kind;
mod events;
mod factors;
pub mod facts;
mod files;
mod gauges;
mod grants;
mod identities;
mod inbox;
mod integrity;
mod invitations;
mod kept_answers;
mod keys;
mod lock_rows;
mod maintenance;
mod memberships;
mod message_details;
mod message_pages;
mod nodes;
mod one_time_links;
mod outcome;
mod owners;
mod place;
mod plugin_slots;
mod queue;
mod queue_view;
mod recheck_at_lease;
pub mod records;
mod recover_leases;
mod reports;
mod retention;
mod retry;
mod samples;
mod scan_batches;
pub mod seal;
mod sealed_values;
mod sessions;
mod settle;
mod sts;
mod suppressions;
mod templates;
mod test_recipients;
mod tries;
mod upgrade;
mod upkeep;
mod users;
mod webhooks;

#[cfg(test)]
pub(crate) mod meter;
#[cfg(test)]
pub(crate) mod test_data;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::clock::Timestamp;
use crate::id::AccountId;
pub use accounts::{AccountRow, LedgerRow, SentInHour, SentLately};
pub use audit::{ActorId, AuditRow};
pub use cancel::Cancellation;
pub use decisions::{
    DecisionFilter, DecisionPage, DecisionRef, DecisionRow, InvalidDecisionRef, RefusalRecord,
};
pub use deletion::{CanceledOf, DeletedMessages, SandboxMail};
pub use delivery_hold::HeldMessage;
pub use domain_checks::{CheckRow, Checked, DomainDetails, OtherDomains, Responsiveness};
pub use domain_keys::{PublishedKey, SealedKey, SigningKeys};
pub use domains::{AddingFacts, DomainFacts, DomainRow, NewDomain};
pub use drive_while::drive_while;
pub use embedded::SPARE_BYTES;
pub use error::StoreError;
pub use event_kind::EventKind;
pub use events::EventRow;
pub use factors::{FactorRow, NewFactor};
pub use files::{bytes_in_use, copy_other_file, file_damage, free_disk};
pub use gauges::{FileGauges, Gauges};
pub use grants::{Granted, NewGrant};
pub use inbox::{MailBounds, MailRow, NewMail, WholeMailRow};
pub use invitations::{NewInvitation, RecentInvitations};
pub use kept_answers::{EarlierSubmit, OnceForm, Origin};
pub use maintenance::{Maintenance, MaintenanceDelivery};
pub use memberships::{
    Joined, JoinedBy, JoiningFacts, MemberChange, MemberFacts, MemberRow, MembershipRow,
    MembershipState,
};
pub use message_details::{AttemptRow, MessageDetails, StoredMessage};
pub use message_pages::{MessageFilter, MessagePage, MessageRow};
pub use nodes::{
    NodePhase, NodeRecord, NodeRow, NodeState, NodeTime, Registered, Renewal, Renewed, is_rolling,
};
pub use one_time_links::{LinkPurpose, LinkRow};
pub use owners::{AccountOwners, Owner};
pub use place::Place;
pub use plugin_slots::PluginSlotRow;
pub use queue_view::{
    DestinationRow, LastAttempt, MAX_COUNTED, MAX_LISTED_MESSAGES, Queued, WaitingGroup,
};
pub use reports::{NewReport, Recorded, ReportKind, Reported};
pub use retention::{FinishedPlace, Walked};
pub use retry::{RetryFilter, RetryOutcome};
pub use samples::{SampleOutcome, SampleRecord, SampleRow, sample_identity};
pub use sealed_values::{ResealedValue, SealedColumn, SealedValue};
pub use sessions::SessionRow;
pub use sts::StsRow;
pub use suppressions::{Suppressed, SuppressionPage, SuppressionRow};
pub use templates::{
    AddingTemplateFacts, DraftRow, NewTemplate, NewVersion, Publication, Published, Republication,
    TemplateFailures, TemplateFilter, TemplateOwner, TemplateRow, UserRow, VersionRow,
};
pub use test_recipients::{
    AskingFacts, Confirmation, ConfirmationMail, RecentMails, TestRecipientRow,
};
pub use users::{Credentials, NewUser, PersonRow};
pub use webhooks::{
    Backlog, DeliveryAttempt, DeliveryPage, DeliveryRow, DeliveryState, DueDelivery,
    EndpointHistory, EventSubject, MAX_COUNTED_DELIVERIES, MessageDelivery, MessageSubject,
    NewDelivery, NewWebhook, NextAttempt, PublishedEvent, TestDelivery, Waiting, WebhookAttempt,
    WebhookChange, WebhookCounts, WebhookOwner, WebhookRow, WebhookState,
};

use commit::KeyUse;
use database::{Database, Row, Statement, column, sql};
pub use database::{Integrity, transfer};
use events::EventIds;
use identities::Identities;

const REVISION: &str = "-- revision\nSELECT value FROM revision";

/// The store. Cheap to clone; all clones share its connections.
#[derive(Debug, Clone)]
pub struct Store {
    db: Database,
    event_ids: EventIds,
    /// What is kept in memory beside the database.
    identities: Arc<Identities>,
    key_use: Arc<KeyUse>,
}

impl Store {
    /// Opens the database, and makes it where it is missing. The schema of one on PostgreSQL is brought up to date.
    ///
    /// # Errors
    /// The database cannot be opened, was written by another version of the server, or was moved.
    pub async fn open(place: impl Into<Place>) -> Result<Self, StoreError> {
        Self::over(database::open(&place.into()).await?).await
    }

    async fn over(db: Database) -> Result<Self, StoreError> {
        transfer::marks::refuse(&db.readers).await?;
        let salt = sql("-- event_salt\nSELECT value FROM upkeep WHERE name = 'event_salt'")
            .one(&db.readers)
            .await?;
        let identities = Identities::default();
        identities.read(&db.readers).await?;
        Ok(Self {
            event_ids: EventIds::new(column(&salt, "value")?),
            identities: Arc::new(identities),
            key_use: Arc::default(),
            db,
        })
    }

    /// Whether [`Self::open`] could open this: a database, and not of a newer version of the server. Changes
    /// nothing.
    pub async fn check(place: &Place) -> Result<(), StoreError> {
        database::check(place).await
    }

    /// What a server has noted under a name in a database that is not opened. Changes nothing.
    pub async fn noted_in(place: &Place, name: &str) -> Result<Option<String>, StoreError> {
        database::noted(place, name).await
    }

    /// Whether the database can be written: a full disk can still be read.
    pub async fn probe(&self, now: Timestamp) -> Result<(), StoreError> {
        let mut tx = self.db.begin_beside("probe").await?;
        let probe = sql("-- probe\nUPDATE probe SET written_at = $1 WHERE id = 1");
        probe.bind(now.millis()).run(&mut tx).await?;
        tx.commit().await
    }

    /// Refuses at once where the database is known to be unreachable: whoever asks this first does not queue behind a read
    /// that gets no answer.
    pub fn look_for_primary(&self) -> Result<(), StoreError> {
        self.db.look("look_for_primary")
    }

    /// The revision of the facts.
    pub async fn revision(&self) -> Result<i64, StoreError> {
        column(&sql(REVISION).one(&self.db.revisions).await?, "value")
    }

    /// Up to `limit` accounts of which a fact has changed since a revision.
    async fn accounts_changed_since(
        &self,
        revision: i64,
        limit: usize,
    ) -> Result<Vec<AccountId>, StoreError> {
        let rows = sql("-- accounts_changed_since
             SELECT id FROM accounts WHERE facts_revision > $1 LIMIT $2")
        .bind(revision)
        .bind(i64::try_from(limit).unwrap_or(i64::MAX))
        .all(&self.db.readers)
        .await?;
        rows.iter().map(|row| column(row, "id")).collect()
    }

    /// Reads at most one row of an account, together with the revision that last changed one of its facts.
    async fn read_fact(
        &self,
        account: AccountId,
        statement: Statement<'_>,
    ) -> Result<(i64, Option<Row>), StoreError> {
        let mut tx = self.db.snapshot("read_fact").await?;
        let changed = sql("-- facts_revision\nSELECT facts_revision FROM accounts WHERE id = $1");
        let Some(changed) = changed.bind(account).optional(&mut tx).await? else {
            tx.rollback().await?;
            return Ok((0, None));
        };
        let row = statement.optional(&mut tx).await?;
        tx.rollback().await?;
        Ok((column(&changed, "facts_revision")?, row))
    }

    /// Follows the primary among the hosts of the database for ever: a standby that is promoted is found within seconds,
    /// and where no host is a primary, requests are refused at once. Ends at once where the database is a file.
    pub async fn watch_primary(&self) {
        self.db.watch_primary().await;
    }

    /// Closes all connections and checkpoints the write-ahead log into the file.
    pub async fn close(&self) {
        self.db.close().await;
    }
}
