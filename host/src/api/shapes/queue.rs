//! Why mail waits, as the API answers it.

mod words;

use serde::Serialize;
use utoipa::ToSchema;

use super::page::{Listed, PAGED, Page, PageDoc};
use crate::clock::Timestamp;
use crate::delivery::outcome::{Backoff, RouteTaken};
use crate::delivery::queue::why::{
    HealthState, HostsHealth, Waiting, WhyDestination, WhyDomain, WhyMessage,
};
use crate::delivery::shaping::reason::Reason;
use crate::id::{AccountId, MessageId};
use crate::management::delivery_hold::Released;
use crate::message::state::MessageState;
use crate::store::{LastAttempt, MAX_COUNTED, MAX_LISTED_MESSAGES, MessageRow};
use words::{Words, named};

pub use words::Audience;

/// Different texts for one reason that an answer quotes, at most; the others are only counted.
const MAX_WORDS: usize = 3;

/// Why a message is not on its way to a server now. The list is closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WaitReason {
    /// Its `sendAt` is in the future.
    Scheduled,
    /// The pause after its last attempt.
    Retry,
    /// Delivery backs off from the hosts.
    BackOff,
    /// The hosts defer or drop the mail of this account alone.
    AccountBackOff,
    /// The domain's MX cannot be resolved now.
    UnresolvedMx,
    /// The account is suspended.
    AccountSuspended,
    /// One probe at a time goes to hosts without a good record.
    Probing,
    /// All slots of the destination are in use.
    DestinationFull,
    /// The messages a minute of the destination are used up.
    RateLimit,
    /// As many large messages to the destination are under way as may be.
    LargeMessages,
    /// No memory is free for a message of this size.
    Memory,
    /// The attempts for hosts without a good record are used up.
    Probation,
    /// The domain's MX is being looked up.
    Lookup,
    /// All attempts of the server are under way.
    NoFreeAttempt,
    /// The server was restored from a backup, and its operator has not released delivery yet.
    AfterRestore,
    /// An operator holds delivery in read-only mode.
    Maintenance,
    /// It ends without an attempt: its recipient has been suppressed, or its domain takes no mail.
    Ending,
    /// Nothing holds the message: the next round starts it.
    Starting,
    /// An attempt is under way.
    Sending,
}

/// Why one message waits, or its final state.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueuedMessage {
    /// `msg_…`
    #[schema(value_type = String)]
    id: MessageId,
    /// `acc_…`
    #[schema(value_type = String)]
    account_id: AccountId,
    /// The envelope's recipient.
    to: String,
    /// Where it stands.
    state: MessageState,
    /// Since when it is in that state.
    #[schema(format = "date-time")]
    since: String,
    /// The reason, in the words of the server that replied.
    reason: String,
    /// What it waits for; null if nothing is left to be delivered.
    waits_for: Option<WaitReason>,
    /// The same in a sentence.
    explanation: String,
    /// When it may go on, if that is known; it may go on earlier.
    #[schema(format = "date-time")]
    until: Option<String>,
    /// The same in a sentence, with what can make it earlier.
    next: Option<String>,
    /// What can be done about it.
    advice: Option<String>,
    /// What its last attempt was answered.
    last_attempt: Option<LastReply>,
}

/// How the last attempt of a message ended.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LastReply {
    /// When it ended.
    #[schema(format = "date-time")]
    pub at: String,
    /// The host that answered, or did not; an account does not see the name of a smarthost.
    pub host: Option<String>,
    /// The SMTP reply code.
    pub code: Option<u16>,
    /// Its enhanced status code (RFC 3463), as in `5.1.1`.
    pub enhanced: Option<String>,
    /// Its words, or what happened where there was no reply.
    pub reply: String,
}

/// Why mail to one domain waits.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueuedDomain {
    /// In lower case and A-labels.
    pub domain: String,
    /// Messages that are still to be delivered.
    pub messages: u32,
    /// Whether there are more: 20,000 are counted.
    pub has_more: bool,
    /// What they wait for, the most first; one for each reason. A message whose recipient has been suppressed is
    /// with those that are not.
    pub groups: Vec<QueuedGroup>,
    /// Where the mail goes, as the running server knows; empty where it has not looked lately.
    pub hosts: Vec<QueueHosts>,
    /// Why the MX has no hosts; none where it has, or was not looked up lately.
    pub unresolved: Option<String>,
    /// What the last attempt of all these messages was answered.
    pub last_attempt: Option<LastReply>,
}

/// Why a message waits, or all mail to a domain.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum WhyQueued {
    Message(Box<QueuedMessage>),
    Domain(Box<QueuedDomain>),
}

/// A destination for which mail waits.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueuedDestination {
    /// A recipient domain, or `sandbox`.
    domain: String,
    /// Messages that wait.
    messages: u32,
    /// Whether there are more: 1,000 are counted.
    has_more: bool,
    /// Attempts that are under way.
    under_way: u32,
    /// When the oldest of the counted messages was accepted; null where it has just left.
    #[schema(format = "date-time")]
    oldest_at: Option<String>,
    /// What the message waits for that is due first.
    waits_for: WaitReason,
    /// The same in a sentence.
    explanation: String,
    /// When that message may go on, if that is known.
    #[schema(format = "date-time")]
    until: Option<String>,
    /// What can be done about it.
    advice: Option<String>,
}

/// A destination whose deferred messages are due now.
#[derive(Debug, Serialize, ToSchema)]
pub struct RetriedDestination {
    /// A recipient domain in lower case and A-labels, or `sandbox`.
    pub domain: String,
    /// How many messages; none of those that were due, or being sent.
    pub retried: u64,
}

/// What becomes of messages that waited when a backup was taken, and may have gone out since.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[expect(dead_code, reason = "named in the document of the API")]
pub enum OldMail {
    Send,
    Cancel,
}

/// What a release of delivery did.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReleasedQueue {
    /// Whether delivery was held.
    was_held: bool,
    /// The moment of the backup that was restored.
    #[schema(format = "date-time", required, nullable)]
    backup_at: Option<String>,
    /// Messages that were canceled.
    canceled: u64,
}

impl ReleasedQueue {
    pub fn new(released: Option<Released>) -> Self {
        Self {
            was_held: released.is_some(),
            backup_at: released.map(|it| it.backup.rfc3339()),
            canceled: released.map_or(0, |it| it.canceled),
        }
    }
}

/// Destinations, by name.
pub type QueuePage = Page<QueuedDestination>;

/// Messages to one domain that wait for the same. Those of one account, and of about one size, that are due were
/// evaluated together.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueuedGroup {
    pub waits_for: WaitReason,
    /// Why these messages wait, in a sentence, or in several where accounts or hosts differ.
    pub explanation: String,
    /// How many.
    pub messages: u32,
    /// When the first of them may go on, if that is known.
    #[schema(format = "date-time")]
    pub until: Option<String>,
    /// What can be done about it.
    pub advice: Option<String>,
}

/// Hosts that fail and recover together.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueHosts {
    /// Their names.
    pub hosts: String,
    pub health: QueueHealth,
    /// When the back-off from them ends.
    #[schema(format = "date-time")]
    pub until: Option<String>,
    /// Failures in a row.
    pub failures: u32,
    /// The last failure since they accepted or rejected a message. Before the first attempt since the server started
    /// it is what the last attempt of a message that still waits was answered there.
    pub last_error: Option<String>,
    /// When that was.
    #[schema(format = "date-time")]
    pub last_error_at: Option<String>,
}

/// How hosts take mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueueHealth {
    /// They accepted or rejected a message since the last failure.
    Proven,
    /// Since the server started they have accepted or rejected no message, and not failed either.
    Unproven,
    /// They failed last, and the back-off from them is over: one probe at a time tries them.
    Failing,
    /// Delivery backs off from them.
    BackingOff,
}

impl QueuedMessage {
    /// The answer about a message; `why` is null if nothing is left to be delivered.
    pub fn new(
        row: MessageRow,
        why: Option<&WhyMessage>,
        last: Option<LastAttempt>,
        audience: Audience,
    ) -> Self {
        let Words { explanation, next, advice } = match why {
            Some(why) => Words::of(why, row.id, audience),
            None => Words::of_final(row.state),
        };
        Self {
            id: row.id,
            account_id: row.account_id,
            to: row.to,
            state: row.state,
            since: row.updated_at.rfc3339(),
            reason: row.reason,
            waits_for: why.map(|it| WaitReason::from(&it.waiting)),
            explanation,
            until: why.and_then(|it| it.until).map(Timestamp::rfc3339),
            next,
            advice,
            last_attempt: last.map(|it| LastReply::new(it, audience)),
        }
    }
}

impl Listed for QueuedDestination {
    const PAGE: PageDoc = PageDoc {
        name: "QueuePage",
        about: "Destinations for which mail waits.",
        data: "The destinations, by name.",
        ..PAGED
    };
}

impl From<WhyDestination> for QueuedDestination {
    fn from(it: WhyDestination) -> Self {
        let group = QueuedGroup::of_one(&it.first, it.messages);
        Self {
            domain: it.lane,
            messages: it.messages,
            has_more: it.messages >= MAX_LISTED_MESSAGES,
            under_way: it.leased,
            oldest_at: it.oldest_at.map(Timestamp::rfc3339),
            waits_for: group.waits_for,
            explanation: group.explanation,
            until: group.until,
            advice: group.advice,
        }
    }
}

impl QueuedDomain {
    pub fn new(domain: String, why: WhyDomain) -> Self {
        let WhyDomain { groups, hosts, unresolved, last_attempt } = why;
        let messages = groups.iter().map(|(_, messages)| messages).sum();
        Self {
            domain,
            messages,
            has_more: messages >= MAX_COUNTED,
            groups: by_reason(&groups),
            hosts: hosts.into_iter().map(QueueHosts::from).collect(),
            unresolved,
            last_attempt: last_attempt.map(|it| LastReply::new(it, Audience::Operator)),
        }
    }
}

impl QueuedGroup {
    /// The group that one message stands for.
    pub fn of_one(why: &WhyMessage, messages: u32) -> Self {
        let Words { explanation, advice, .. } = Words::of_group(why);
        Self {
            waits_for: WaitReason::from(&why.waiting),
            explanation,
            messages,
            until: why.until.map(Timestamp::rfc3339),
            advice,
        }
    }
}

/// One group for each reason, the most messages first.
fn by_reason(found: &[(WhyMessage, u32)]) -> Vec<QueuedGroup> {
    let mut reasons: Vec<(WaitReason, Vec<&WhyMessage>, u32)> = Vec::new();
    for (why, messages) in found {
        let reason = WaitReason::from(&why.waiting);
        match reasons.iter_mut().find(|(other, ..)| *other == reason) {
            Some((_, whys, sum)) => {
                whys.push(why);
                *sum += messages;
            }
            None => reasons.push((reason, vec![why], *messages)),
        }
    }
    reasons.sort_by_key(|(_, _, messages)| std::cmp::Reverse(*messages));
    let groups = reasons.into_iter().map(|(waits_for, whys, messages)| {
        let until = whys.iter().filter_map(|it| it.until).min();
        let words: Vec<Words> = whys.into_iter().map(Words::of_group).collect();
        QueuedGroup {
            waits_for,
            explanation: joined(words.iter().map(|it| it.explanation.as_str())).unwrap_or_default(),
            messages,
            until: until.map(Timestamp::rfc3339),
            advice: joined(words.iter().filter_map(|it| it.advice.as_deref())),
        }
    });
    groups.collect()
}

/// Joins texts, each once; of more than [`MAX_WORDS`] the rest is given as a number.
fn joined<'a>(texts: impl Iterator<Item = &'a str>) -> Option<String> {
    let texts: std::collections::BTreeSet<&str> = texts.collect();
    let first: Vec<&str> = texts.iter().copied().take(MAX_WORDS).collect();
    match texts.len().saturating_sub(MAX_WORDS) {
        0 if first.is_empty() => None,
        0 => Some(first.join("; ")),
        more => Some(format!("{}; and {more} more like these", first.join("; "))),
    }
}

impl From<HostsHealth> for QueueHosts {
    fn from(of: HostsHealth) -> Self {
        let HostsHealth { hosts, state, failures, last_error } = of;
        let (health, until) = match state {
            HealthState::Proven => (QueueHealth::Proven, None),
            HealthState::Unproven => (QueueHealth::Unproven, None),
            HealthState::Failing => (QueueHealth::Failing, None),
            HealthState::BackingOff { until } => (QueueHealth::BackingOff, Some(until)),
        };
        let (last_error, last_error_at) = last_error.map(|it| (it.reason, it.at.rfc3339())).unzip();
        Self {
            hosts: named(&hosts),
            health,
            until: until.map(Timestamp::rfc3339),
            failures,
            last_error,
            last_error_at,
        }
    }
}

impl LastReply {
    fn new(last: LastAttempt, audience: Audience) -> Self {
        let LastAttempt { ended_at, route, host, code, enhanced, reply } = last;
        let is_told = match RouteTaken::of_column(&route) {
            Some(RouteTaken::Direct | RouteTaken::Sandbox) => true,
            Some(RouteTaken::Smarthost(_)) | None => audience == Audience::Operator,
        };
        let host = host.filter(|_| is_told);
        Self { at: ended_at.rfc3339(), host, code, enhanced, reply }
    }
}

impl From<&Waiting> for WaitReason {
    fn from(waiting: &Waiting) -> Self {
        match waiting {
            Waiting::Scheduled => Self::Scheduled,
            Waiting::Retry => Self::Retry,
            Waiting::AfterBackOff { account: None, .. } => Self::BackOff,
            Waiting::AfterBackOff { account: Some(_), .. } => Self::AccountBackOff,
            Waiting::UnresolvedMx(_) => Self::UnresolvedMx,
            Waiting::AccountSuspended(_) => Self::AccountSuspended,
            Waiting::AfterRestore => Self::AfterRestore,
            Waiting::Maintenance => Self::Maintenance,
            Waiting::Ending(_) => Self::Ending,
            Waiting::Starting => Self::Starting,
            Waiting::Sending => Self::Sending,
            Waiting::Held(reason, _) => match reason {
                Reason::BackOff(Backoff { account: None, .. }) => Self::BackOff,
                Reason::BackOff(Backoff { account: Some(_), .. }) => Self::AccountBackOff,
                Reason::Probing => Self::Probing,
                Reason::DestinationFull => Self::DestinationFull,
                Reason::RateLimit(_) | Reason::OperatorRateLimit(_) => Self::RateLimit,
                Reason::LargeMessages => Self::LargeMessages,
                Reason::Memory => Self::Memory,
                Reason::Probation => Self::Probation,
                Reason::Lookup => Self::Lookup,
                Reason::NoFreeAttempt => Self::NoFreeAttempt,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::waits_for::Hosts;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn why(waiting: Waiting, until: Option<Timestamp>) -> WhyMessage {
        WhyMessage { waiting, until }
    }

    #[test]
    fn a_domain_has_one_group_for_each_reason() {
        let later = NOW.after(std::time::Duration::from_mins(1));
        let hosts = Hosts::Smarthost("post".into());
        let reason = "it answers `554 no`".to_owned();
        let backoff =
            Backoff { hosts, account: None, since: NOW, until: later, reason, failures: 1 };
        let last_error = None;
        let waits_for =
            Waiting::AfterBackOff { hosts: backoff.hosts.clone(), account: None, last_error };
        let accounts = [1, 2, 3, 4].map(|at| AccountId::new(Timestamp::from_millis(at)));
        let suspended = accounts.map(|it| (why(Waiting::AccountSuspended(it), None), 1));
        let found = [
            (why(waits_for, Some(later)), 2),
            (why(Waiting::Held(Reason::BackOff(backoff), None), Some(NOW)), 3),
            (why(Waiting::Sending, None), 1),
        ];
        let groups = by_reason(&[&suspended[..], &found].concat());
        let seen: Vec<_> = groups.iter().map(|it| (it.waits_for, it.messages)).collect();
        let expected =
            [(WaitReason::BackOff, 5), (WaitReason::AccountSuspended, 4), (WaitReason::Sending, 1)];
        assert_eq!(seen, expected);
        assert_eq!(groups[0].until, Some(NOW.rfc3339()), "when the first of them is due");
        let explanation = &groups[1].explanation;
        assert!(explanation.ends_with("and 1 more like these"), "{explanation}");
        assert_eq!(explanation.matches("is suspended").count(), 3, "{explanation}");
    }
}
