//! `waxwing maintenance`: read-only mode.

use clap::Subcommand;
use serde_json::{Value, json};

use super::error::CliError;
use super::open::Target;
use super::output::{note_act, text};
use crate::api::shapes::Maintenance;
use crate::management::acts;
use crate::management::maintenance::{reason, switch_on};
use crate::store::MaintenanceDelivery;

/// Switch read-only mode on and off.
#[derive(Debug, Subcommand)]
pub enum MaintenanceCommand {
    /// Refuse messages and changes from the next request on, also after a restart: HTTP 503, SMTP 451. Reading and these
    /// commands work
    On {
        /// Why; clients and the dashboard are told
        #[arg(long)]
        reason: String,
        /// Hold mail that waits, too; attempts that are under way end. A running server sees it within 5 s
        #[arg(long)]
        hold_delivery: bool,
        #[command(flatten)]
        target: Target,
    },
    /// Accept messages and changes again, and deliver
    Off {
        #[command(flatten)]
        target: Target,
    },
    /// Show whether read-only mode is on, and why
    Show {
        #[command(flatten)]
        target: Target,
    },
}

pub async fn run(command: MaintenanceCommand) -> Result<(), CliError> {
    let (target, known) = match command {
        MaintenanceCommand::On { reason: why, hold_delivery, target } => {
            let why = reason(&why).map_err(|it| CliError::Usage(format!("--reason {it}")))?;
            let delivery =
                if hold_delivery { MaintenanceDelivery::Held } else { MaintenanceDelivery::GoesOn };
            let opened = target.open().await?;
            let now = opened.clock.now();
            let known = switch_on(&opened.store, why, delivery, now).await?;
            note_act(acts::maintenance_set(Some(&known)));
            (target, Some(known))
        }
        MaintenanceCommand::Off { target } => {
            target.open().await?.store.set_maintenance(None).await?;
            note_act(acts::maintenance_set(None));
            (target, None)
        }
        MaintenanceCommand::Show { target } => {
            let known = target.open().await?.store.maintenance().await?;
            (target, known)
        }
    };
    let shown = json!(Maintenance::new(known.as_ref()));
    target.output.one(&shown, || line(&shown));
    Ok(())
}

fn line(shown: &Value) -> String {
    if shown["readOnly"] != true {
        return "read-only mode is off: messages and changes are accepted".to_owned();
    }
    let [reason, since] = ["reason", "since"].map(|it| text(shown, it));
    let delivery = if shown["holdsDelivery"] == true { "held" } else { "going on" };
    format!("read-only mode is on since {since}: {reason}; delivery is {delivery}")
}
