//! What the API answers: handlers make these values, and `/openapi.json` describes their types. What
//! requests hold and what is posted to webhooks is described here too.

mod account;
mod audit;
mod brand;
mod credit;
mod domain;
mod health;
mod key;
mod maintenance;
mod management;
mod message;
mod node;
mod operator;
mod page;
mod plan;
mod problem;
mod queue;
mod reference;
mod refusals;
mod request;
mod send;
mod setting;
mod suppression;
mod team;
mod template;
mod test_recipient;
mod traffic;
mod user;
mod webhook;

pub use account::{Account, AccountPage};
pub use audit::AuditLogPage;
pub use brand::Brand;
pub use credit::{Balance, Grant, LedgerEntry, LedgerPage};
pub use domain::{DeletedDomain, Domain, DomainRecord, DomainSummary, domain_records};
pub use health::{Health, HealthInDetail, HealthReport, Ready};
pub use key::{Key, KeyPage, NewKey};
pub use maintenance::{ChangeMaintenance, Maintenance};
pub use management::{
    ChangeAccount, ChangeKey, ChangeOwnAccount, CreateAccount, CreateGrant, CreateKey,
};
pub use message::{Attempt, AttemptList, Event, EventList, Message, MessagePage, MessageSummary};
pub use node::{Node, NodeList};
pub use operator::{DecisionRecord, Installed, LogPage, Slot, SlotSettings};
pub use page::{Listing, Page};
pub use plan::PlanList;
pub use problem::{Fault, Problem};
pub use queue::{
    Audience, OldMail, QueuePage, QueuedDomain, QueuedGroup, QueuedMessage, ReleasedQueue,
    RetriedDestination, WhyQueued,
};
pub use reference::{
    Archive, Component, ComponentOrNothing, Count, DecisionOrMessage, ImpactRule, Limit,
    PluginSettings, SlotRef,
};
pub use refusals::{
    AuthorReadRefusals, AuthorRefusals, BrandRefusals, ChangeRefusals, DeletionRefusals,
    GrantRefusals, KeyRefusals, MaintenanceRefusals, OperatorChangeRefusals, OperatorReadRefusals,
    ReadRefusals, Refusals, RemoveUserRefusals, ResendRefusals, SettingsRefusals, StateRefusals,
    TeamRefusals, TestRecipientRefusals, UserRefusals,
};
pub use request::{
    AccountQuery, AddDomain, Attachment, ChangeBrand, ChangeWebhook, CreateWebhook, IdempotencyKey,
    IfMatch, ImportGoal, NewSuppression, NewSuppressions, Owner, OwnerQuery, ReplayWebhook,
    SendBatch, SendRequest,
};
pub use send::{BatchResponse, BatchResult, Resent, SendResponse};
pub use setting::SettingList;
pub use suppression::{
    DeletedSuppression, RestoreSuppressions, Suppression, SuppressionKind, SuppressionPage,
    SuppressionResult, SuppressionResults,
};
pub use team::{ChangeMember, InviteMember, RemovedMember, TeamInvitation, TeamList, TeamMember};
pub use template::{
    CreateTemplate, DeletedTemplate, DuplicateTemplate, PreviewTemplate, PublishTemplate,
    PublishedTemplate, RollbackTemplate, SnippetLanguage, Template, TemplateDiff, TemplateImport,
    TemplateList, TemplatePreview, TemplateSchema, TemplateSnippets, TemplateSummary,
    TemplateValidation, TemplateVersion, TemplateVersionList, TemplateVersionSummary, TestTemplate,
    ValidateTemplate, etag as template_etag,
};
pub use test_recipient::{
    DeletedTestRecipient, NewTestRecipient, TestRecipient, TestRecipientList,
};
pub use traffic::{HourList, Hours};
pub use user::{DeletedUser, GiveRole, InviteUser, ResetUser, User, UserLink, UserPage};
pub use webhook::{
    DeletedWebhook, DeliveryState, MessageDeliveryList, NewWebhook, Replayed, Webhook,
    WebhookDelivery, WebhookDeliveryList, WebhookList, WebhookTest,
};

/// Implements `From<row>` for an answer of the API whose members have the names of the row's columns; one that is
/// made of its column says how.
macro_rules! from_row {
    ($row:ident: $type:ty => $answer:ty { $($member:ident $(: $value:expr)?),* $(,)? }) => {
        impl From<$type> for $answer {
            fn from($row: $type) -> Self {
                Self { $($member: from_row!(@member $row $member $($value)?)),* }
            }
        }
    };
    (@member $row:ident $member:ident) => { $row.$member };
    (@member $row:ident $member:ident $value:expr) => { $value };
}

use from_row;

/// What an author writes.
pub use crate::template::source::TemplateSource as TemplateDraft;
