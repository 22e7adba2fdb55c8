//! The audit log: how it is searched, and where a page of it goes on.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::clock::Timestamp;
use crate::id::AccountId;
use crate::store::seal::Seal;
use crate::store::{ActorId, AuditRow, Store, StoreError};

/// Rows that a search reads at one time, and how often: of a long log a page may be short, and have a next one.
const BATCH_ROWS: u32 = 250;
const BATCHES: usize = 8;

/// A page of the log.
#[derive(Debug, Default)]
pub struct Found {
    /// Newest first, with their numbers.
    pub rows: Vec<(i64, AuditRow)>,
    /// The number before which the next page begins; none where the log ends here.
    pub next: Option<i64>,
    /// When the oldest change was made that was looked at.
    pub looked_to: Option<Timestamp>,
}

/// Changes of an account, or of the whole server, before the number `before`: those whose actor, action or subject has
/// `text` in it, upper and lower case alike, or that came from the address `text`. All changes where `text` is empty.
///
/// # Errors
/// The database failed.
pub async fn search(
    store: &Store,
    account: Option<AccountId>,
    text: &str,
    before: Option<i64>,
    limit: u32,
) -> Result<Found, StoreError> {
    let (text, wanted) = (text.trim().to_lowercase(), usize::try_from(limit).unwrap_or(usize::MAX));
    let batch = if text.is_empty() { limit.saturating_add(1) } else { BATCH_ROWS };
    let mut found = Found { next: before, ..Found::default() };
    for _ in 0..BATCHES {
        let rows = match account {
            Some(account) => store.audit(account, found.next, batch).await?,
            None => store.audit_of_server(found.next, batch).await?,
        };
        let is_last = rows.len() < usize::try_from(batch).unwrap_or(usize::MAX);
        for (number, row) in rows {
            if found.rows.len() == wanted {
                return Ok(found);
            }
            (found.next, found.looked_to) = (Some(number), Some(row.at));
            if text.is_empty() || has(&row, &text) {
                found.rows.push((number, row));
            }
        }
        if is_last {
            found.next = None;
            break;
        }
    }
    Ok(found)
}

/// The name of whoever has made a change, or what the actor is where it has none.
#[must_use]
pub fn actor(row: &AuditRow) -> &str {
    row.actor_name.as_deref().unwrap_or(match row.actor {
        ActorId::User(_) => "somebody",
        ActorId::Key(_) => "a key",
        ActorId::ControlToken | ActorId::CommandLine => "the command line",
        ActorId::Server => "the server",
    })
}

fn has(row: &AuditRow, text: &str) -> bool {
    let subject = row.subject.as_deref().unwrap_or_default();
    // People write `create key`, programs `create_key`.
    let words = row.action.replace('_', " ");
    let mut texts = [actor(row), &row.action, &words, subject].into_iter();
    row.ip.as_deref() == Some(text) || texts.any(|it| it.to_lowercase().contains(text))
}

/// The number of a row, sealed: it would tell each account how much all others change.
#[derive(Debug)]
pub struct Cursor<'a> {
    pub seal: &'a Seal,
    /// Whose log; none for that of the server.
    pub account: Option<AccountId>,
}

impl Cursor<'_> {
    fn identity(&self) -> String {
        match self.account {
            Some(account) => format!("audit {account}"),
            None => "audit of the server".to_owned(),
        }
    }

    #[must_use]
    pub fn tell(&self, number: i64) -> String {
        URL_SAFE_NO_PAD.encode(self.seal.seal(&self.identity(), &number.to_be_bytes()))
    }

    /// The number of the row; none where the text is of another log, or made up.
    #[must_use]
    pub fn read(&self, text: &str) -> Option<i64> {
        let sealed = URL_SAFE_NO_PAD.decode(text).ok()?;
        let opened = self.seal.open(&self.identity(), &sealed).ok()?;
        opened.try_into().ok().map(i64::from_be_bytes)
    }
}
