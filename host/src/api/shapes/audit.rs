//! The audit log.

use serde::Serialize;
use utoipa::ToSchema;

use super::page::{Listed, PAGED, Page, PageDoc};
use crate::id::AccountId;
use crate::store::{ActorId, AuditRow};

/// A change: who has done what, and from where.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntry {
    /// When it was done.
    #[schema(format = "date-time")]
    at: String,
    /// `acc_…`; none for what belongs to the server.
    #[schema(value_type = Option<String>, required)]
    account_id: Option<AccountId>,
    /// Who has done it.
    actor: Actor,
    /// Whether the actor is an operator who acted as the account.
    acting: bool,
    /// An operation of this API, or a name of the same kind.
    action: String,
    /// What it was done to.
    #[schema(required)]
    subject: Option<String>,
    /// From where; none where it did not come over the network.
    #[schema(required)]
    ip: Option<String>,
}

/// Who has done something.
#[derive(Serialize, ToSchema)]
pub struct Actor {
    kind: ActorKind,
    /// `usr_…` or `key_…`; none for the others.
    #[schema(required)]
    id: Option<String>,
    /// The e-mail address of a user or the name of a key, as it was then.
    #[schema(required)]
    name: Option<String>,
}

/// What an actor is.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ActorKind {
    /// Somebody in the dashboard.
    User,
    /// A program with an API key.
    Key,
    /// The command line, through the running server.
    ControlToken,
    /// The command line, on the data directory.
    CommandLine,
    /// The server by itself.
    Server,
}

impl From<AuditRow> for AuditEntry {
    fn from(row: AuditRow) -> Self {
        let (kind, id) = match row.actor {
            ActorId::User(id) => (ActorKind::User, Some(id.to_string())),
            ActorId::Key(id) => (ActorKind::Key, Some(id.to_string())),
            ActorId::ControlToken => (ActorKind::ControlToken, None),
            ActorId::CommandLine => (ActorKind::CommandLine, None),
            ActorId::Server => (ActorKind::Server, None),
        };
        Self {
            at: row.at.rfc3339(),
            account_id: row.account,
            actor: Actor { kind, id, name: row.actor_name },
            acting: row.acting,
            action: row.action,
            subject: row.subject,
            ip: row.ip,
        }
    }
}

pub type AuditLogPage = Page<AuditEntry>;

impl Listed for AuditEntry {
    const PAGE: PageDoc = PageDoc {
        name: "AuditLogPage",
        about: "Some of the changes.",
        data: "Newest first.",
        ..PAGED
    };
}
