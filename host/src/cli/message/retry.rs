//! `waxwing message retry`.

use clap::Args;
use serde_json::json;

use super::super::error::CliError;
use super::super::open::Target;
use crate::id::{AccountId, MessageId};
use crate::store::{RetryFilter, RetryOutcome};

/// Which messages are tried again.
#[derive(Debug, Args)]
#[group(id = "which", required = true, multiple = true, args = ["ids", "all", "account", "domain"])]
pub struct Retry {
    /// `msg_…`; several may be given
    ids: Vec<MessageId>,
    /// All deferred messages
    #[arg(long, conflicts_with_all = ["ids", "account", "domain"])]
    all: bool,
    /// All of that account, `acc_…`
    #[arg(long, conflicts_with = "ids")]
    account: Option<AccountId>,
    /// All to recipients at that domain
    #[arg(long, conflicts_with = "ids")]
    domain: Option<String>,
    #[command(flatten)]
    target: Target,
}

impl Retry {
    /// Makes them due; a running server sees it within five seconds.
    pub async fn run(self) -> Result<(), CliError> {
        let Self { ids, account, domain, target, all: _all_where_nothing_else_is_said } = self;
        let opened = target.open().await?;
        let now = opened.clock.now();
        let tried = if ids.is_empty() {
            let domain = domain.map(|it| it.to_ascii_lowercase());
            opened.store.retry_all(&RetryFilter { account, domain }, now).await?
        } else {
            let mut tried = 0;
            for id in ids {
                match opened.store.retry(id, now).await? {
                    RetryOutcome::Now => tried += 1,
                    RetryOutcome::Not(state) => {
                        return Err(CliError::Usage(format!(
                            "{id} is {state}; only a deferred message can be tried again"
                        )));
                    }
                }
            }
            tried
        };
        let tell = || format!("{tried} due now; a running server begins within 5 seconds");
        target.output.one(&json!({"due": tried}), tell);
        Ok(())
    }
}
