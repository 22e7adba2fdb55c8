//! What owners do with their webhooks: create, change, rotate, test, replay, remove. Both the API
//! and the command line call this.

use std::time::Duration;

use super::guard::InvalidUrl;
use super::post::{Reply, WebhookRequest};
use super::signature::Secret;
use super::types::{self, UnknownType};
use super::{Webhooks, body};
use crate::clock::Timestamp;
use crate::id::{EventId, Identifier as _, WebhookId};
use crate::message::line::{ONE_LINE, is_one_line};
use crate::store::WebhookAttempt;
use crate::store::seal::SealError;
use crate::store::{
    DeliveryState, NewWebhook, StoreError, TestDelivery, WebhookChange, WebhookOwner, WebhookRow,
    WebhookState,
};

/// How long the earlier secret signs, too, after a rotation.
const OLD_SECRET_VALID: Duration = Duration::from_hours(24);
/// Deliveries that are changed in one transaction.
const BATCH: u32 = 500;
/// Types of events that one webhook may name, and characters that describe it.
const MAX_TYPES: usize = 50;
const MAX_DESCRIPTION_CHARS: usize = 500;
/// Parallel tests in all and for one owner.
const MAX_PARALLEL_TESTS: usize = 16;
const MAX_PARALLEL_TESTS_OF_OWNER: usize = 4;

#[derive(Debug, Clone, Default)]
pub struct WebhookFields {
    pub url: Option<String>,
    /// What its owner says about it.
    pub description: Option<String>,
    pub types: Option<Vec<String>>,
    /// Whether events are posted to it.
    pub state: Option<WebhookState>,
}

/// How a test ended.
#[derive(Debug)]
pub struct TestOutcome {
    /// The event that was made up for it.
    pub event: EventId,
    /// Whether the endpoint took it.
    pub delivered: bool,
    /// The attempt, as the log of deliveries keeps it.
    pub attempt: WebhookAttempt,
}

#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    #[error("the URL {0}")]
    Url(#[from] InvalidUrl),
    /// A type of event that there is not.
    #[error(transparent)]
    Type(#[from] UnknownType),
    #[error("a webhook names at most {MAX_TYPES} types of events; name groups, as in message.*")]
    TooManyTypes,
    #[error("a description has at most {MAX_DESCRIPTION_CHARS} characters {ONE_LINE}")]
    Description,
    /// The owner has as many as it may have.
    #[error("there are {0} webhooks, the most that there may be; delete one first")]
    TooMany(u32),
    #[error("the webhook is disabled; activate it first")]
    Disabled,
    /// The secret before the last rotation still signs.
    #[error("the earlier secret signs until {}; rotate after that", .0.rfc3339())]
    Rotated(Timestamp),
    /// A time that ends before it begins.
    #[error("`until` must not be before `since`")]
    Range,
    #[error("it is being tested, or too many others are; try again")]
    Busy,
    #[error("there is no webhook `{0}`")]
    Missing(WebhookId),
    /// The webhook has no delivery of that event, or the delivery was deleted.
    #[error("the webhook has no delivery of `{0}`")]
    NoDelivery(EventId),
    /// Its secret does not open.
    #[error("the webhook's secret does not open: {0}")]
    Secret(#[from] SealError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Webhooks {
    /// Makes a webhook, to which all events from now on are posted. Answers the webhook with its secret, which is
    /// shown this once.
    pub async fn create(
        &self,
        owner: WebhookOwner,
        url: &str,
        wanted: WebhookFields,
    ) -> Result<(WebhookRow, Secret), WebhookError> {
        let url = self.guard.check_url(url)?.to_string();
        let WebhookFields { description, types, .. } = wanted;
        let (description, types) = (description.unwrap_or_default(), types.unwrap_or_default());
        check(Some(&description), Some(&types))?;
        let now = self.clock.now();
        let (id, secret) = (WebhookId::new(now), Secret::random());
        let sealed = self.sealed(id, &secret);
        let new = NewWebhook { id, owner, url, description, types, secret: sealed };
        let most = self.rules.per_owner;
        let decide = |have| if have < most { Ok(()) } else { Err(WebhookError::TooMany(most)) };
        self.store.add_webhook(&new, now, decide).await??;
        Ok((self.find(id).await?, secret))
    }

    pub async fn change(
        &self,
        id: WebhookId,
        wanted: WebhookFields,
    ) -> Result<WebhookRow, WebhookError> {
        let url = wanted.url.map(|it| self.guard.check_url(&it)).transpose()?;
        check(wanted.description.as_ref(), wanted.types.as_deref())?;
        let change = WebhookChange {
            url: url.map(|it| it.to_string()),
            description: wanted.description,
            types: wanted.types,
            state: wanted.state.map(|state| {
                let why = match state {
                    WebhookState::Active => "activated by its owner",
                    WebhookState::Disabled => "disabled by its owner",
                };
                (state, why.to_owned())
            }),
        };
        let now = self.clock.now();
        if !self.store.change_webhook(id, &change, now).await? {
            return Err(WebhookError::Missing(id));
        }
        self.wake.notify_one();
        self.find(id).await
    }

    /// Gives a webhook another secret, which is shown this once; for 24 hours both sign, and it is not
    /// rotated again.
    pub async fn rotate(&self, id: WebhookId) -> Result<(WebhookRow, Secret), WebhookError> {
        let (secret, now) = (Secret::random(), self.clock.now());
        let sealed = self.sealed(id, &secret);
        let rotated =
            self.store.rotate_webhook(id, &sealed, now.after(OLD_SECRET_VALID), now).await?;
        let webhook = self.find(id).await?;
        match webhook.earlier {
            Some((_, until)) if !rotated => Err(WebhookError::Rotated(until)),
            Some(_) | None => Ok((webhook, secret)),
        }
    }

    /// Removes a webhook with the log of its deliveries.
    pub async fn remove(&self, id: WebhookId) -> Result<(), WebhookError> {
        Ok(self.store.remove_webhook(id, "it is being deleted", BATCH, self.clock.now()).await?)
    }

    /// Posts a test event now, also to a webhook that is disabled; answers how it ended. It is not
    /// attempted again. An endpoint that does not accept it is no error.
    pub async fn test(&self, id: WebhookId) -> Result<TestOutcome, WebhookError> {
        let webhook = self.find(id).await?;
        let _permit = self.test_permit(&webhook).ok_or(WebhookError::Busy)?;
        let now = self.clock.now();
        let event = EventId::new(now);
        let body = body::of_test(id, now);
        let reply = self.post(&webhook, event, &body).await?;
        let attempt = reply.attempt(self.clock.now());
        let state = if reply.is_taken() { DeliveryState::Delivered } else { DeliveryState::Failed };
        let test = TestDelivery { webhook: id, event, body: &body, log: &attempt, state };
        self.store.note_test(&test, now).await?;
        Ok(TestOutcome { event, delivered: reply.is_taken(), attempt })
    }

    /// Makes a delivery due now, as if it were new: with the same identifier and body.
    pub async fn replay(&self, id: WebhookId, event: EventId) -> Result<(), WebhookError> {
        self.active(id).await?;
        if !self.store.replay_delivery(id, event, self.clock.now()).await? {
            return Err(WebhookError::NoDelivery(event));
        }
        self.wake.notify_one();
        Ok(())
    }

    /// Does so for all failed deliveries that were handed out from `since` to `until`; answers how many.
    pub async fn replay_failed(
        &self,
        id: WebhookId,
        since: Timestamp,
        until: Option<Timestamp>,
    ) -> Result<u64, WebhookError> {
        if until.is_some_and(|until| until < since) {
            return Err(WebhookError::Range);
        }
        self.active(id).await?;
        let now = self.clock.now();
        let (range, mut after, mut all) = ((since, until.unwrap_or(now)), EventId::MIN, 0);
        loop {
            let (some, last) =
                self.store.replay_failed(id, range, after, BATCH, self.clock.now()).await?;
            all += some;
            self.wake.notify_one();
            match last {
                Some(last) if some == u64::from(BATCH) => after = last,
                Some(_) | None => return Ok(all),
            }
        }
    }

    pub async fn find(&self, id: WebhookId) -> Result<WebhookRow, WebhookError> {
        self.store.webhook(id).await?.ok_or(WebhookError::Missing(id))
    }

    /// Signs and posts an event.
    pub(super) async fn post(
        &self,
        webhook: &WebhookRow,
        event: EventId,
        body: &str,
    ) -> Result<Reply, SealError> {
        let now = self.clock.now();
        let (id, timestamp) = (event.to_string(), now.millis().div_euclid(1_000));
        let mut sealed = vec![&webhook.secret];
        if let Some((earlier, until)) = &webhook.earlier
            && *until > now
        {
            sealed.push(earlier);
        }
        let mut signatures = Vec::with_capacity(2);
        for sealed in sealed {
            let opened = self.secrets.open(&identity(webhook.id), sealed)?;
            let secret = std::str::from_utf8(&opened).ok().and_then(Secret::parse);
            signatures.push(secret.ok_or(SealError::Damaged)?.sign(&id, timestamp, body));
        }
        let signature = &signatures.join(" ");
        let request = WebhookRequest { id: &id, timestamp, signature, body };
        Ok(self.poster.post(&webhook.url, request).await)
    }

    async fn active(&self, id: WebhookId) -> Result<(), WebhookError> {
        match self.find(id).await?.state {
            WebhookState::Active => Ok(()),
            WebhookState::Disabled => Err(WebhookError::Disabled),
        }
    }

    fn sealed(&self, id: WebhookId, secret: &Secret) -> Vec<u8> {
        self.secrets.seal(&identity(id), secret.text().as_bytes())
    }

    /// One test of a webhook at a time, not too many of an owner, and not too many in all.
    fn test_permit(&self, webhook: &WebhookRow) -> Option<TestPermit<'_>> {
        let (id, owner) = (webhook.id, webhook.owner);
        let mut tests = self.tests.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let of_owner = tests.values().filter(|it| **it == owner).count();
        if tests.len() >= MAX_PARALLEL_TESTS
            || of_owner >= MAX_PARALLEL_TESTS_OF_OWNER
            || tests.contains_key(&id)
        {
            return None;
        }
        tests.insert(id, owner);
        Some(TestPermit { webhooks: self, id })
    }
}

/// A test under way.
struct TestPermit<'a> {
    webhooks: &'a Webhooks,
    id: WebhookId,
}

impl Drop for TestPermit<'_> {
    fn drop(&mut self) {
        let tests = self.webhooks.tests.lock();
        tests.unwrap_or_else(std::sync::PoisonError::into_inner).remove(&self.id);
    }
}

/// The row that a secret is sealed for.
#[must_use]
pub fn identity(id: WebhookId) -> String {
    format!("{id} secret")
}

fn check(description: Option<&String>, types: Option<&[String]>) -> Result<(), WebhookError> {
    let is_refused = |it: &String| it.chars().count() > MAX_DESCRIPTION_CHARS || !is_one_line(it);
    if description.is_some_and(is_refused) {
        return Err(WebhookError::Description);
    }
    let types = types.unwrap_or_default();
    if types.len() > MAX_TYPES {
        return Err(WebhookError::TooManyTypes);
    }
    types.iter().try_for_each(|it| types::check(it).map_err(WebhookError::Type))
}
