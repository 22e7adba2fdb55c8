//! What becomes of mail for the listener: a report changes the message that it is about, everything
//! else is counted and let go.
//!
//! The return path tells which message it is; a report's own words only tell what happened to it.

use std::sync::Arc;
use std::time::Duration;

use super::{Addresses, Mail, Recipient};
use crate::clock::Clock;
use crate::id::MessageId;
use crate::mail::report::{self, Action, Complaint, ComplaintKind, RecipientStatus, Report};
use crate::message::status::Judgement;
use crate::store::records::{NewSuppression, SuppressionKind};
use crate::store::sqlite::{NewReport, Recorded, ReportKind, Reported};
use crate::store::{Store, StoreError};

#[cfg(test)]
mod tests;

/// What the operator decides about reports.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// How long a dead address stays suppressed; none for ever.
    pub suppressed_for: Option<Duration>,
    /// How long whoever complained stays suppressed; none for ever.
    pub complaints_for: Option<Duration>,
}

/// Who takes reports.
#[derive(Debug)]
pub struct Intake {
    store: Store,
    clock: Clock,
    addresses: Arc<Addresses>,
    rules: Rules,
}

/// A complaint that says what the recipient thinks of the message.
const COMPLAINTS: [ComplaintKind; 2] = [ComplaintKind::Abuse, ComplaintKind::Fraud];

impl Intake {
    /// Takes reports about the messages of a store.
    #[must_use]
    pub fn new(store: Store, clock: Clock, addresses: Arc<Addresses>, rules: Rules) -> Self {
        Self { store, clock, addresses, rules }
    }

    /// Takes a message: when this answers, all that it reports is written down.
    ///
    /// # Errors
    /// The database failed; the message must come again, and may.
    pub async fn take(&self, mail: &Mail) -> Result<(), StoreError> {
        let report = report::parse(&mail.data, mail.sender.as_ref());
        for recipient in &mail.recipients {
            match (recipient, &report) {
                (Recipient::ReturnPath(id), Some(Report::Delivery(statuses))) => {
                    self.delivery(*id, statuses).await?;
                }
                (Recipient::ReturnPath(id), Some(Report::Complaint(complaint))) => {
                    let reported = self.store.reported(*id).await?;
                    self.complaint(reported, complaint.kind).await?;
                }
                (Recipient::Feedback, Some(Report::Complaint(complaint))) => {
                    let reported = self.complained_about(complaint).await?;
                    self.complaint(reported, complaint.kind).await?;
                }
                (Recipient::Postmaster, _) => {
                    count("postmaster");
                    tracing::info!("a message for postmaster was taken and let go");
                }
                (Recipient::ReturnPath(id), None) => {
                    count("unrecognised");
                    tracing::info!(message = %id, "what came to its return path is no report");
                }
                (Recipient::Feedback, Some(Report::Delivery(_)) | None) => {
                    count("unrecognised");
                    tracing::info!("what came to the address for complaints is none");
                }
            }
        }
        Ok(())
    }

    async fn delivery(
        &self,
        id: MessageId,
        statuses: &[RecipientStatus],
    ) -> Result<(), StoreError> {
        let Some(reported) = self.store.reported(id).await? else {
            count("unknown");
            return Ok(());
        };
        let Some((status, judgement)) = report::failure(statuses, &reported.recipient) else {
            let delayed = statuses.iter().any(|it| it.action == Action::Delayed);
            count(if delayed { "delayed" } else { "delivered" });
            return Ok(());
        };
        let reason = status.reason();
        let suppression = match judgement {
            Judgement::Hard => Some(self.suppression(
                &reported,
                SuppressionKind::Bounce,
                &reason,
                self.rules.suppressed_for,
            )),
            Judgement::Refused | Judgement::Temporary => None,
        };
        let new = NewReport { message_id: id, kind: ReportKind::Bounce, reason, suppression };
        self.record(&new, "failed").await
    }

    async fn complaint(
        &self,
        reported: Option<Reported>,
        kind: ComplaintKind,
    ) -> Result<(), StoreError> {
        if !COMPLAINTS.contains(&kind) {
            count(kind.word());
            return Ok(());
        }
        let Some(reported) = reported else {
            count("unknown");
            return Ok(());
        };
        let reason = format!("its recipient has reported it as {}", kind.word());
        let suppression = self.suppression(
            &reported,
            SuppressionKind::Complaint,
            &reason,
            self.rules.complaints_for,
        );
        let new = NewReport {
            message_id: reported.message_id,
            kind: ReportKind::Complaint,
            reason,
            suppression: Some(suppression),
        };
        self.record(&new, "complaint").await
    }

    async fn record(&self, new: &NewReport, kind: &'static str) -> Result<(), StoreError> {
        match self.store.record_report(new, self.clock.now()).await? {
            Recorded::Now => {
                count(kind);
                let suppressed = new.suppression.is_some();
                tracing::info!(message = %new.message_id, kind, suppressed, "a report was written down");
            }
            Recorded::Before => count("repeated"),
        }
        Ok(())
    }

    fn suppression(
        &self,
        reported: &Reported,
        kind: SuppressionKind,
        reason: &str,
        lasts: Option<Duration>,
    ) -> NewSuppression {
        let now = self.clock.now();
        NewSuppression {
            account_id: reported.account_id,
            address: reported.recipient.folded(),
            kind,
            reason: reason.to_owned(),
            message_id: Some(reported.message_id),
            expires_at: lasts.map(|it| now.after(it)),
        }
    }

    /// The message that a complaint is about: by its return path, else by its identifier, whose 80
    /// random bits nobody knows who has not got the message.
    async fn complained_about(
        &self,
        complaint: &Complaint,
    ) -> Result<Option<Reported>, StoreError> {
        let mut paths = complaint.return_paths.iter();
        if let Some(id) = paths.find_map(|it| self.addresses.verp.read(it.local())) {
            return self.store.reported(id).await;
        }
        let Some((ulid, host)) = complaint.message_id.as_deref().and_then(|it| it.split_once('@'))
        else {
            return Ok(None);
        };
        let Ok(id) = format!("msg_{}", ulid.to_ascii_uppercase()).parse() else { return Ok(None) };
        let reported = self.store.reported(id).await?;
        Ok(reported.filter(|it| it.author.host().eq_ignore_ascii_case(host)))
    }
}

fn count(kind: &'static str) {
    metrics::counter!("waxwing_reports_total", "kind" => kind).increment(1);
}
