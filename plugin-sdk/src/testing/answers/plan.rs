//! Calls of plan policies.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Input, Pairs};
use crate::plan_policy::{Account, Channel, Decision, PlanPolicy, UseRequest};

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Call {
    account: AccountJson,
    uses: Vec<UseJson>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct AccountJson {
    id: String,
    plan: String,
    paid: bool,
    credits_remaining: i64,
    created_unix_ms: u64,
    sent_last_day: u64,
    sent_last_month: u64,
    extra: Pairs,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct UseJson {
    channel: ChannelJson,
    template_slug: Option<String>,
    template_required_plan: Option<String>,
    template_tags: Vec<String>,
    recipient_domain: String,
    recipients: u32,
    size_bytes: u64,
}

#[derive(Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
enum ChannelJson {
    #[default]
    Api,
    Smtp,
    Dashboard,
}

/// The answer of a plan policy to `account` and `uses`.
///
/// # Errors
/// The input is no such call.
pub fn plan<P: PlanPolicy>(input: &str) -> Result<String, String> {
    let input = Input::<Call>::parse(input)?;
    Ok(input.answer::<P>(|policy, ctx, call| {
        let uses: Vec<UseRequest> = call.uses.into_iter().map(UseRequest::from).collect();
        let decisions = policy.check(ctx, &call.account.into(), &uses)?;
        Ok(json!({ "decisions": decisions.into_iter().map(decision).collect::<Vec<_>>() }))
    }))
}

impl From<AccountJson> for Account {
    fn from(it: AccountJson) -> Self {
        Self {
            id: it.id,
            plan: it.plan,
            paid: it.paid,
            credits_remaining: it.credits_remaining,
            created_unix_ms: it.created_unix_ms,
            sent_last_day: it.sent_last_day,
            sent_last_month: it.sent_last_month,
            extra: it.extra.0,
        }
    }
}

impl From<UseJson> for UseRequest {
    fn from(it: UseJson) -> Self {
        Self {
            channel: match it.channel {
                ChannelJson::Api => Channel::Api,
                ChannelJson::Smtp => Channel::Smtp,
                ChannelJson::Dashboard => Channel::Dashboard,
            },
            template_slug: it.template_slug,
            template_required_plan: it.template_required_plan,
            template_tags: it.template_tags,
            recipient_domain: it.recipient_domain,
            recipients: it.recipients,
            size_bytes: it.size_bytes,
        }
    }
}

fn decision(it: Decision) -> Value {
    match it {
        Decision::Allow(it) => json!({ "allow": { "credits": it.credits, "reason": it.reason } }),
        Decision::Deny(it) => json!({ "deny": {
            "code": it.code, "message": it.message,
            "requiredPlan": it.required_plan, "retryAfterS": it.retry_after_s,
        } }),
    }
}
