//! Bounces and complaints that come back for messages that have left. Each is written once: state, event and suppression
//! in one transaction.

use super::database::{Tx, column, parsed, sql};
use super::event_kind::EventKind;
use super::events::{self, About, StateChange, record_event};
use super::settle::leave_queue;
use super::{Store, suppressions};
use crate::clock::Timestamp;
use crate::id::{AccountId, MessageId};
use crate::message::address::EmailAddress;
use crate::message::state::MessageState;
use crate::store::StoreError;
use crate::store::records::{BounceFacts, NewSuppression};

#[cfg(test)]
mod tests;

/// A message, as far as a report is about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reported {
    pub message_id: MessageId,
    pub account_id: AccountId,
    /// The author: the address in From.
    pub author: EmailAddress,
    /// Envelope recipient.
    pub recipient: EmailAddress,
}

/// A report to write down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewReport {
    /// The message that it is about.
    pub message_id: MessageId,
    pub kind: ReportKind,
    /// The text of the report.
    pub reason: String,
    /// What puts the recipient on the account's suppression list.
    pub suppression: Option<NewSuppression>,
    /// What webhooks get of a bounce.
    pub facts: Option<BounceFacts>,
}

/// What a report says of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReportKind {
    /// It did not arrive.
    Bounce,
    /// Its recipient does not want it.
    Complaint,
}

/// What became of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    /// It is written down.
    Now,
    /// It changes nothing: it came before, or the message is not one that can bounce.
    Before,
}

impl Store {
    /// The message that a report is about; none if it is not kept any more, or never was.
    pub async fn reported(&self, id: MessageId) -> Result<Option<Reported>, StoreError> {
        let row = sql("-- reported
             SELECT id, account_id, sender, recipient FROM messages WHERE id = $1")
        .bind(id)
        .optional(&self.db.readers)
        .await?;
        row.map(|row| {
            Ok(Reported {
                message_id: column(&row, "id")?,
                account_id: column(&row, "account_id")?,
                author: parsed(&row, "messages", "sender")?,
                recipient: parsed(&row, "messages", "recipient")?,
            })
        })
        .transpose()
    }

    /// Writes a report down, once: a second one changes nothing.
    ///
    /// # Errors
    /// The database failed; nothing was written then.
    pub async fn record_report(
        &self,
        report: &NewReport,
        now: Timestamp,
    ) -> Result<Recorded, StoreError> {
        let mut tx = self.db.begin("record_report").await?;
        let recorded = match report.kind {
            ReportKind::Bounce => bounce(&mut tx, report, now).await?,
            ReportKind::Complaint => complain(&mut tx, report, now).await?,
        };
        if recorded == Recorded::Before {
            return Ok(recorded);
        }
        if let Some(suppression) = &report.suppression {
            suppressions::put(&mut tx, suppression, now).await?;
        }
        if let Some(facts) = &report.facts {
            events::add_bounce_facts(&mut tx, report.message_id, facts, now).await?;
        }
        tx.commit().await?;
        Ok(recorded)
    }
}

/// Ends a message that has left. One that is still tried is tried no more: its attempts may have
/// succeeded without our hearing of it.
async fn bounce(tx: &mut Tx, report: &NewReport, now: Timestamp) -> Result<Recorded, StoreError> {
    let id = report.message_id;
    let row = sql("-- bounce
         UPDATE messages SET state = $5, reason = $2, updated_at = $3
         WHERE id = $1 AND state IN (SELECT value FROM json_each($4))
         RETURNING account_id")
    .bind(id)
    .bind(&report.reason)
    .bind(now.millis())
    .list(&MessageState::all_that(MessageState::can_bounce))
    .bind(MessageState::Bounced.as_str())
    .optional(&mut *tx)
    .await?;
    let Some(row) = row else { return Ok(Recorded::Before) };
    leave_queue(tx, &[id]).await?;
    let change = StateChange {
        message: report.message_id,
        account: column(&row, "account_id")?,
        state: MessageState::Bounced,
        reason: &report.reason,
    };
    events::record_changes(tx, std::iter::once(change), now).await?;
    Ok(Recorded::Now)
}

/// Marks a message: a complaint is no state, for the message has arrived.
async fn complain(tx: &mut Tx, report: &NewReport, now: Timestamp) -> Result<Recorded, StoreError> {
    let id = report.message_id;
    let row = sql("-- complain
         UPDATE messages SET complained_at = $2
         WHERE id = $1 AND complained_at IS NULL
           AND state IN (SELECT value FROM json_each($3))
         RETURNING account_id")
    .bind(id)
    .bind(now.millis())
    .list(&MessageState::all_that(MessageState::can_be_complained_about))
    .optional(&mut *tx)
    .await?;
    let Some(row) = row else { return Ok(Recorded::Before) };
    let account: AccountId = column(&row, "account_id")?;
    let (kind, about) = (EventKind::Complained, About::of(id));
    record_event(tx, kind, about, Some(account), &report.reason, now).await?;
    Ok(Recorded::Now)
}
