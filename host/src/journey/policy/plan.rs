//! Asks the plan policy about one send: it is allowed at a price, or denied.

use super::super::accept::abort::Abort;
use super::super::accept::authenticate::Sender;
use super::super::accept::decisions::Decisions;
use super::super::accept::refusal::{Outage, Refusal};
use super::super::accept::submission::Submission;
use super::substance::Substance;
use crate::account::Account;
use crate::account::plan::Billing;
use crate::credit::Credits;
use crate::message::channel::Channel;
use crate::plugin::binding::Scope;
use crate::plugin::table::{Called, Table};
use crate::plugin::{CallContext, CallFailure, Kind, plan};

/// Asks the plan policy. A policy that fails is closed: nothing is sent.
pub(in crate::journey) async fn check(
    plugins: &Table,
    scope: &Scope<'_>,
    context: &CallContext,
    sender: &Sender,
    submission: &Submission,
    substance: &Substance<'_>,
) -> Result<(Credits, Decisions), Abort> {
    let uses = [use_request(submission, substance)];
    let facts = &sender.account;
    let sent = (facts.sent_today(), facts.sent_month());
    let who = plan_account(&facts.account, facts.balance(), sent);
    let called = plugins.check(scope, context, &who, &uses).await;
    let Called { result, decision, failed } = called;
    let decisions = failed.into_iter().chain([decision]).collect();
    let refusal = match result.map(|verdicts| verdicts.into_iter().next()) {
        Ok(Some(plan::Verdict::Allow(charge))) => {
            return Ok((Credits(i64::from(charge.credits)), decisions));
        }
        Ok(Some(plan::Verdict::Deny(denial))) => denied(denial, sender, substance),
        Ok(None) => Refusal::unavailable(Outage::Plugin, "the plan policy gave no decision"),
        Err(failure) => failed_closed(Kind::Plan, &failure),
    };
    Err(Abort::message(refusal, decisions))
}

/// A failing plugin fails closed: 503, nothing charged, one log line for the operator.
pub(in crate::journey) fn failed_closed(kind: Kind, failure: &CallFailure) -> Refusal {
    metrics::counter!("waxwing_plugin_failures_total", "kind" => kind.as_str()).increment(1);
    tracing::error!(%kind, %failure, "plugin call failed; the send is refused and nothing is charged");
    Refusal::unavailable(
        Outage::Plugin,
        &format!("{}; nothing was charged or sent", failure.for_client()),
    )
}

/// An account as the plan policy sees it, with what it has sent today and in 30 days.
#[must_use]
pub fn plan_account(
    account: &Account,
    credits_remaining: i64,
    (sent_last_day, sent_last_month): (u64, u64),
) -> plan::Account {
    plan::Account {
        id: account.id.to_string(),
        plan: account.plan.name.clone(),
        paid: account.plan.billing == Billing::Paid,
        credits_remaining,
        created_unix_ms: account.created_at.unsigned_millis(),
        sent_last_day,
        sent_last_month,
        extra: Vec::new(),
    }
}

fn use_request(submission: &Submission, substance: &Substance<'_>) -> plan::UseRequest {
    let (template, size) = match substance {
        Substance::Template(template, filled) => {
            (Some(template), filled.attachments.iter().map(|it| it.content.len()).sum())
        }
        Substance::Raw(raw) => (None, raw.message.size()),
        Substance::Again(again, template) => (template.as_ref(), again.message.size()),
    };
    plan::UseRequest {
        channel: match submission.channel {
            Channel::Api | Channel::Server => plan::Channel::Api,
            Channel::Smtp => plan::Channel::Smtp,
        },
        template_slug: slug_of(substance),
        template_required_plan: template.and_then(|it| it.source.required_plan.clone()),
        template_tags: template.map(|it| it.source.tags.clone()).unwrap_or_default(),
        recipient_domain: submission.to.host().to_owned(),
        recipients: 1,
        size_bytes: u64::try_from(size).unwrap_or(u64::MAX),
    }
}

fn denied(denial: plan::Denial, sender: &Sender, substance: &Substance<'_>) -> Refusal {
    if denial.code == "restricted-template"
        && let Some(template) = slug_of(substance)
    {
        return Refusal::RestrictedTemplate {
            template,
            plan: sender.account.account.plan.name.clone(),
            required_plan: denial.required_plan,
            message: denial.message,
        };
    }
    Refusal::Forbidden { message: denial.message, retry_after_s: denial.retry_after_s }
}

fn slug_of(substance: &Substance<'_>) -> Option<String> {
    match substance {
        Substance::Template(template, _) => Some(template.slug.to_string()),
        Substance::Raw(_) => None,
        Substance::Again(again, _) => again.template.as_ref().map(|it| it.slug.to_string()),
    }
}
