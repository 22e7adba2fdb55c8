//! Who has changed what, from where. Append-only, held so by triggers.

use super::Store;
use super::database::{Row, Statement, column, inconsistent, moment, sql};
use crate::clock::Timestamp;
use crate::id::{AccountId, KeyId, UserId};
use crate::store::StoreError;

/// Characters of the subject of a change: of a longer one the beginning is kept.
const MAX_SUBJECT_CHARS: usize = 1_000;

/// Who did something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActorId {
    User(UserId),
    Key(KeyId),
    /// Whoever reads the data directory, through a running server.
    ControlToken,
    CommandLine,
    /// The server by itself, as at the first start of `waxwing dev`.
    Server,
}

/// A change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    pub at: Timestamp,
    /// None for what belongs to the server.
    pub account: Option<AccountId>,
    pub actor: ActorId,
    /// Whether the actor is an operator who acted as the account.
    pub acting: bool,
    /// The e-mail address of a user, the name of a key: what they did outlives them.
    pub actor_name: Option<String>,
    /// An operation of the API, or a name of the same kind.
    pub action: String,
    /// What it was done to.
    pub subject: Option<String>,
    /// None where it did not come over the network.
    pub ip: Option<String>,
}

impl ActorId {
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::User(_) => "user",
            Self::Key(_) => "key",
            Self::ControlToken => "control-token",
            Self::CommandLine => "command-line",
            Self::Server => "server",
        }
    }
}

impl Store {
    /// Writes a change down.
    pub async fn record_audit(&self, row: &AuditRow) -> Result<(), StoreError> {
        insert_audit(row).run(&self.db.writer).await.map(|_| ())
    }

    /// Records a change that has taken effect. A failure is logged and not returned: a caller who got an error would make
    /// the change once more.
    pub async fn record_made_change(&self, row: &AuditRow) {
        if let Err(error) = self.record_audit(row).await {
            tracing::error!(%error, action = row.action, subject = ?row.subject, account = ?row.account, "the audit entry of a change that took effect could not be written; the change stands, and the audit log lacks it");
        }
    }

    /// Changes of an account, newest first, with their numbers; before the number `before`.
    pub async fn audit(
        &self,
        account: AccountId,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<(i64, AuditRow)>, StoreError> {
        let rows = sql("-- audit
             SELECT id, created_at, account_id, actor, actor_id, actor_name, action, subject, ip, acting
             FROM audit WHERE account_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3")
        .bind(account)
        .bind(before.unwrap_or(i64::MAX))
        .bind(limit)
        .all(&self.db.pages)
        .await?;
        rows.iter().map(audit_row).collect()
    }

    /// Changes of the whole server, newest first, with their numbers; before the number `before`.
    pub async fn audit_of_server(
        &self,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<(i64, AuditRow)>, StoreError> {
        let rows = sql("-- audit_of_server
             SELECT id, created_at, account_id, actor, actor_id, actor_name, action, subject, ip, acting
             FROM audit WHERE id < $1 ORDER BY id DESC LIMIT $2")
        .bind(before.unwrap_or(i64::MAX))
        .bind(limit)
        .all(&self.db.pages)
        .await?;
        rows.iter().map(audit_row).collect()
    }
}

/// The statement that writes a change down.
pub(super) fn insert_audit(row: &AuditRow) -> Statement<'_> {
    let statement = sql("-- record_audit
         INSERT INTO audit (created_at, account_id, actor, actor_name, action, subject, ip, acting, actor_id)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)")
    .bind(row.at.millis())
    .bind(row.account)
    .bind(row.actor.as_str())
    .bind(&row.actor_name)
    .bind(&row.action)
    .bind(row.subject.as_deref().map(bounded))
    .bind(&row.ip)
    .bind(row.acting);
    match row.actor {
        ActorId::User(id) => statement.bind(id),
        ActorId::Key(id) => statement.bind(id),
        ActorId::ControlToken | ActorId::CommandLine | ActorId::Server => {
            statement.bind(None::<UserId>)
        }
    }
}

/// The subject as it is kept, within a bound: some subjects are texts of any length that a client has sent.
fn bounded(subject: &str) -> &str {
    let end = subject.char_indices().nth(MAX_SUBJECT_CHARS).map(|(at, _)| at);
    end.and_then(|end| subject.get(..end)).unwrap_or(subject)
}

fn audit_row(row: &Row) -> Result<(i64, AuditRow), StoreError> {
    let actor: &str = column(row, "actor")?;
    let actor = match actor {
        "user" => ActorId::User(column(row, "actor_id")?),
        "key" => ActorId::Key(column(row, "actor_id")?),
        "control-token" => ActorId::ControlToken,
        "command-line" => ActorId::CommandLine,
        "server" => ActorId::Server,
        _ => return Err(inconsistent("audit", "actor", actor)),
    };
    let change = AuditRow {
        at: moment(row, "created_at")?,
        account: column(row, "account_id")?,
        actor,
        acting: column(row, "acting")?,
        actor_name: column(row, "actor_name")?,
        action: column(row, "action")?,
        subject: column(row, "subject")?,
        ip: column(row, "ip")?,
    };
    Ok((column(row, "id")?, change))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_subject_the_beginning_is_kept() {
        let long = "é".repeat(MAX_SUBJECT_CHARS + 1);
        assert_eq!(bounded(&long), "é".repeat(MAX_SUBJECT_CHARS));
        assert_eq!(bounded(&"é".repeat(MAX_SUBJECT_CHARS)), "é".repeat(MAX_SUBJECT_CHARS));
        assert_eq!([bounded(""), bounded("key_1")], ["", "key_1"]);
    }
}
