//! Render: the template's parts by the renderer plugin, then one RFC 5322 message of them. A message
//! that came whole only gets what a submission server may add.

pub mod dictionary;
pub mod template;
pub mod visible;

use super::accept::abort::Abort;
use super::accept::decisions::Decisions;
use super::accept::submission::{Submission, TrialReach};
use super::accept::variables::Variables;
use super::policy::{Admitted, Substance};
use crate::account::Account;
use crate::clock::Timestamp;
use crate::credit::Credits;
use crate::id::{DomainId, MessageId};
use crate::mail::mime::{self, Outgoing};
use crate::message::address::EmailAddress;
use crate::plugin::CallContext;
use crate::plugin::binding::Scope;
use crate::plugin::table::Table;
use crate::store::records::{Body, BodyOf, ReturnPath, RouteChoice};
use crate::template::version::TemplateRevision;
use template::{Blanks, Rendering};

/// A message that is ready to be stored. Only `render` makes one.
#[derive(Debug)]
pub struct Rendered {
    /// Its identifier; the Message-ID is made of it where the message has none.
    pub id: MessageId,
    /// None for a message that came whole.
    pub template: Option<TemplateRevision>,
    pub from: EmailAddress,
    /// The sender's domain.
    pub domain: DomainId,
    /// The envelope's sender.
    pub return_path: ReturnPath,
    pub subject: String,
    /// The RFC 5322 message.
    pub body: BodyOf,
    /// What it costs.
    pub price: Credits,
    /// Where it may go.
    pub route: RouteChoice,
    /// What each plugin decided.
    pub decisions: Decisions,
    /// Members of the data that nothing in the template reads.
    pub unread: Vec<String>,
}

/// The body of the first of several messages that came as one.
pub type Shared = Option<MessageId>;

/// Renders an admitted submission.
pub(super) async fn render(
    plugins: &Table,
    account: &Account,
    mut context: CallContext,
    admitted: Admitted<'_>,
    submission: &Submission,
    shared: &mut Shared,
    now: Timestamp,
) -> Result<Rendered, Abort> {
    let Admitted { substance, from, domain: domain_id, price, route, mut decisions } = admitted;
    let id = MessageId::new(now);
    let (version, filled) = match substance {
        Substance::Template(version, filled) => (version, filled),
        Substance::Again(again, _) => {
            return Ok(Rendered {
                id,
                template: again.template.clone(),
                return_path: again.return_path.clone(),
                subject: again.message.subject().to_owned(),
                from,
                domain: domain_id,
                body: BodyOf::Own(Body::pack(&again.message.relayed(id, now))),
                price,
                route,
                decisions,
                unread: Vec::new(),
            });
        }
        Substance::Raw(raw) => {
            let body = match shared {
                Some(first) => BodyOf::Message(*first),
                None => BodyOf::Own(Body::pack(&raw.message.relayed(id, now))),
            };
            shared.get_or_insert(id);
            return Ok(Rendered {
                id,
                template: None,
                return_path: ReturnPath::Other(raw.return_path.clone()),
                subject: raw.message.subject().to_owned(),
                from,
                domain: domain_id,
                body,
                price,
                route,
                decisions,
                unread: Vec::new(),
            });
        }
    };
    let domain = from.domain();
    let scope = Scope {
        plan: &account.plan.name,
        account: &account.id.to_string(),
        domain: domain.as_ref().map(|domain| domain.as_str()),
    };
    let variables = Variables::new(&filled.data, &account.brand);
    let locale = version.source.choose_locale(filled.locale.as_ref());
    context.locale = Some(locale.region(filled.locale.as_ref()).to_string());
    let blanks =
        if account.strict || version.source.strict { Blanks::Refused } else { Blanks::Told };
    let Rendering { parts, mut decision, unread } =
        template::render(plugins, &scope, &context, &version, locale, variables, blanks).await;
    if !version.source.locales.is_empty() {
        decision.locale = Some(locale.tag.to_string());
    }
    decisions.push(decision);
    let parts = match parts {
        Ok(parts) => parts,
        Err(refusal) => return Err(Abort::message(refusal, decisions)),
    };
    let is_test = filled.trial.as_ref().is_some_and(|it| it.reach == TrialReach::Recipient);
    let subject = if is_test { format!("[Test] {}", parts.subject) } else { parts.subject };
    let raw = mime::compose(&Outgoing {
        message_id: &format!("{}@{}", id.ulid(), from.host()),
        date: now,
        from_name: filled.from_name.as_deref(),
        from: &from,
        to: &submission.to,
        reply_to: filled.reply_to.as_ref(),
        subject: &subject,
        text: parts.text.as_deref(),
        html: parts.html.as_deref(),
        attachments: &filled.attachments,
        headers: &filled.headers,
    });
    Ok(Rendered {
        id,
        template: Some(TemplateRevision { slug: version.slug.clone(), revision: version.revision }),
        return_path: ReturnPath::Author,
        subject,
        from,
        domain: domain_id,
        body: BodyOf::Own(Body::pack_with(&raw, version.dictionary.as_ref())),
        price,
        route,
        decisions,
        unread,
    })
}
