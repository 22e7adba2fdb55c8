//! Why mail waits, in words.

use serde::Serialize;
use utoipa::ToSchema;

use crate::clock::Timestamp;
use crate::delivery::outcome::Backoff;
use crate::delivery::queue::why::{self, HealthState, HostsHealth, Waiting, WhyRoute};
use crate::delivery::shaping::reason::Reason;
use crate::id::{AccountId, MessageId};
use crate::message::state::MessageState;
use crate::message::waits_for::{Hosts, WaitsFor};
use crate::store::{LastAttempt, MAX_COUNTED, MessageRow};

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
    /// Nothing holds the message: the next round starts it.
    Starting,
    /// An attempt is under way.
    Sending,
}

/// Why one message waits, or where it has come to rest.
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
    #[schema(value_type = MessageState)]
    state: String,
    /// Since when.
    #[schema(format = "date-time")]
    since: String,
    /// Why it stands there, in the words of the server that said it.
    reason: String,
    /// What it waits for; none where nothing is left to be delivered.
    waits_for: Option<WaitReason>,
    /// The same in a sentence.
    explanation: String,
    /// When it may go on, if that is known; it may go on earlier.
    #[schema(format = "date-time")]
    until: Option<String>,
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
    at: String,
    /// The host that answered, or did not.
    host: Option<String>,
    /// The SMTP reply code.
    code: Option<u16>,
    /// Its enhanced status code (RFC 3463), as in `5.1.1`.
    enhanced: Option<String>,
    /// Its words, or what happened where there was no reply.
    reply: String,
}

/// Why mail to one domain waits.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueuedDomain {
    /// In lower case and A-labels.
    domain: String,
    /// Messages that are still to be delivered.
    messages: u32,
    /// Whether there are more: 20,000 are counted.
    has_more: bool,
    /// What they wait for, the most first.
    groups: Vec<QueuedGroup>,
    /// Where the mail goes, as the running server knows; empty where it has not looked lately.
    hosts: Vec<QueueHosts>,
    /// Why the MX has no hosts; none where it has, or was not looked up lately.
    unresolved: Option<String>,
    /// What the last attempt of the longest waiting message was answered.
    last_attempt: Option<LastReply>,
}

/// Messages to one domain that wait for the same.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueuedGroup {
    waits_for: WaitReason,
    /// The same in a sentence.
    explanation: String,
    /// How many.
    messages: u32,
    /// When the first of them may go on, if that is known.
    #[schema(format = "date-time")]
    until: Option<String>,
    /// What can be done about it.
    advice: Option<String>,
}

/// Hosts that fail and recover together.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueHosts {
    /// Their names.
    hosts: String,
    health: QueueHealth,
    /// When the back-off from them ends.
    #[schema(format = "date-time")]
    until: Option<String>,
    /// Failures in a row.
    failures: u32,
    /// The last failure.
    last_error: Option<String>,
}

/// How hosts take mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueueHealth {
    /// They accepted or rejected a message since the last failure.
    Proven,
    /// They have no record yet: one probe at a time.
    Unproven,
    /// Delivery backs off from them.
    BackingOff,
}

impl QueuedMessage {
    /// The answer about a message; `why` is none where nothing is left to be delivered.
    pub fn new(row: MessageRow, why: Option<&why::WhyMessage>, last: Option<LastAttempt>) -> Self {
        let explanation = match why {
            Some(why) => explanation(why),
            None => format!("its state, {}, is final; nothing is left to be delivered", row.state),
        };
        Self {
            id: row.id,
            account_id: row.account_id,
            to: row.to,
            state: row.state,
            since: row.updated_at,
            reason: row.reason,
            waits_for: why.map(|it| WaitReason::from(&it.waiting)),
            explanation,
            until: why.and_then(until),
            advice: why.and_then(|it| advice(&it.waiting)),
            last_attempt: last.map(LastReply::from),
        }
    }
}

impl QueuedDomain {
    pub fn new(domain: String, why: why::WhyDomain, last: Option<LastAttempt>) -> Self {
        let messages = why.groups.iter().map(|(_, messages)| messages).sum();
        let groups = why.groups.into_iter().map(|(why, messages)| QueuedGroup {
            waits_for: WaitReason::from(&why.waiting),
            explanation: explanation(&why),
            messages,
            until: until(&why),
            advice: advice(&why.waiting),
        });
        let (hosts, unresolved) = match why.route {
            WhyRoute::Hosts(hosts) => (hosts.into_iter().map(QueueHosts::from).collect(), None),
            WhyRoute::Unresolved(reason) => (Vec::new(), Some(reason)),
            WhyRoute::Unknown => (Vec::new(), None),
        };
        Self {
            domain,
            messages,
            has_more: messages >= MAX_COUNTED,
            groups: groups.collect(),
            hosts,
            unresolved,
            last_attempt: last.map(LastReply::from),
        }
    }
}

impl From<HostsHealth> for QueueHosts {
    fn from(HostsHealth { hosts, state }: HostsHealth) -> Self {
        let (health, backoff) = match state {
            HealthState::Proven => (QueueHealth::Proven, None),
            HealthState::Unproven => (QueueHealth::Unproven, None),
            HealthState::BackingOff(backoff) => (QueueHealth::BackingOff, Some(backoff)),
        };
        Self {
            hosts: named(&hosts),
            health,
            until: backoff.as_ref().map(|it| it.until.rfc3339()),
            failures: backoff.as_ref().map_or(0, |it| it.failures),
            last_error: backoff.map(|it| it.reason),
        }
    }
}

impl From<LastAttempt> for LastReply {
    fn from(last: LastAttempt) -> Self {
        let LastAttempt { ended_at, host, code, enhanced, reply } = last;
        Self { at: ended_at.rfc3339(), host, code, enhanced, reply }
    }
}

impl From<&Waiting> for WaitReason {
    fn from(waiting: &Waiting) -> Self {
        match waiting {
            Waiting::Scheduled => Self::Scheduled,
            Waiting::Retry => Self::Retry,
            Waiting::For(WaitsFor::Hosts { account: None, .. }) => Self::BackOff,
            Waiting::For(WaitsFor::Hosts { account: Some(_), .. }) => Self::AccountBackOff,
            Waiting::For(WaitsFor::Mx(_)) => Self::UnresolvedMx,
            Waiting::For(WaitsFor::Account(_)) => Self::AccountSuspended,
            Waiting::Starting => Self::Starting,
            Waiting::Sending => Self::Sending,
            Waiting::Held(reason) => match reason {
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

fn explanation(why: &why::WhyMessage) -> String {
    if let Some(Backoff { hosts, account, until, reason, failures, .. }) = &why.backoff {
        let whose = if account.is_some() { " for this account's mail" } else { "" };
        let times = if *failures == 1 { "failure" } else { "failures in a row" };
        return format!(
            "delivery backs off from {}{whose} until {until}, after {failures} {times}: {reason}",
            named(hosts)
        );
    }
    match &why.waiting {
        Waiting::For(WaitsFor::Hosts { hosts, .. }) => {
            format!(
                "delivery has backed off from {}; it resumes when they accept mail",
                named(hosts)
            )
        }
        Waiting::For(WaitsFor::Mx(domain)) => {
            format!(
                "the MX of {domain} cannot be resolved now; it is looked up again in the background"
            )
        }
        Waiting::For(WaitsFor::Account(account)) => format!("the account {account} is suspended"),
        Waiting::Scheduled => "its `sendAt` is in the future".to_owned(),
        Waiting::Retry => "its last attempt failed for now; another one follows".to_owned(),
        Waiting::Starting => "nothing holds it; the next round of deliveries starts it".to_owned(),
        Waiting::Sending => "an attempt is under way".to_owned(),
        Waiting::Held(reason) => held(reason).to_owned(),
    }
}

fn held(reason: &Reason) -> &'static str {
    match reason {
        Reason::BackOff(_) => "delivery backs off from its destination",
        Reason::Probing => {
            "the hosts have no good record yet, and a probe delivery to them is under way"
        }
        Reason::DestinationFull => "all slots of the destination are in use",
        Reason::RateLimit(_) => "the messages a minute of the destination are used up",
        Reason::OperatorRateLimit(_) => {
            "the messages a minute of the first host's operator are used up"
        }
        Reason::LargeMessages => {
            "as many large messages to the destination are under way as may be at one time"
        }
        Reason::Memory => "no memory is free for a message of this size",
        Reason::Probation => {
            "the hosts have no good record yet, and the attempts for such hosts are used up"
        }
        Reason::Lookup => "the MX of the domain is being looked up",
        Reason::NoFreeAttempt => "all attempts of the server are under way",
    }
}

/// When the next attempt is due; none where nobody knows: a probe has no set end, and an account is active again when
/// the operator says so.
fn until(why: &why::WhyMessage) -> Option<String> {
    let is_open =
        matches!(why.waiting, Waiting::Held(Reason::Probing) | Waiting::For(WaitsFor::Account(_)));
    why.until.filter(|_| !is_open).map(Timestamp::rfc3339)
}

/// What can be done; none where only time helps.
fn advice(waiting: &Waiting) -> Option<String> {
    let advice = match waiting {
        Waiting::Scheduled => "`waxwing message cancel` cancels it",
        Waiting::Retry => "`waxwing message retry` tries it now",
        Waiting::For(WaitsFor::Hosts { .. }) | Waiting::Held(Reason::BackOff(_)) => {
            "see what the hosts answer, and whether this server reaches them; `waxwing message retry` \
             tries one message even now"
        }
        Waiting::For(WaitsFor::Mx(_)) | Waiting::Held(Reason::Lookup) => {
            "see whether the name servers of the domain answer, and this server's own ([dns] nameservers)"
        }
        Waiting::For(WaitsFor::Account(account)) => {
            return Some(format!("`waxwing account activate {account}` lets its mail go on"));
        }
        Waiting::Held(Reason::DestinationFull) => {
            "if the hosts can take more, raise `connections` in [delivery] or for this destination"
        }
        Waiting::Held(Reason::RateLimit(_) | Reason::OperatorRateLimit(_)) => {
            "if the hosts can take more, raise `messages_per_minute` in [delivery] or for this destination"
        }
        Waiting::Held(Reason::Memory) => "raise [delivery] memory_bytes if the machine has more",
        Waiting::Held(Reason::Probation | Reason::NoFreeAttempt) => {
            "raise [delivery] concurrent if the machine has room"
        }
        Waiting::Held(Reason::Probing | Reason::LargeMessages)
        | Waiting::Starting
        | Waiting::Sending => return None,
    };
    Some(advice.to_owned())
}

fn named(hosts: &Hosts) -> String {
    match hosts {
        Hosts::MailExchangers { names, .. } => names.join(", "),
        Hosts::Smarthost(name) => format!("the smarthost {name}"),
        Hosts::Sandbox => "the sandbox inbox".to_owned(),
    }
}
