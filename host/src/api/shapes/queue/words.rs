//! Why mail waits in words: for the operator, and for the holder of the account that sent it.

use crate::delivery::outcome::{Backoff, FailureReason};
use crate::delivery::queue::why::{Ending, Waiting, WhyMessage};
use crate::delivery::shaping::admission::BoundsOf;
use crate::delivery::shaping::reason::Reason;
use crate::id::MessageId;
use crate::message::state::MessageState;
use crate::message::waits_for::Hosts;

/// Who reads an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    Operator,
    /// Reads nothing of the operator's: no smarthosts, no configuration, no commands.
    AccountHolder,
}

pub(super) struct Words {
    pub explanation: String,
    /// When it goes on, in a sentence; none where that is not known.
    pub next: Option<String>,
    /// What can be done; none where only time helps.
    pub advice: Option<String>,
}

impl Words {
    fn new(explanation: impl Into<String>, advice: Option<&str>) -> Self {
        let advice = advice.map(ToOwned::to_owned);
        Self { explanation: explanation.into(), next: None, advice }
    }

    /// Of a message that waits.
    pub fn of(why: &WhyMessage, id: MessageId, audience: Audience) -> Self {
        let words = match audience {
            Audience::Operator => Self {
                explanation: explanation(why, Whose::Message),
                next: None,
                advice: advice(&why.waiting),
            },
            Audience::AccountHolder => of_holder(why, id),
        };
        Self { next: next(why), ..words }
    }

    /// Of messages of any accounts, for the operator.
    pub fn of_group(why: &WhyMessage) -> Self {
        let advice = advice(&why.waiting);
        Self { explanation: explanation(why, Whose::Any), next: None, advice }
    }

    pub fn of_final(state: MessageState) -> Self {
        let explanation = format!("its state, {state}, is final; nothing is left to be delivered");
        Self::new(explanation, None)
    }
}

/// Whose messages words are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// One message, so that it is known which account is meant.
    Message,
    Any,
}

/// When the message goes on. Only what waits for hosts or for an MX is requeued before its time.
fn next(why: &WhyMessage) -> Option<String> {
    let until = why.until?.rfc3339();
    Some(match &why.waiting {
        Waiting::Scheduled => format!("it is sent at {until}"),
        Waiting::Ending(_) => format!("it ends at {until}"),
        Waiting::Held(Reason::BackOff(_), _) | Waiting::AfterBackOff { .. } => format!(
            "its next attempt is due at {until}, and earlier if the destination accepts mail again"
        ),
        Waiting::UnresolvedMx(_) => {
            format!("its next attempt is due at {until}, and earlier if the MX is resolved again")
        }
        Waiting::Retry
        | Waiting::AccountSuspended(_)
        | Waiting::AfterRestore
        | Waiting::Maintenance
        | Waiting::Held(..)
        | Waiting::Starting
        | Waiting::Sending => format!("its next attempt is due at {until}"),
    })
}

fn explanation(why: &WhyMessage, whose: Whose) -> String {
    match &why.waiting {
        Waiting::AfterBackOff { hosts, last_error, .. } => {
            let last_error = last_error.as_ref();
            let last_error =
                last_error.map(|it| format!("; last error at {}: {}", it.at, it.reason));
            format!(
                "delivery has backed off from {}; it resumes when they accept mail{}",
                named(hosts),
                last_error.unwrap_or_default()
            )
        }
        Waiting::UnresolvedMx(domain) => {
            format!(
                "the MX of {domain} cannot be resolved now; it is looked up again in the background"
            )
        }
        Waiting::AccountSuspended(account) => format!("the account {account} is suspended"),
        Waiting::AfterRestore => {
            "the server was restored from a backup, and delivery is held until it is released"
                .to_owned()
        }
        Waiting::Maintenance => "delivery is held while the server is in read-only mode".to_owned(),
        Waiting::Ending(reason) => ending(why, reason),
        Waiting::Scheduled => "its `sendAt` is in the future".to_owned(),
        Waiting::Retry => "its last attempt failed for now; another one follows".to_owned(),
        Waiting::Starting => "nothing holds it; the next round of deliveries starts it".to_owned(),
        Waiting::Sending => "an attempt is under way".to_owned(),
        Waiting::Held(reason, _) => held(reason, whose),
    }
}

fn backing_off(backoff: &Backoff, whose: Whose) -> String {
    let Backoff { hosts, account, until, reason, failures, .. } = backoff;
    let account = match (account, whose) {
        (None, _) => String::new(),
        (Some(_), Whose::Message) => " for this account's mail".to_owned(),
        (Some(account), Whose::Any) => format!(" for the mail of {account}"),
    };
    let times = if *failures == 1 { "failure" } else { "failures in a row" };
    format!(
        "delivery backs off from {}{account} until {until}, after {failures} {times}: {reason}",
        named(hosts)
    )
}

fn ending(why: &WhyMessage, reason: &Ending) -> String {
    let when =
        if why.until.is_some() { "when it is due" } else { "in the next round of deliveries" };
    let words = match reason {
        Ending::Suppressed => "the recipient is on the suppression list",
        Ending::Undeliverable(_, words) => words,
    };
    format!("it ends without an attempt {when}: {words}")
}

fn held(reason: &Reason, whose: Whose) -> String {
    let words = match reason {
        Reason::BackOff(backoff) => return backing_off(backoff, whose),
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
    };
    words.to_owned()
}

fn advice(waiting: &Waiting) -> Option<String> {
    let advice = match waiting {
        Waiting::Scheduled => "`waxwing message cancel` cancels it",
        Waiting::Retry => "`waxwing message retry` tries it now",
        Waiting::AfterBackOff { .. } | Waiting::Held(Reason::BackOff(_), _) => {
            "see what the hosts answer, and whether this server reaches them; `waxwing message retry` \
             tries one message even now"
        }
        Waiting::UnresolvedMx(_) | Waiting::Held(Reason::Lookup, _) => {
            "see whether the name servers of the domain answer, and this server's own ([dns] nameservers)"
        }
        Waiting::AccountSuspended(account) => {
            return Some(format!("`waxwing account activate {account}` lets its mail go on"));
        }
        Waiting::AfterRestore => {
            "`waxwing queue release` sends what waits; with --cancel-queued it first cancels what waited when the \
             backup was taken"
        }
        Waiting::Maintenance => {
            "`waxwing maintenance show` says why, and `waxwing maintenance off` lets the mail go on"
        }
        Waiting::Held(Reason::DestinationFull, bounds) => {
            return raise("connections", bounds.as_ref());
        }
        Waiting::Held(Reason::RateLimit(_) | Reason::OperatorRateLimit(_), bounds) => {
            return raise("messages_per_minute", bounds.as_ref());
        }
        Waiting::Held(Reason::Memory, _) => "raise [delivery] memory_bytes if the machine has more",
        Waiting::Held(Reason::Probation | Reason::NoFreeAttempt, _) => {
            "raise [delivery] concurrent if the machine has room"
        }
        Waiting::Ending(Ending::Suppressed) => {
            "`waxwing suppression remove` takes the address off the account's list"
        }
        Waiting::Ending(Ending::Undeliverable(reason, _)) => return undeliverable(*reason),
        Waiting::Held(Reason::Probing | Reason::LargeMessages, _)
        | Waiting::Starting
        | Waiting::Sending => return None,
    };
    Some(advice.to_owned())
}

/// What an operator can do about a message that cannot be sent; none where its recipient's address is at fault.
fn undeliverable(reason: FailureReason) -> Option<String> {
    let advice = match reason {
        FailureReason::RoutingLoop => {
            "the domain's MX leads to this server: correct its DNS, or route the domain by [[delivery.rules]]"
        }
        FailureReason::NoRoute => {
            "see whether this server reaches the hosts of the domain, over IPv4 and IPv6, or route the domain by \
             [[delivery.rules]]"
        }
        FailureReason::BadDestination
        | FailureReason::NullMx
        | FailureReason::Unconvertible
        | FailureReason::Other => return None,
    };
    Some(advice.to_owned())
}

/// Where a bound stands in the configuration. A destination without a value of its own has that of [delivery].
fn raise(key: &str, bounds: Option<&BoundsOf>) -> Option<String> {
    let whose = match bounds? {
        BoundsOf::Smarthosts(names) => {
            let names: Vec<String> = names.iter().map(|it| format!("name = \"{it}\"")).collect();
            format!("[[delivery.smarthosts]] with {}", names.join(" or "))
        }
        BoundsOf::Operator(name) => {
            format!("[[delivery.destinations]] with exchangers = \"{name}\"")
        }
    };
    Some(format!(
        "if the hosts can take more, raise `{key}` in {whose}, or in [delivery] if it is not set there"
    ))
}

/// What the holder of the account can know and do.
fn of_holder(why: &WhyMessage, id: MessageId) -> Words {
    let retry = format!("POST /v1/messages/{id}/retry tries it now");
    let cancel = format!("POST /v1/messages/{id}/cancel calls it back");
    match &why.waiting {
        Waiting::Scheduled => Words::new("its `sendAt` is in the future", Some(&cancel)),
        Waiting::Retry => {
            Words::new("its last attempt failed for now; another one follows", Some(&retry))
        }
        Waiting::AfterBackOff { hosts, account, .. }
        | Waiting::Held(Reason::BackOff(Backoff { hosts, account, .. }), _) => {
            let explanation = match (hosts, account) {
                (Hosts::MailExchangers { .. }, None) => {
                    "the mail servers of the recipient's domain take no mail now; delivery resumes by itself when \
                     they do"
                }
                (Hosts::MailExchangers { .. }, Some(_)) => {
                    "the mail servers of the recipient's domain put off this account's mail; delivery resumes by \
                     itself when they take it"
                }
                (Hosts::Smarthost(_) | Hosts::Sandbox, _) => {
                    "mail to this recipient cannot leave the server now; delivery resumes by itself when it can"
                }
            };
            Words::new(explanation, Some(&format!("nothing has to be done; {retry}, once")))
        }
        Waiting::UnresolvedMx(domain) => Words::new(
            format!(
                "the mail servers of {domain} cannot be found now; the server goes on looking for them"
            ),
            Some(&format!("see whether the recipient's address is right; if not, {cancel}")),
        ),
        Waiting::AccountSuspended(_) => Words::new(
            "the account is suspended; its mail goes on when it is active again",
            Some("ask the operator of this server"),
        ),
        Waiting::Maintenance => {
            Words::new("the server is being worked on; its mail goes when that is over", None)
        }
        Waiting::Ending(reason) => {
            let advice = match reason {
                Ending::Suppressed => {
                    "if the recipient wants mail again, take the address off the list (DELETE /v1/suppressions/{address})"
                }
                Ending::Undeliverable(FailureReason::BadDestination | FailureReason::NullMx, _) => {
                    "see whether the recipient's address is right"
                }
                Ending::Undeliverable(FailureReason::Unconvertible, _) => {
                    "send it without characters beyond ASCII in the address and the headers"
                }
                Ending::Undeliverable(
                    FailureReason::NoRoute | FailureReason::RoutingLoop | FailureReason::Other,
                    _,
                ) => "ask the operator of this server",
            };
            Words::new(ending(why, reason), Some(advice))
        }
        Waiting::AfterRestore => Words::new(
            "the server's delivery is held after a repair; it goes on when the operator releases it",
            Some("ask the operator of this server"),
        ),
        Waiting::Held(Reason::Lookup, _) => {
            Words::new("the mail servers of the recipient's domain are being looked up", None)
        }
        Waiting::Held(
            Reason::Probing
            | Reason::DestinationFull
            | Reason::RateLimit(_)
            | Reason::OperatorRateLimit(_)
            | Reason::LargeMessages
            | Reason::Memory
            | Reason::Probation
            | Reason::NoFreeAttempt,
            _,
        ) => Words::new("as much mail as may be is under way; it goes when it is its turn", None),
        Waiting::Starting => Words::new("nothing holds it; it is sent next", None),
        Waiting::Sending => Words::new("an attempt is under way", None),
    }
}

pub(super) fn named(hosts: &Hosts) -> String {
    match hosts {
        Hosts::MailExchangers { names, .. } => names.join(", "),
        Hosts::Smarthost(name) => format!("the smarthost {name}"),
        Hosts::Sandbox => "the sandbox inbox".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::clock::Timestamp;
    use crate::delivery::shaping::backoff::HostError;
    use crate::id::AccountId;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn why(waiting: Waiting) -> WhyMessage {
        WhyMessage { waiting, until: Some(NOW) }
    }

    fn after_back_off(account: Option<AccountId>) -> Waiting {
        let reason = "no certificate (see [delivery] ca_file)".to_owned();
        let last_error = Some(HostError { at: NOW, reason });
        Waiting::AfterBackOff { hosts: smarthost(), account, last_error }
    }

    fn smarthost() -> Hosts {
        Hosts::Smarthost("post".into())
    }

    fn backoff(account: Option<AccountId>) -> Backoff {
        let reason = "no certificate (see [delivery] ca_file)".to_owned();
        Backoff { hosts: smarthost(), account, since: NOW, until: NOW, reason, failures: 2 }
    }

    #[test]
    fn an_account_holder_reads_nothing_of_the_operators() {
        let (id, account) = (MessageId::new(NOW), AccountId::new(NOW));
        let bounds = Some(BoundsOf::Smarthosts(vec!["post".to_owned()]));
        let held = |reason| Waiting::Held(reason, bounds.clone());
        let all = [
            Waiting::Scheduled,
            Waiting::Retry,
            Waiting::Held(Reason::BackOff(backoff(None)), None),
            Waiting::Held(Reason::BackOff(backoff(Some(account))), None),
            after_back_off(None),
            after_back_off(Some(account)),
            Waiting::UnresolvedMx("example.com".to_owned()),
            Waiting::AccountSuspended(account),
            Waiting::AfterRestore,
            Waiting::Maintenance,
            Waiting::Ending(Ending::Suppressed),
            Waiting::Ending(Ending::Undeliverable(FailureReason::NoRoute, "no route".to_owned())),
            Waiting::Starting,
            Waiting::Sending,
            held(Reason::Probing),
            held(Reason::DestinationFull),
            held(Reason::RateLimit(Duration::from_secs(1))),
            held(Reason::OperatorRateLimit(Duration::from_secs(1))),
            held(Reason::LargeMessages),
            held(Reason::Memory),
            held(Reason::Probation),
            held(Reason::Lookup),
            held(Reason::NoFreeAttempt),
        ];
        for why in all.map(why) {
            let words = Words::of(&why, id, Audience::AccountHolder);
            let Words { explanation, next, advice } = words;
            let [next, advice] = [next, advice].map(Option::unwrap_or_default);
            let said = format!("{explanation} {next} {advice}");
            for word in ["smarthost", "post ", "`waxwing", "[d", "_"] {
                let said = said.replace(&id.to_string(), "");
                assert!(!said.contains(word), "{word} in {said}");
            }
        }
    }

    #[test]
    fn a_bound_is_named_where_it_is_set() {
        let rate = |bounds| Waiting::Held(Reason::RateLimit(Duration::from_secs(1)), bounds);
        let of = |bounds| Words::of_group(&why(rate(bounds))).advice.unwrap_or_default();
        let smarthosts = of(Some(BoundsOf::Smarthosts(vec!["post".to_owned()])));
        assert!(
            smarthosts
                .contains("`messages_per_minute` in [[delivery.smarthosts]] with name = \"post\""),
            "{smarthosts}"
        );
        let operator = of(Some(BoundsOf::Operator("mx.example".to_owned())));
        assert!(
            operator.contains("[[delivery.destinations]] with exchangers = \"mx.example\""),
            "{operator}"
        );
        assert_eq!(of(None), "", "those of the sandbox inbox are fixed");
    }

    #[test]
    fn only_what_is_requeued_before_its_time_may_go_on_earlier() {
        let is_earlier = |waiting| {
            let words = Words::of(&why(waiting), MessageId::new(NOW), Audience::Operator);
            let next = words.next.expect("it is known when it goes on");
            assert!(next.contains(&NOW.rfc3339()), "{next}");
            next.contains("earlier")
        };
        assert!(is_earlier(Waiting::Held(Reason::BackOff(backoff(None)), None)));
        assert!(is_earlier(after_back_off(None)));
        assert!(is_earlier(Waiting::UnresolvedMx("example.com".to_owned())));
        assert!(!is_earlier(Waiting::Retry));
        assert!(!is_earlier(Waiting::Scheduled));
        assert!(!is_earlier(Waiting::Ending(Ending::Suppressed)));
        let rate = Reason::RateLimit(Duration::from_secs(1));
        assert!(!is_earlier(Waiting::Held(rate, None)));
    }

    #[test]
    fn a_back_off_that_is_over_says_the_last_error() {
        let said = Words::of_group(&why(after_back_off(None))).explanation;
        assert!(said.contains("the smarthost post") && said.contains("no certificate"), "{said}");
    }
}
