//! Read-only mode: what an operator has switched the server to, for a restart and for every other process on this database.

use serde::{Deserialize, Serialize};

use super::Store;
use super::database::{inconsistent, sql};
use crate::clock::Timestamp;
use crate::store::StoreError;

const NOTE: &str = "maintenance";

/// The server takes no messages and no changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Maintenance {
    /// In the operator's words; clients are told.
    pub reason: String,
    pub since: Timestamp,
    pub delivery: MaintenanceDelivery,
}

/// What becomes of the mail that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MaintenanceDelivery {
    GoesOn,
    Held,
}

impl Maintenance {
    #[must_use]
    pub fn holds_delivery(&self) -> bool {
        self.delivery == MaintenanceDelivery::Held
    }
}

impl Store {
    /// Whether the server takes nothing now, and why.
    pub async fn maintenance(&self) -> Result<Option<Maintenance>, StoreError> {
        let Some(noted) = self.noted(NOTE).await? else { return Ok(None) };
        let read = serde_json::from_str(&noted);
        read.map(Some).map_err(|_| inconsistent("upkeep", "value", &noted))
    }

    /// Switches read-only mode on, or off. The revision moves, so that every process sees it at its next request.
    pub async fn set_maintenance(&self, wanted: Option<&Maintenance>) -> Result<(), StoreError> {
        let mut tx = self.db.begin("set_maintenance").await?;
        let note = match wanted {
            Some(wanted) => sql("-- set_maintenance: on
                 INSERT INTO upkeep (name, value) VALUES ($1, $2)
                 ON CONFLICT (name) DO UPDATE SET value = excluded.value")
            .bind(NOTE)
            .json(wanted),
            None => sql("-- set_maintenance: off\nDELETE FROM upkeep WHERE name = $1").bind(NOTE),
        };
        note.run(&mut tx).await?;
        let moved = sql("-- set_maintenance: revision\nUPDATE revision SET value = value + 1");
        moved.run(&mut tx).await?;
        tx.commit().await
    }
}
