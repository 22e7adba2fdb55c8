//! `waxwing webhook`.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::error::CliError;
use super::open::{Opened, Target};
use super::output::text;
use crate::api::shapes::{
    DeletedWebhook, NewWebhook, Replayed, Webhook, WebhookDelivery, WebhookTest,
};
use crate::clock::Timestamp;
use crate::id::{AccountId, EventId, WebhookId};
use crate::store::{DeliveryState, WebhookOwner, WebhookState};
use crate::webhooks::owner_operations::WebhookFields;

/// Make, list, change, test and replay webhooks.
#[derive(Debug, Subcommand)]
pub enum WebhookCommand {
    /// Make a webhook; its secret is shown this once
    Create {
        #[command(flatten)]
        owner: Owner,
        /// As in `https://example.com/hooks`
        url: String,
        /// In your own words
        #[arg(long)]
        description: Option<String>,
        /// A wanted type of event, a group as in message.*; may be repeated; none means all
        #[arg(long = "type", value_name = "TYPE")]
        types: Vec<String>,
        #[command(flatten)]
        target: Target,
    },
    /// List the webhooks of an account, or of the server
    List {
        #[command(flatten)]
        owner: Owner,
        #[command(flatten)]
        target: Target,
    },
    /// Show a webhook
    Show {
        /// `whk_…`
        id: WebhookId,
        #[command(flatten)]
        target: Target,
    },
    /// Change a webhook; options left out keep their value
    Update {
        /// `whk_…`
        id: WebhookId,
        #[command(flatten)]
        change: Change,
        #[command(flatten)]
        target: Target,
    },
    /// Remove a webhook with the log of its deliveries
    Delete {
        /// `whk_…`
        id: WebhookId,
        #[command(flatten)]
        target: Target,
    },
    /// Give a webhook another secret, shown this once; for 24 hours both sign, and it is not rotated again
    Rotate {
        /// `whk_…`
        id: WebhookId,
        #[command(flatten)]
        target: Target,
    },
    /// Show what was posted and what came of each attempt, newest first
    Deliveries {
        /// `whk_…`
        id: WebhookId,
        /// Only those that are pending, delivered or failed
        #[arg(long, value_parser = state)]
        state: Option<DeliveryState>,
        /// Deliveries to show
        #[arg(long, default_value_t = 50)]
        limit: u32,
        /// Those behind this one
        #[arg(long)]
        after: Option<EventId>,
        #[command(flatten)]
        target: Target,
    },
    /// Post an event once more, or all failed ones of a time
    Replay {
        /// `whk_…`
        id: WebhookId,
        /// `evt_…`
        #[arg(required_unless_present = "since", conflicts_with = "since")]
        event: Option<EventId>,
        /// From when, as in 2026-11-22T00:00:00Z
        #[arg(long, value_parser = moment)]
        since: Option<Timestamp>,
        /// To when [default: now]
        #[arg(long, value_parser = moment, requires = "since")]
        until: Option<Timestamp>,
        #[command(flatten)]
        target: Target,
    },
    /// Post a test event from this machine now, and show what came of it
    Test {
        /// `whk_…`
        id: WebhookId,
        #[command(flatten)]
        target: Target,
    },
}

/// Whose webhooks.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct Owner {
    /// `acc_…`
    #[arg(long)]
    account: Option<AccountId>,
    /// The server's own: they get the events of plugins
    #[arg(long)]
    server: bool,
}

/// The fields to change; fields left out keep their value.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub struct Change {
    /// As in `https://example.com/hooks`
    #[arg(long)]
    url: Option<String>,
    /// In your own words
    #[arg(long)]
    description: Option<String>,
    /// A wanted type of event; may be repeated; these replace the ones before. `*` means all
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// `active` or `disabled`
    #[arg(long, value_parser = webhook_state)]
    state: Option<WebhookState>,
}

pub async fn run(command: WebhookCommand) -> Result<(), CliError> {
    match command {
        WebhookCommand::Create { owner, url, description, types, target } => {
            let opened = target.open().await?;
            let owner = found(&opened, &owner).await?;
            let wanted =
                WebhookFields { description, types: Some(types), ..WebhookFields::default() };
            let made = opened.webhooks().await?.create(owner, &url, wanted).await?;
            let made = json!(NewWebhook::new(made, opened.clock.now()));
            target.output.one(&made, || with_secret(&made));
        }
        WebhookCommand::List { owner, target } => {
            let opened = target.open().await?;
            let (owner, now) = (found(&opened, &owner).await?, opened.clock.now());
            let rows = opened.store.webhooks(owner, None, u32::MAX >> 1).await?;
            let rows = rows.into_iter().map(|row| json!(Webhook::new(row, now)));
            let rows: Vec<Value> = rows.collect();
            target.output.list(&rows, line);
        }
        WebhookCommand::Show { id, target } => {
            let opened = target.open().await?;
            let (shown, now) = (opened.webhooks().await?.find(id).await?, opened.clock.now());
            let counts = opened.store.webhook_counts(id, now).await?;
            let shown = json!(Webhook::new(shown, now).with_figures(counts));
            target.output.one(&shown, || line(&shown));
        }
        WebhookCommand::Update { id, change, target } => {
            let Change { url, description, types, state } = change;
            let types = (!types.is_empty()).then_some(types);
            let wanted = WebhookFields { url, description, types, state };
            let opened = target.open().await?;
            let changed = opened.webhooks().await?.change(id, wanted).await?;
            let changed = json!(Webhook::new(changed, opened.clock.now()));
            target.output.one(&changed, || line(&changed));
        }
        WebhookCommand::Delete { id, target } => {
            let webhooks = target.open().await?.webhooks().await?;
            webhooks.find(id).await?;
            webhooks.remove(id).await?;
            target
                .output
                .one(&json!(DeletedWebhook { id, deleted: true }), || format!("{id} is removed"));
        }
        WebhookCommand::Rotate { id, target } => {
            let opened = target.open().await?;
            let rotated = opened.webhooks().await?.rotate(id).await?;
            let rotated = json!(NewWebhook::new(rotated, opened.clock.now()));
            target.output.one(&rotated, || with_secret(&rotated));
        }
        WebhookCommand::Deliveries { id, state, limit, after, target } => {
            let opened = target.open().await?;
            opened.webhooks().await?.find(id).await?;
            let mut rows: Vec<Value> = Vec::new();
            let (mut after, mut left) = (after, limit);
            while left > 0 {
                let page = opened.store.webhook_deliveries(id, state, after, left).await?;
                left = left.saturating_sub(u32::try_from(page.deliveries.len()).unwrap_or(left));
                rows.extend(
                    page.deliveries.into_iter().map(|row| json!(WebhookDelivery::from(row))),
                );
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
            target.output.list(&rows, delivery);
        }
        WebhookCommand::Replay { id, event, since, until, target } => {
            let webhooks = target.open().await?.webhooks().await?;
            let replayed = match (event, since) {
                (Some(event), _) => webhooks.replay(id, event).await.map(|()| 1)?,
                (None, Some(since)) => webhooks.replay_failed(id, since, until).await?,
                (None, None) => 0,
            };
            let value = json!(Replayed { replayed });
            target
                .output
                .one(&value, || format!("{replayed} due now; a running server posts them"));
        }
        WebhookCommand::Test { id, target } => {
            let webhooks = target.open().await?.webhooks().await?;
            let tested = Box::pin(webhooks.test(id)).await?;
            let tested = json!(WebhookTest::new(id, tested));
            target.output.one(&tested, || attempt(&tested["attempt"]));
        }
    }
    Ok(())
}

async fn found(opened: &Opened, owner: &Owner) -> Result<WebhookOwner, CliError> {
    let Some(account) = owner.account else { return Ok(WebhookOwner::Server) };
    opened.store.account(account, opened.clock.now()).await?;
    Ok(WebhookOwner::Account(account))
}

fn line(webhook: &Value) -> String {
    let [id, state, url, reason] = ["id", "state", "url", "reason"].map(|it| text(webhook, it));
    let types = webhook["types"].as_array().map(Vec::as_slice).unwrap_or_default();
    let types: Vec<&str> = types.iter().filter_map(Value::as_str).collect();
    let types = if types.is_empty() { "all events".to_owned() } else { types.join(", ") };
    format!("{id}  {state} ({reason})  {url}  {types}")
}

fn with_secret(webhook: &Value) -> String {
    format!("{}\nsecret, shown this once: {}", line(webhook), text(webhook, "secret"))
}

fn delivery(delivery: &Value) -> String {
    let [id, kind, state] = ["id", "type", "state"].map(|it| text(delivery, it));
    let next = delivery["nextAttemptAt"].as_str().map(|it| format!(", next attempt {it}"));
    let mut lines = vec![format!("{id}  {kind}  {state}{}", next.unwrap_or_default())];
    let attempts = delivery["attempts"].as_array().map(Vec::as_slice).unwrap_or_default();
    lines.extend(attempts.iter().map(|it| format!("  {}", attempt(it))));
    lines.join("\n")
}

fn attempt(attempt: &Value) -> String {
    let [at, status, millis] = ["at", "status", "millis"].map(|it| text(attempt, it));
    let error = attempt["error"].as_str().map_or_else(|| "taken".to_owned(), ToOwned::to_owned);
    format!("{at}  {status}  {millis} ms  {error}")
}

fn state(word: &str) -> Result<DeliveryState, String> {
    DeliveryState::from_name(word).ok_or_else(|| "is pending, delivered or failed".to_owned())
}

fn webhook_state(word: &str) -> Result<WebhookState, String> {
    WebhookState::from_name(word).ok_or_else(|| "is active or disabled".to_owned())
}

fn moment(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse_rfc3339(text).ok_or_else(|| "must be as in 2026-11-22T00:00:00Z".to_owned())
}
