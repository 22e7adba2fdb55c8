//! The types of events, and the patterns by which webhooks choose among them.

/// All types of events that a webhook can get. A test (`webhook.test`) is made for one webhook and needs no
/// choice.
pub const TYPES: [&str; 23] = [
    "message.scheduled",
    "message.queued",
    "message.sending",
    "message.delivered",
    "message.relayed",
    "message.deferred",
    "message.bounced",
    "message.failed",
    "message.suppressed",
    "message.canceled",
    "message.complained",
    "domain.verified",
    "domain.warning",
    "domain.degraded",
    "domain.failed",
    "credits.low",
    "credits.exhausted",
    "template.published",
    "plugin.activated",
    "plugin.rolled_back",
    "plugin.trapped",
    DISABLED,
    "server.health",
];
/// Posted to the other webhooks of the same owner.
pub const DISABLED: &str = "webhook.disabled";

/// A text that chooses nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{pattern:?} is no type of event; types are {}", known())]
pub struct UnknownType {
    pub pattern: String,
}

/// Whether a webhook with these patterns wants a type; without any it wants all.
#[must_use]
pub fn wants(patterns: &[String], wanted: &str) -> bool {
    patterns.is_empty() || patterns.iter().any(|it| chooses(it, wanted))
}

/// Checks a pattern: a type, a group as in `message.*`, or `*`.
///
/// # Errors
/// It chooses none of the types that there are.
pub fn check(pattern: &str) -> Result<(), UnknownType> {
    // A pattern that only begins like a type is none: `message.del*` would never be understood.
    let is_known = TYPES.into_iter().any(|it| chooses(pattern, it));
    if is_known { Ok(()) } else { Err(UnknownType { pattern: pattern.chars().take(80).collect() }) }
}

fn chooses(pattern: &str, wanted: &str) -> bool {
    let group = pattern.strip_suffix(".*");
    pattern == "*"
        || pattern == wanted
        || group.is_some_and(|it| wanted.split_once('.').is_some_and(|(of, _)| of == it))
}

fn known() -> String {
    let mut known = TYPES.join(", ");
    known.push_str("; also a group as in message.*, or * for all");
    known
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::verification::DomainEvent;
    use crate::message::state::MessageState;

    #[test]
    fn every_event_that_is_written_can_be_chosen() {
        for state in MessageState::ALL {
            assert_eq!(check(&format!("message.{state}")), Ok(()));
        }
        for event in [
            DomainEvent::Verified,
            DomainEvent::Warning,
            DomainEvent::Degraded,
            DomainEvent::Failed,
        ] {
            assert_eq!(check(event.as_str()), Ok(()));
        }
        assert_eq!(check(DISABLED), Ok(()));
    }

    #[test]
    fn a_group_or_a_star_chooses_all_of_it() {
        let wants = |patterns: &[&str], wanted| {
            wants(&patterns.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>(), wanted)
        };
        assert!(wants(&[], "message.queued") && wants(&["*"], "credits.low"));
        assert!(wants(&["message.*"], "message.queued"));
        assert!(!wants(&["message.*"], "domain.failed"));
        assert!(wants(&["domain.failed", "message.bounced"], "message.bounced"));
        assert!(!wants(&["message.bounced"], "message.queued"));
    }

    #[test]
    fn what_chooses_nothing_is_refused_with_what_there_is() {
        for pattern in
            ["", "message", "message.", "message.*.*", "message.del*", "Message.queued", "**"]
        {
            let error = check(pattern).expect_err(pattern).to_string();
            assert!(error.contains("message.delivered") && error.contains("webhook.disabled"));
        }
    }

    #[test]
    fn the_receivers_guide_names_every_type() {
        let guide = include_str!("WEBHOOKS.md");
        for name in TYPES.into_iter().chain(["webhook.test"]) {
            assert!(guide.contains(&format!("`{name}`")), "{name}");
        }
    }
}
