//! One check of one domain: look, judge, and write down what has changed.

use std::collections::HashSet;
use std::time::Duration;

use serde_json::{Value, json};

use super::Verifier;
use super::error::CheckError;
use super::evaluate::{DnsLookups, Evaluation, Judged, Unjudged};
use super::judge::{Judgement, judge, known_proofs, standing};
use super::keys::next_keys;
use super::lookups::Lookups;
use super::{rotate, wire_types};
use crate::account::Account;
use crate::clock::Timestamp;
use crate::domain::key::{DkimKey, KeyPhase};
use crate::domain::look_alike::{LookAlikes, Originals};
use crate::domain::state::{Phase, SenderDomain, Standing};
use crate::domain::verification::{DomainEvent, Shown, Step, spread};
use crate::id::{DecisionId, DomainId, fill_random};
use crate::plugin::decision::Decision;
use crate::plugin::domain::{Finding, Requirement, Status};
use crate::plugin::sample::CallEnd;
use crate::store::{
    CheckRow, Checked, DomainDetails, DomainRow, OtherDomains, SampleOutcome, SampleRecord,
    StoreError, sample_identity,
};

/// How long the tokens of an old and a new owner may stand beside each other before one of them is no
/// newcomer any more.
const HANDOVER: Duration = Duration::from_hours(30 * 24);

impl Verifier {
    /// Checks a domain now. Answers what is known of it then; none if there is no such domain.
    pub async fn check(&self, id: DomainId) -> Result<Option<DomainDetails>, CheckError> {
        self.examine(id).await?;
        Ok(self.store.domain_details(id).await?)
    }

    /// Checks a domain now, if there is such a domain and it has records.
    pub(super) async fn examine(&self, id: DomainId) -> Result<(), CheckError> {
        let Some(mut details) = self.store.domain_details(id).await? else { return Ok(()) };
        let Some(check) = details.check.clone() else { return Ok(()) };
        let keyless = details.keys.is_empty();
        if keyless {
            details.keys = self.pair(id, KeyPhase::Signing, self.clock.now()).await?;
        }
        let domain = &details.row.domain;
        let account = self.store.account(domain.account_id, self.clock.now()).await?.account;
        let checked = self.look_up_and_judge(&details, check, &account).await?;
        let checked = if keyless {
            let (row, keys) =
                (checked.row.or(Some(details.row.clone())), Some(details.keys.clone()));
            Checked { row, keys, ..checked }
        } else {
            checked
        };
        // Where somebody else has checked it meanwhile, that check is as good as this one.
        if self.store.record_check(id, &checked, self.clock.now()).await? {
            log_changes(domain, &checked);
        }
        Ok(())
    }

    async fn look_up_and_judge(
        &self,
        details: &DomainDetails,
        check: CheckRow,
        account: &Account,
    ) -> Result<Checked, CheckError> {
        let mut lookups = Lookups::begin();
        let domain = &details.row.domain;
        let Evaluation { requirements, judged, decisions } =
            self.evaluate(account, domain, &details.keys, DnsLookups::Query, &mut lookups).await;
        self.keep_samples(&decisions).await;
        // The host looks up itself what it decides by, whatever the policy requires.
        let own =
            known_proofs(&details.row).into_iter().chain(next_keys(&domain.name, &details.keys));
        let unseen = own.filter(|it| lookups.of(&it.name, it.record_type).is_none()).collect();
        lookups.make(&self.resolver, unseen).await;
        let now = self.clock.now();
        let check = CheckRow { observations: lookups.to_json(), checked_at: Some(now), ..check };
        match judged {
            Ok(judged) => self.conclude(details, check, requirements, judged, &lookups, now).await,
            Err(unjudged) => self.without_judgement(details, check, &unjudged, &lookups, now).await,
        }
    }

    /// The last verdict stands, but for a proof of ownership that the host itself has seen to be gone:
    /// the policy may fail as it likes.
    async fn without_judgement(
        &self,
        details: &DomainDetails,
        mut check: CheckRow,
        unjudged: &Unjudged,
        lookups: &Lookups,
        now: Timestamp,
    ) -> Result<Checked, CheckError> {
        let domain = &details.row.domain;
        tracing::warn!(domain = %domain.name, reason = %unjudged, "sender domain not judged; its state is unchanged");
        let mut judgement = Judgement::unchanged(&domain.standing);
        judgement.disown(&details.row, lookups);
        let shown = if judgement.lacks {
            self.interpret(details, &check, lookups, &mut judgement).await?
        } else {
            Shown::Unclear
        };
        let step = self.rules.schedule.step(&domain.standing, shown, now);
        if judgement.lacks_ownership {
            check.owned_since = None;
        }
        check.unclear_since = check.unclear_since.or(Some(now));
        check.failure = Some(unjudged.for_client());
        check.next_at = self.next_check_at(&step, &check, &details.keys, None, now);
        let event = step
            .event
            .map(|event| (event, self.event_detail(event, &judgement, shown, step.since)));
        let row = (shown != Shown::Unclear).then(|| DomainRow {
            domain: SenderDomain { standing: new_standing(&step, judgement), ..domain.clone() },
            ..details.row.clone()
        });
        let others = on_others(step.event, details);
        Ok(Checked { row, check, keys: None, event, others })
    }

    async fn conclude(
        &self,
        details: &DomainDetails,
        mut check: CheckRow,
        requirements: Vec<Requirement>,
        judged: Judged,
        lookups: &Lookups,
        now: Timestamp,
    ) -> Result<Checked, CheckError> {
        let Judged { findings, mut decision, recheck_after } = judged;
        let domain = &details.row.domain;
        let all = (requirements.as_slice(), findings.as_slice());
        let keys = rotate::advance(&domain.name, &details.keys, lookups, all, now);
        let current = keys.as_ref().unwrap_or(&details.keys);
        let before = satisfied_before(&check.findings);
        let mut judgement = judge(domain, current, &requirements, &findings, lookups, &before);
        judgement.disown(&details.row, lookups);
        let shown = self.interpret(details, &check, lookups, &mut judgement).await?;
        let step = self.rules.schedule.step(&domain.standing, shown, now);

        check.failure = None;
        if judgement.owned {
            check.owned_at = Some(now);
            check.owned_since = check.owned_since.or(Some(now));
        } else if judgement.lacks_ownership {
            check.owned_since = None;
        }
        check.findings = findings_json(&requirements, domain, &findings, lookups, &before);
        check.unclear_since = match shown {
            Shown::Unclear => check.unclear_since.or(Some(now)),
            Shown::Complete | Shown::Lacking | Shown::TakenOver => None,
        };
        check.next_at = self.next_check_at(&step, &check, current, recheck_after, now);
        let event = step
            .event
            .map(|event| (event, self.event_detail(event, &judgement, shown, step.since)));
        decision.reason = Some(format!("{}% verified", judgement.progress));
        let standing = match shown {
            // What cannot be seen takes nothing away from a domain that sends.
            Shown::Unclear if domain.standing.may_send() => domain.standing.clone(),
            Shown::Complete | Shown::Lacking | Shown::TakenOver | Shown::Unclear => {
                new_standing(&step, judgement)
            }
        };
        let row = DomainRow {
            domain: SenderDomain { standing, ..domain.clone() },
            requirements: requirements_json(&requirements),
            decision: decision_json(&decision),
        };
        let row = differs(&row, &details.row).then_some(row);
        let others = on_others(step.event, details);
        Ok(Checked { row, check, keys, event, others })
    }

    /// What the judgement means, with what only the other accounts' domains can say.
    async fn interpret(
        &self,
        details: &DomainDetails,
        check: &CheckRow,
        lookups: &Lookups,
        judgement: &mut Judgement,
    ) -> Result<Shown, StoreError> {
        let domain = &details.row.domain;
        if judgement.missing.is_empty() {
            let originals = originals(details).filter(|_| !domain.standing.may_send());
            if let Some(originals) = originals
                && self.store.has_one_of(&originals).await?
            {
                judgement.progress = 99;
                let missing = "the name: it looks like a domain that another account of this server \
                               has verified; ask the operator of this server";
                judgement.missing.push(missing.to_owned());
                return Ok(Shown::Lacking);
            }
            return Ok(Shown::Complete);
        }
        if !judgement.lacks {
            return Ok(Shown::Unclear);
        }
        let lost = judgement.lacks_ownership && domain.standing.may_send();
        let owned = check.owned_at.unwrap_or(domain.created_at);
        if !lost {
            return Ok(Shown::Lacking);
        }
        // A zone without any of the proofs has had an accident; one with another's has another owner.
        let others = self.store.proofs_of_others(domain, owned.before(HANDOVER)).await?;
        let taken = others.iter().any(|token| lookups.show(token));
        Ok(if taken { Shown::TakenOver } else { Shown::Lacking })
    }

    /// What the event says: what is missing, and until when mail is sent.
    fn event_detail(
        &self,
        event: DomainEvent,
        judgement: &Judgement,
        shown: Shown,
        since: Timestamp,
    ) -> String {
        let missing = judgement.missing.join(", ");
        match event {
            DomainEvent::Verified => "every required record is there".to_owned(),
            DomainEvent::Warning => {
                let end = since.after(self.rules.schedule.grace).rfc3339();
                format!(
                    "not as it should be: {missing}; mail is sent until {end}, and longer only while \
                     DNS cannot be seen"
                )
            }
            DomainEvent::Degraded if shown == Shown::TakenOver => {
                format!("another account has proven the domain, and here is missing: {missing}")
            }
            DomainEvent::Degraded => {
                format!("not as it should be, and no mail is sent any more: {missing}")
            }
            DomainEvent::Failed => {
                format!("not checked any more unless somebody asks for it: {missing}")
            }
        }
    }

    fn next_check_at(
        &self,
        step: &Step,
        check: &CheckRow,
        keys: &[DkimKey],
        recheck_after: Option<Duration>,
        now: Timestamp,
    ) -> Option<Timestamp> {
        // A rotation that waits for its records is in motion like a domain that waits for its own.
        let next = keys.iter().filter(|key| key.phase == KeyPhase::Next).map(|key| key.since);
        let moving = check.unclear_since.into_iter().chain(next).max();
        let mut random = [0; 2];
        fill_random(&mut random);
        let pause = self.rules.schedule.pause(step, moving, recheck_after, now)?;
        Some(now.after(spread(pause, u16::from_be_bytes(random))))
    }

    /// Keeps what went into the policy and came out, for the calls that are in the sample.
    async fn keep_samples(&self, decisions: &[Decision]) {
        let now = self.clock.now();
        let record = |decision: &Decision| {
            let (id, kind) = (DecisionId::new(now), decision.kind.as_str());
            let sample = decision.sample.as_ref()?;
            Some(SampleRecord {
                decision_id: id,
                kind,
                slot: sample.slot.clone(),
                digest: sample.digest.clone(),
                outcome: match sample.end {
                    CallEnd::Failed => SampleOutcome::Trapped,
                    CallEnd::Answered => SampleOutcome::Answered,
                },
                sealed: self.samples.seal(&sample_identity(id, kind), &sample.to_bytes()),
            })
        };
        let records: Vec<SampleRecord> = decisions.iter().filter_map(record).collect();
        if records.is_empty() {
            return;
        }
        let kept = self.store.record_samples(&records, now, self.rules.samples_kept).await;
        if let Err(error) = kept {
            tracing::warn!(%error, "cannot write samples of domain policy calls to the database; these samples are dropped");
        }
    }
}

/// The domains beside which this one is not verified; none where the operator has allowed it.
fn originals(details: &DomainDetails) -> Option<Originals> {
    match details.look_alikes {
        LookAlikes::Allowed => None,
        LookAlikes::Refused => {
            let SenderDomain { account_id, name, .. } = &details.row.domain;
            Some(Originals::of(*account_id, name))
        }
    }
}

/// A domain that becomes verified may not look like another one, and whoever had its name must prove it again.
fn on_others(event: Option<DomainEvent>, details: &DomainDetails) -> OtherDomains {
    match event {
        Some(DomainEvent::Verified) => {
            let recheck = &[Phase::Verified, Phase::Warned];
            OtherDomains::Contested { originals: originals(details), recheck }
        }
        Some(DomainEvent::Warning | DomainEvent::Degraded | DomainEvent::Failed) | None => {
            OtherDomains::Untouched
        }
    }
}

/// The records to publish, for answers.
pub fn requirements_json(requirements: &[Requirement]) -> Value {
    let requirement = |it: &Requirement| {
        json!({
            "id": it.id,
            "purpose": wire_types::purpose_name(it.purpose),
            "required": it.required,
            "type": wire_types::record_type_name(it.record_type),
            "name": it.name,
            "value": it.suggested_value,
            "help": it.help,
        })
    };
    requirements.iter().map(requirement).collect()
}

/// Where a domain stands after a step.
fn new_standing(step: &Step, judgement: Judgement) -> Standing {
    let Judgement { progress, missing, .. } = judgement;
    Standing { phase: step.phase, since: step.since, progress, missing }
}

/// The record of a judgement.
pub fn decision_json(decision: &Decision) -> Value {
    serde_json::to_value(decision).expect("a decision has string keys only")
}

/// What is there of each record, with the status that counts.
fn findings_json(
    requirements: &[Requirement],
    domain: &SenderDomain,
    findings: &[Finding],
    lookups: &Lookups,
    before: &HashSet<String>,
) -> Value {
    let finding = |requirement: &Requirement| {
        let of_it = findings.iter().find(|it| it.requirement_id == requirement.id);
        let counted = standing(requirement, domain, findings, lookups);
        let overruled = of_it.is_some_and(|it| it.status != counted);
        let hint = if overruled {
            "The server itself does not see this domain's token here. Publish the record at this very \
             name: an alias (CNAME) that leads out of the domain proves nothing, so remove it."
        } else {
            of_it.map_or("The domain policy says nothing about this record.", |it| it.hint.as_str())
        };
        json!({
            "id": requirement.id,
            "status": wire_types::status_name(counted),
            "wasSatisfied": counted == Status::Satisfied
                || counted == Status::Unknown && before.contains(&requirement.id),
            "found": of_it.map(|it| it.found.as_slice()).unwrap_or_default(),
            "hint": hint,
        })
    };
    requirements.iter().map(finding).collect()
}

/// What was satisfied when it could last be seen.
fn satisfied_before(findings: &Value) -> HashSet<String> {
    let findings = findings.as_array().map(Vec::as_slice).unwrap_or_default();
    let satisfied = findings.iter().filter(|it| it["wasSatisfied"] == true);
    satisfied.filter_map(|it| it["id"].as_str()).map(str::to_owned).collect()
}

/// Whether it says something else: how long the policy took for it does not count.
fn differs(new: &DomainRow, old: &DomainRow) -> bool {
    let timeless = |row: &DomainRow| {
        let mut decision = row.decision.clone();
        if let Some(decision) = decision.as_object_mut() {
            decision.remove("micros");
        }
        decision
    };
    new.domain.standing != old.domain.standing
        || new.requirements != old.requirements
        || timeless(new) != timeless(old)
}

fn log_changes(domain: &SenderDomain, checked: &Checked) {
    let result = match (&checked.check.failure, checked.check.unclear_since) {
        (Some(_), _) => "failed",
        (None, Some(_)) => "unclear",
        (None, None) => "clear",
    };
    metrics::counter!("waxwing_domain_checks_total", "result" => result).increment(1);
    if let Some((event, detail)) = &checked.event {
        let (name, event) = (&domain.name, event.as_str());
        tracing::info!(domain = %name, account = %domain.account_id, event_type = event, detail, "sender domain changed state");
    }
    if checked.keys.is_some() {
        tracing::info!(domain = %domain.name, "DKIM keys of a domain changed phase");
    }
}
