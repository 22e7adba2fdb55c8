//! Render: the template's parts by the renderer plugin, then one RFC 5322 message of them.

pub mod template;

use std::sync::Arc;

use super::Turned;
use super::accept::submission::Submission;
use super::policy::Admitted;
use crate::account::Account;
use crate::clock::Timestamp;
use crate::credit::Credits;
use crate::id::MessageId;
use crate::mail::mime::{self, Outgoing};
use crate::message::address::EmailAddress;
use crate::plugin::CallContext;
use crate::plugin::binding::Scope;
use crate::plugin::decision::Decision;
use crate::plugin::table::Table;
use crate::store::records::RouteChoice;
use crate::template::version::TemplateVersion;

/// A message that is ready to be stored. Only `render` makes one.
#[derive(Debug)]
pub struct Rendered {
    /// Its identifier; the Message-ID is made of it.
    pub id: MessageId,
    /// The template's version.
    pub template: Arc<TemplateVersion>,
    /// The sender.
    pub from: EmailAddress,
    /// The subject.
    pub subject: String,
    /// The RFC 5322 message.
    pub raw: Vec<u8>,
    /// What it costs.
    pub price: Credits,
    /// Where it may go.
    pub route: RouteChoice,
    /// What each plugin decided.
    pub decisions: Vec<Decision>,
}

/// Renders an admitted submission.
pub(super) async fn render(
    plugins: &Table,
    account: &Account,
    context: &CallContext,
    admitted: Admitted,
    submission: &Submission,
    now: Timestamp,
) -> Result<Rendered, Turned> {
    let Admitted { template, from, price, route, mut decisions } = admitted;
    let domain = from.domain();
    let scope = Scope {
        plan: &account.plan.name,
        account: &account.id.to_string(),
        domain: domain.as_ref().map(|domain| domain.as_str()),
    };
    let (rendered, decision) =
        template::render(plugins, &scope, context, &template, &submission.data).await;
    decisions.push(decision);
    let parts = match rendered {
        Ok(parts) => parts,
        Err(refusal) => return Err(Turned { refusal, decisions }),
    };
    let id = MessageId::new(now);
    let raw = mime::compose(&Outgoing {
        message_id: &format!("{}@{}", id.ulid(), from.host()),
        date: now,
        from_name: submission.from_name.as_deref(),
        from: &from,
        to: &submission.to,
        reply_to: submission.reply_to.as_ref(),
        subject: &parts.subject,
        text: parts.text.as_deref(),
        html: parts.html.as_deref(),
        attachments: &submission.attachments,
        headers: &submission.headers,
    });
    Ok(Rendered { id, template, from, subject: parts.subject, raw, price, route, decisions })
}
