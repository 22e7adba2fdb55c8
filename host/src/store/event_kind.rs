//! What an event is of. In the database it is a number, which is never given to another type.

use crate::domain::verification::DomainEvent;
use crate::message::state::MessageState;
use crate::store::records::CreditEventKind;

/// The type of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    State(MessageState),
    Complained,
    DomainVerified,
    DomainWarning,
    DomainDegraded,
    DomainFailed,
    CreditsLow,
    CreditsExhausted,
    TemplatePublished,
    PluginActivated,
    PluginRolledBack,
    PluginTrapped,
    WebhookDisabled,
    ServerHealth,
}

/// What the subject of an event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubjectKind {
    Message,
    Domain,
    Account,
    Template,
    /// Its name stands in the event: it has no identifier.
    Slot,
    Webhook,
    /// A health check, by its name as well.
    Check,
}

/// Up to this number events are about messages.
pub const LAST_OF_MESSAGES: i64 = 19;
/// From here on they are about domains.
pub const FIRST_OF_DOMAINS: i64 = 20;
pub const LAST_OF_DOMAINS: i64 = 29;

const KINDS: [(i64, &str, EventKind); 23] = [
    (1, "message.scheduled", EventKind::State(MessageState::Scheduled)),
    (2, "message.queued", EventKind::State(MessageState::Queued)),
    (3, "message.sending", EventKind::State(MessageState::Sending)),
    (4, "message.delivered", EventKind::State(MessageState::Delivered)),
    (5, "message.relayed", EventKind::State(MessageState::Relayed)),
    (6, "message.deferred", EventKind::State(MessageState::Deferred)),
    (7, "message.bounced", EventKind::State(MessageState::Bounced)),
    (8, "message.failed", EventKind::State(MessageState::Failed)),
    (9, "message.suppressed", EventKind::State(MessageState::Suppressed)),
    (10, "message.canceled", EventKind::State(MessageState::Canceled)),
    (11, "message.complained", EventKind::Complained),
    (20, "domain.verified", EventKind::DomainVerified),
    (21, "domain.warning", EventKind::DomainWarning),
    (22, "domain.degraded", EventKind::DomainDegraded),
    (23, "domain.failed", EventKind::DomainFailed),
    (30, "credits.low", EventKind::CreditsLow),
    (31, "credits.exhausted", EventKind::CreditsExhausted),
    (40, "template.published", EventKind::TemplatePublished),
    (50, "plugin.activated", EventKind::PluginActivated),
    (51, "plugin.rolled_back", EventKind::PluginRolledBack),
    (52, "plugin.trapped", EventKind::PluginTrapped),
    (60, "webhook.disabled", EventKind::WebhookDisabled),
    (70, "server.health", EventKind::ServerHealth),
];

impl EventKind {
    /// Its number in the database.
    #[must_use]
    pub fn number(self) -> i64 {
        self.row().0
    }

    /// As webhooks and the API name it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.row().1
    }

    #[must_use]
    pub fn from_number(number: i64) -> Option<Self> {
        KINDS.iter().find(|it| it.0 == number).map(|it| it.2)
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        KINDS.iter().find(|it| it.1 == name).map(|it| it.2)
    }

    #[must_use]
    pub fn subject(self) -> SubjectKind {
        match self {
            Self::State(_) | Self::Complained => SubjectKind::Message,
            Self::DomainVerified
            | Self::DomainWarning
            | Self::DomainDegraded
            | Self::DomainFailed => SubjectKind::Domain,
            Self::CreditsLow | Self::CreditsExhausted => SubjectKind::Account,
            Self::TemplatePublished => SubjectKind::Template,
            Self::PluginActivated | Self::PluginRolledBack | Self::PluginTrapped => {
                SubjectKind::Slot
            }
            Self::WebhookDisabled => SubjectKind::Webhook,
            Self::ServerHealth => SubjectKind::Check,
        }
    }

    fn row(self) -> &'static (i64, &'static str, Self) {
        KINDS.iter().find(|it| it.2 == self).expect("each type of event has a number")
    }
}

impl From<DomainEvent> for EventKind {
    fn from(event: DomainEvent) -> Self {
        match event {
            DomainEvent::Verified => Self::DomainVerified,
            DomainEvent::Warning => Self::DomainWarning,
            DomainEvent::Degraded => Self::DomainDegraded,
            DomainEvent::Failed => Self::DomainFailed,
        }
    }
}

impl From<CreditEventKind> for EventKind {
    fn from(event: CreditEventKind) -> Self {
        match event {
            CreditEventKind::Low => Self::CreditsLow,
            CreditEventKind::Exhausted => Self::CreditsExhausted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_and_a_name_stand_for_one_type_of_event() {
        for (number, name, kind) in KINDS {
            assert_eq!((kind.number(), kind.as_str()), (number, name));
            assert_eq!(EventKind::from_number(number), Some(kind));
            assert_eq!(EventKind::from_name(name), Some(kind));
        }
        for state in MessageState::ALL {
            assert_eq!(EventKind::State(state).as_str(), format!("message.{state}"));
        }
        for event in [
            DomainEvent::Verified,
            DomainEvent::Warning,
            DomainEvent::Degraded,
            DomainEvent::Failed,
        ] {
            assert_eq!(EventKind::from(event).as_str(), event.as_str());
        }
        assert!(EventKind::from_number(0).is_none());
    }

    #[test]
    fn the_numbers_say_whether_an_event_is_about_a_message_or_a_domain() {
        for (number, _, kind) in KINDS {
            assert_eq!(
                kind.subject() == SubjectKind::Message,
                number <= LAST_OF_MESSAGES,
                "{number}"
            );
            let of_domains = (FIRST_OF_DOMAINS..=LAST_OF_DOMAINS).contains(&number);
            assert_eq!(kind.subject() == SubjectKind::Domain, of_domains, "{number}");
        }
    }
}
