//! An author sends a draft to see it in a mail client: through the whole journey. To a confirmed test recipient it
//! really goes, as any other message; to all others it goes into the sandbox inbox, free of charge.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Map;

use super::agreement;
use super::check::{Checkable, Checker};
use super::error::AuthoringError;
use super::finding::Finding;
use super::preview::{Chosen, PreviewOf, data};
use super::{Authoring, Place, mjml};
use crate::id::{RequestId, TemplateId};
use crate::journey::accept::authenticate::Caller;
use crate::journey::accept::json::object::ObjectText;
use crate::journey::accept::submission::{Content, Filled, Submission, Trial, TrialReach};
use crate::journey::{Journey, Reply, Request};
use crate::message::address::EmailAddress;
use crate::message::channel::Channel;
use crate::store::records::Acceptance;
use crate::template::contract::Contract;
use crate::template::locale::LocaleTag;
use crate::template::version::TemplateVersion;
use crate::trace::Arrival;

/// What to try, and on whom.
#[derive(Debug)]
pub struct TrialOptions {
    pub to: Vec<EmailAddress>,
    /// The data; else that of the example, else that of the default one.
    pub data: Option<Map<String, serde_json::Value>>,
    pub example: Option<String>,
    pub locale: Option<LocaleTag>,
}

impl Authoring {
    /// Sends the newest source to each address; one answer for each.
    ///
    /// # Errors
    /// It does not compile, or the journey refuses all of it.
    pub async fn send_trial(
        &self,
        journey: &Journey,
        (caller, id): (&Caller, RequestId),
        place: &Place,
        options: TrialOptions,
    ) -> Result<Reply, AuthoringError> {
        let Chosen { row, source, blocks, written, compiled, warnings: _ } =
            self.chosen(place, PreviewOf::Draft).await?;
        let TrialOptions { to, data: given, example, locale } = options;
        let data = data(&source, given, example.as_deref())?;
        let tenant = self.tenant(row.owner).await?;
        let mut findings = Vec::new();
        let it = Checkable { slug: &row.slug, source: &source, blocks: &blocks };
        let checker = Checker::new(&self.plugins);
        let read = checker.compile(&tenant, it, &mut findings).await?;
        if findings.iter().any(Finding::is_error) {
            mjml::relocate(&mut findings, (&written, &blocks), compiled.as_ref());
            return Err(AuthoringError::Unfit { slug: row.slug, findings });
        }
        let variables = agreement::agreed(&source, read).variables;
        let trial = TemplateVersion {
            // Nobody's: what the renderer keeps of it, and what is held against it, is of this trial alone.
            template_id: TemplateId::new(self.clock.now()),
            slug: row.slug.clone(),
            revision: 0,
            source,
            blocks,
            contract: Contract::of(&variables),
            variables,
            dictionary: None,
            archived_at: None,
        };
        let (version, data) = (Arc::new(trial), ObjectText::from(&data));
        let filled = |reach| {
            Arc::new(Filled {
                template: row.slug.clone(),
                data: data.clone(),
                locale: locale.clone(),
                trial: Some(Trial { version: Arc::clone(&version), reach }),
                from_name: None,
                from: None,
                reply_to: None,
                attachments: Vec::new(),
                headers: Vec::new(),
            })
        };
        let (sent, sandboxed) = (filled(TrialReach::Recipient), filled(TrialReach::Sandbox));
        let confirmed = self.store.test_recipients(caller.key.account_id).await?;
        let confirmed: HashSet<String> = confirmed
            .into_iter()
            .filter(|it| it.confirmed_at.is_some())
            .map(|it| it.address)
            .collect();
        let submission = |to: EmailAddress| {
            let (filled, warnings) = if confirmed.contains(&to.folded()) {
                (&sent, Vec::new())
            } else {
                (&sandboxed, vec![not_confirmed(&to)])
            };
            Ok(Submission {
                channel: Channel::Api,
                to,
                content: Content::Filled(Arc::clone(filled)),
                tags: Vec::new(),
                metadata: Map::new(),
                send_at: None,
                warnings,
            })
        };
        let request = Request {
            id,
            idempotency: None,
            acceptance: Acceptance::Each,
            arrival: Arrival::default(),
            items: to.into_iter().map(submission).collect(),
        };
        journey.submit(caller, &request).await.map_err(AuthoringError::Refused)
    }
}

fn not_confirmed(to: &EmailAddress) -> String {
    format!(
        "{to} is no confirmed test recipient of the account: the test went into the sandbox inbox only; POST \
         /v1/test-recipients asks the address"
    )
}
