//! `waxwing message`.

mod filter;
mod retry;
mod view;

use clap::Subcommand;
use serde_json::{Value, json};

use super::error::CliError;
use super::open::{Opened, Target};
use super::output::{dump, note_act, text};
use super::plugin::OnlineServer;
use crate::api::shapes::{Attempt, Event, Message, MessageSummary};
use crate::id::{AccountId, MessageId};
use crate::management::acts;
use crate::message::address::EmailAddress;
use crate::store::records::{NewSuppression, SuppressionKind};
use crate::store::{Cancellation, MessageRow, StoreError};
use filter::Filter;
use retry::Retry;
use view::{attempt, event, line, whole};

/// Messages of one question to the store.
const PAGE_ROWS: u32 = 500;

/// List, show, cancel, retry and resend messages; suppress an address.
#[derive(Debug, Subcommand)]
pub enum MessageCommand {
    /// List the newest messages of an account
    List {
        /// `acc_…`
        #[arg(long)]
        account: AccountId,
        /// Messages to show
        #[arg(long, default_value_t = 50)]
        limit: u32,
        /// Only those behind this one
        #[arg(long)]
        after: Option<MessageId>,
        #[command(flatten)]
        filter: Box<Filter>,
        #[command(flatten)]
        target: Target,
    },
    /// Show a message with its events, its attempts and what each plugin decided
    Show {
        /// `msg_…`
        id: MessageId,
        #[command(flatten)]
        target: Target,
    },
    /// List what happened to a message
    Events {
        /// `msg_…`
        id: MessageId,
        #[command(flatten)]
        target: Target,
    },
    /// List each attempt to hand a message over, with the whole conversation
    Attempts {
        /// `msg_…`
        id: MessageId,
        #[command(flatten)]
        target: Target,
    },
    /// Print the message itself, as it was accepted
    Raw {
        /// `msg_…`
        id: MessageId,
        #[command(flatten)]
        target: Target,
    },
    /// Call back a message that waits: it is not sent any more, and its price is refunded unless an attempt may have
    /// arrived
    Cancel {
        /// `msg_…`
        id: MessageId,
        #[command(flatten)]
        target: Target,
    },
    /// Try deferred messages again now, also during a back-off of their destination
    Retry(Retry),
    /// Send the content of a message once more, as a new one; asks the running server, with a key of
    /// the account and the scope `admin`
    Resend {
        /// `msg_…`
        id: MessageId,
        #[command(flatten)]
        server: OnlineServer,
    },
    /// Put an address on an account's suppression list: nothing more is sent to it
    Suppress {
        /// `acc_…`
        #[arg(long)]
        account: AccountId,
        /// The address
        address: EmailAddress,
        /// Why
        #[arg(long, default_value = "by the operator")]
        reason: String,
        #[command(flatten)]
        target: Target,
    },
}

pub async fn run(command: MessageCommand) -> Result<(), CliError> {
    match command {
        MessageCommand::List { account, limit, after, filter, target } => {
            let opened = target.open().await?;
            let rows = list(&opened, account, *filter, after, limit).await?;
            let values: Vec<Value> =
                rows.into_iter().map(|row| json!(MessageSummary::from(row))).collect();
            target.output.list(&values, line);
        }
        MessageCommand::Show { id, target } => {
            let details = target.open().await?.store.message(id).await?;
            let value = json!(Message::from(details));
            target.output.one(&value, || whole(&value));
        }
        MessageCommand::Events { id, target } => {
            let events = target.open().await?.store.message(id).await?.events;
            let events = events.into_iter().map(|it| json!(Event::from(it)));
            target.output.list(&events.collect::<Vec<_>>(), event);
        }
        MessageCommand::Attempts { id, target } => {
            let attempts = target.open().await?.store.message(id).await?.attempts;
            let attempts = attempts.into_iter().map(|it| json!(Attempt::from(it)));
            target.output.list(&attempts.collect::<Vec<_>>(), attempt);
        }
        MessageCommand::Raw { id, target } => raw(id, &target).await?,
        MessageCommand::Cancel { id, target } => {
            let opened = target.open().await?;
            match opened.store.cancel(id, opened.clock.now()).await? {
                Cancellation::Canceled => {}
                Cancellation::TooLate(state) => {
                    return Err(CliError::Usage(format!(
                        "{id} is {state}; only a message that is scheduled, queued or deferred can be \
                         canceled"
                    )));
                }
            }
            let value = json!(MessageSummary::from(opened.store.message(id).await?.row));
            target.output.one(&value, || line(&value));
        }
        MessageCommand::Retry(retry) => retry.run().await?,
        MessageCommand::Resend { id, server } => {
            let path = format!("/v1/messages/{id}/resend");
            let sent = server.connect_as_holder()?.post(&path, &[]).await?;
            server.output.one(&sent, || {
                let [new, state] = ["messageId", "state"].map(|it| text(&sent, it));
                format!("{new}  {state}  resent from {id}")
            });
        }
        MessageCommand::Suppress { account, address, reason, target } => {
            let opened = target.open().await?;
            let now = opened.clock.now();
            opened.store.account(account, now).await?;
            let new = NewSuppression {
                account_id: account,
                address: address.folded(),
                kind: SuppressionKind::Manual,
                reason: reason.clone(),
                message_id: None,
                expires_at: None,
            };
            opened.store.suppress(&new, now).await?;
            note_act(acts::suppressed(account, std::slice::from_ref(&new.address)));
            let value = json!({"accountId": account, "address": address, "reason": reason});
            target.output.one(&value, || format!("{address}  suppressed"));
        }
    }
    Ok(())
}

/// One page after the other, until there are as many as wanted.
async fn list(
    opened: &Opened,
    account: AccountId,
    filter: Filter,
    mut after: Option<MessageId>,
    limit: u32,
) -> Result<Vec<MessageRow>, StoreError> {
    let (filter, mut left) = (filter.into(), limit);
    let mut rows = Vec::new();
    while left > 0 {
        let page = opened.store.messages(account, &filter, after, left.min(PAGE_ROWS)).await?;
        left = left.saturating_sub(u32::try_from(page.messages.len()).unwrap_or(u32::MAX));
        rows.extend(page.messages);
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    Ok(rows)
}

async fn raw(id: MessageId, target: &Target) -> Result<(), CliError> {
    let store = target.open().await?.store;
    let details = store.message(id).await?;
    let content = store.body(id).await?;
    let content = content.ok_or_else(|| {
        CliError::Usage(format!("the content of {} is no longer kept", details.row.id))
    })?;
    note_act(acts::content_read(details.row.account_id, id));
    if target.output.is_json() {
        let text = String::from_utf8_lossy(&content);
        target.output.one(&json!({"id": id, "raw": text}), String::new);
    } else {
        dump(&content);
    }
    Ok(())
}
