//! What a session costs that does nothing: open, logged in, silent.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};

use super::session::Session;
use super::target::Target;
use crate::{figures, process};

/// Sessions that come and go first, so that what is made once is not counted.
const FIRST: u32 = 8;
/// What a handshake left to do is done by then.
const SETTLE: Duration = Duration::from_secs(2);

/// Opens so many sessions and says what memory the server has for each.
pub async fn measure(target: &Target, sessions: u32) -> io::Result<Value> {
    for session in open(target, FIRST).await? {
        session.quit().await?;
    }
    tokio::time::sleep(SETTLE).await;
    let before = process::resident(&target.pids)?;
    let open = open(target, sessions).await?;
    tokio::time::sleep(SETTLE).await;
    let after = process::resident(&target.pids)?;
    for session in open {
        session.quit().await?;
    }
    let each = |before: u64, after: u64| {
        figures::kibibytes_each(after.saturating_sub(before), sessions.into())
    };
    Ok(json!({
        "residentBeforeMb": figures::mebibytes(before.own_kib),
        "residentAfterMb": figures::mebibytes(after.own_kib),
        "residentKibPerSession": each(before.own_kib, after.own_kib),
        "withSharedPagesDividedKibPerSession": each(before.divided_kib, after.divided_kib),
    }))
}

async fn open(target: &Target, count: u32) -> io::Result<Vec<Session>> {
    let mut sessions = Vec::new();
    for _ in 0..count {
        sessions.push(Session::open(target).await?);
    }
    Ok(sessions)
}
