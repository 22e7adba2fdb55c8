//! Processes mail for the listener: a report changes the message that it is about, everything else is
//! counted and discarded.
//!
//! The return path tells which message it is; a report's own text only shows what happened to it. Who could
//! forge a report, and what that would change: `REPORTS.md`.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::reporters::{KeyUnseen, Reporters};
use super::{Addresses, Mail, Recipient};
use crate::clock::{Clock, Timestamp};
use crate::id::MessageId;
use crate::mail::dkim::{PublicKey, Signature, signatures};
use crate::mail::field::Message;
use crate::mail::report::{self, Action, Complaint, ComplaintKind, RecipientStatus, Report};
use crate::message::status::ReplyClass;
use crate::store::records::{BounceClass, BounceFacts, NewSuppression, SuppressionKind};
use crate::store::{NewReport, Recorded, ReportKind, Reported, Store, StoreError};

#[cfg(test)]
mod tests;

/// What the operator decides about reports.
#[derive(Debug, Clone, Copy)]
pub struct SuppressionSettings {
    /// How long a dead address stays suppressed; none for ever.
    pub bounce_suppression: Option<Duration>,
    /// How long whoever complained stays suppressed; none for ever.
    pub complaint_suppression: Option<Duration>,
}

/// Processes reports about the messages of a store.
#[derive(Debug)]
pub struct Intake {
    store: Store,
    clock: Clock,
    addresses: Arc<Addresses>,
    reporters: Reporters,
    rules: SuppressionSettings,
}

/// Why a message could not be processed; the reply lets its sender retry.
#[derive(Debug, thiserror::Error)]
pub enum IntakeError {
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Whether its reporter is one that the operator trusts cannot be seen now.
    #[error(transparent)]
    Key(#[from] KeyUnseen),
}

/// What says that a complaint about a message comes from somebody who has got it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Proof {
    /// The message's own return path, which only this server can make.
    ReturnPath,
    /// The enclosed header has our signature.
    Signature,
    /// The operator trusts whoever reports.
    Reporter,
}

impl Proof {
    fn as_str(self) -> &'static str {
        match self {
            Self::ReturnPath => "return-path",
            Self::Signature => "signature",
            Self::Reporter => "reporter",
        }
    }
}

/// A complaint that says what the recipient thinks of the message.
const COMPLAINTS: [ComplaintKind; 2] = [ComplaintKind::Abuse, ComplaintKind::Fraud];

impl Intake {
    #[must_use]
    pub fn new(
        store: Store,
        clock: Clock,
        addresses: Arc<Addresses>,
        reporters: Reporters,
        rules: SuppressionSettings,
    ) -> Self {
        Self { store, clock, addresses, reporters, rules }
    }

    /// Records what a message from that address reports; all of it is stored when this returns.
    pub async fn process(&self, mail: &Mail, peer: IpAddr) -> Result<(), IntakeError> {
        let report = report::parse(&mail.data, mail.sender.as_ref());
        for recipient in &mail.recipients {
            match (recipient, &report) {
                (Recipient::ReturnPath(id), Some(Report::Delivery(statuses))) => {
                    self.delivery(*id, statuses).await?;
                }
                (Recipient::ReturnPath(id), Some(Report::Complaint(complaint))) => {
                    let reported = self.store.reported(*id).await?;
                    self.complaint(reported, complaint.kind, Proof::ReturnPath).await?;
                }
                (Recipient::Feedback, Some(Report::Complaint(complaint))) => {
                    self.feedback(mail, complaint, peer).await?;
                }
                (Recipient::Postmaster, _) => {
                    count("postmaster");
                    tracing::info!(
                        "mail to postmaster at the [bounces] listener was accepted and discarded"
                    );
                }
                (Recipient::ReturnPath(id), None) => {
                    count("unrecognised");
                    tracing::info!(message_id = %id, "mail to a message's return path is not a report; discarded");
                }
                (Recipient::Feedback, Some(Report::Delivery(_)) | None) => {
                    count("unrecognised");
                    tracing::info!(
                        "mail to a [bounces] feedback address is not a complaint; discarded"
                    );
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
        let Some((status, reply_class)) = report::failure(statuses, &reported.recipient) else {
            let delayed = statuses.iter().any(|it| it.action == Action::Delayed);
            count(if delayed { "delayed" } else { "delivered" });
            return Ok(());
        };
        let (reason, now) = (status.reason(), self.clock.now());
        let suppression = match reply_class {
            ReplyClass::DeadAddress => Some(suppression(
                &reported,
                SuppressionKind::Bounce,
                &reason,
                self.rules.bounce_suppression.map(|it| now.after(it)),
            )),
            ReplyClass::SuspectAddress | ReplyClass::Rejected | ReplyClass::Transient => None,
        };
        let facts = BounceFacts {
            code: status.code(),
            enhanced: status.status.map(|it| it.to_string()),
            class: if reply_class == ReplyClass::DeadAddress {
                BounceClass::Hard
            } else {
                BounceClass::Refused
            },
            remote_host: status.remote_mta.clone(),
        };
        let facts = Some(facts);
        let new =
            NewReport { message_id: id, kind: ReportKind::Bounce, reason, suppression, facts };
        self.record(&new, "failed", now).await
    }

    async fn complaint(
        &self,
        reported: Option<Reported>,
        kind: ComplaintKind,
        proof: Proof,
    ) -> Result<(), StoreError> {
        if !COMPLAINTS.contains(&kind) {
            count(kind.as_str());
            return Ok(());
        }
        let Some(reported) = reported else {
            count("unknown");
            return Ok(());
        };
        let reason = format!("its recipient has reported it as {}", kind.as_str());
        let now = self.clock.now();
        let suppression = suppression(
            &reported,
            SuppressionKind::Complaint,
            &reason,
            self.rules.complaint_suppression.map(|it| now.after(it)),
        );
        let new = NewReport {
            message_id: reported.message_id,
            kind: ReportKind::Complaint,
            reason,
            suppression: Some(suppression),
            facts: None,
        };
        tracing::info!(message_id = %new.message_id, proof = proof.as_str(), "complaint accepted: it has a proof");
        self.record(&new, "complaint", now).await
    }

    /// A complaint at the address for feedback, where everybody can bring one: its message's identifier is
    /// in every reply and every archive, so knowing it proves nothing.
    async fn feedback(
        &self,
        mail: &Mail,
        complaint: &Complaint,
        peer: IpAddr,
    ) -> Result<(), IntakeError> {
        let mut paths = complaint.return_paths.iter();
        if let Some(id) = paths.find_map(|it| self.addresses.verp.read(it.local())) {
            let reported = self.store.reported(id).await?;
            return Ok(self.complaint(reported, complaint.kind, Proof::ReturnPath).await?);
        }
        let Some(reported) = self.identified(complaint).await? else {
            count("unknown");
            return Ok(());
        };
        let proof = if self.has_our_signature(complaint, &reported).await? {
            Proof::Signature
        } else if self.reporters.vouch(&mail.data, peer).await? {
            Proof::Reporter
        } else {
            count("unproven");
            tracing::info!(
                message_id = %reported.message_id,
                %peer,
                "a complaint changes nothing: it encloses neither the message's return path nor its \
                 DKIM signature, and [bounces] reporters and reporter_networks do not name who sent it"
            );
            return Ok(());
        };
        Ok(self.complaint(Some(reported), complaint.kind, proof).await?)
    }

    async fn record(
        &self,
        new: &NewReport,
        kind: &'static str,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        match self.store.record_report(new, now).await? {
            Recorded::Now => {
                count(kind);
                let suppressed = new.suppression.is_some();
                tracing::info!(message_id = %new.message_id, kind, suppressed, "bounce or complaint report recorded");
            }
            Recorded::Before => count("repeated"),
        }
        Ok(())
    }

    /// The message of which a complaint knows the identifier.
    async fn identified(&self, complaint: &Complaint) -> Result<Option<Reported>, StoreError> {
        let Some((ulid, host)) = complaint.message_id.as_deref().and_then(|it| it.split_once('@'))
        else {
            return Ok(None);
        };
        let Ok(id) = format!("msg_{}", ulid.to_ascii_uppercase()).parse() else { return Ok(None) };
        let reported = self.store.reported(id).await?;
        Ok(reported.filter(|it| it.author.host().eq_ignore_ascii_case(host)))
    }

    /// Whether the header that a complaint encloses is one that we have signed for that message. Its body
    /// is often cut off, so what the signature says of it is taken as given.
    async fn has_our_signature(
        &self,
        complaint: &Complaint,
        reported: &Reported,
    ) -> Result<bool, StoreError> {
        let Some(domain) = reported.author.domain() else { return Ok(false) };
        let Ok(enclosed) = Message::split(&complaint.header) else { return Ok(false) };
        // Of several identifiers the signed one might be another message's.
        if enclosed.named("Message-ID").count() != 1 || enclosed.named("From").count() != 1 {
            return Ok(false);
        }
        let ours: Vec<Signature<'_>> =
            signatures(&enclosed).filter(|it| it.domain == domain.as_str()).collect();
        if ours.is_empty() {
            return Ok(false);
        }
        let keys = self.store.published_keys(reported.account_id, domain).await?;
        Ok(ours.iter().any(|signature| {
            let key = keys.iter().find(|it| it.selector == signature.selector);
            let key = key.filter(|it| it.algorithm == signature.algorithm.as_str());
            let key = key.and_then(|it| PublicKey::from_base64(signature.algorithm, &it.public));
            let is_about_it = ["from", "message-id"].iter().all(|it| signature.covers(it));
            is_about_it && key.is_some_and(|key| signature.verifies_header(&enclosed.fields, &key))
        }))
    }
}

fn suppression(
    reported: &Reported,
    kind: SuppressionKind,
    reason: &str,
    expires_at: Option<Timestamp>,
) -> NewSuppression {
    NewSuppression {
        account_id: reported.account_id,
        address: reported.recipient.folded(),
        kind,
        reason: reason.to_owned(),
        message_id: Some(reported.message_id),
        expires_at,
    }
}

fn count(kind: &'static str) {
    metrics::counter!("waxwing_reports_total", "kind" => kind).increment(1);
}
