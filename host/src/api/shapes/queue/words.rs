//! Why mail waits in words: for the operator, and for the holder of the account that sent it.

use crate::delivery::outcome::Backoff;
use crate::delivery::queue::why::{Waiting, WhyMessage};
use crate::delivery::shaping::admission::BoundsOf;
use crate::delivery::shaping::reason::Reason;
use crate::id::MessageId;
use crate::message::waits_for::{Hosts, WaitsFor};

/// Who reads an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    Operator,
    /// Reads nothing of the operator's: no smarthosts, no configuration, no commands.
    AccountHolder,
}

pub(super) struct Words {
    pub explanation: String,
    /// What can be done; none where only time helps.
    pub advice: Option<String>,
}

impl Words {
    fn new(explanation: impl Into<String>, advice: Option<&str>) -> Self {
        Self { explanation: explanation.into(), advice: advice.map(ToOwned::to_owned) }
    }

    /// Of a message that waits.
    pub fn of(why: &WhyMessage, id: MessageId, audience: Audience) -> Self {
        match audience {
            Audience::Operator => {
                Self { explanation: explanation(why, Whose::Message), advice: advice(why) }
            }
            Audience::AccountHolder => of_holder(why, id),
        }
    }

    /// Of messages of any accounts, for the operator.
    pub fn of_group(why: &WhyMessage) -> Self {
        Self { explanation: explanation(why, Whose::Any), advice: advice(why) }
    }

    pub fn of_final(state: &str) -> Self {
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

fn explanation(why: &WhyMessage, whose: Whose) -> String {
    if let Some(Backoff { hosts, account, until, reason, failures, .. }) = &why.backoff {
        let account = match (account, whose) {
            (None, _) => String::new(),
            (Some(_), Whose::Message) => " for this account's mail".to_owned(),
            (Some(account), Whose::Any) => format!(" for the mail of {account}"),
        };
        let times = if *failures == 1 { "failure" } else { "failures in a row" };
        return format!(
            "delivery backs off from {}{account} until {until}, after {failures} {times}: {reason}",
            named(hosts)
        );
    }
    match &why.waiting {
        Waiting::For(WaitsFor::Hosts { hosts, .. }) => {
            let last_error = why.last_error.as_ref();
            let last_error =
                last_error.map(|it| format!("; last error at {}: {}", it.at, it.reason));
            format!(
                "delivery has backed off from {}; it resumes when they accept mail{}",
                named(hosts),
                last_error.unwrap_or_default()
            )
        }
        Waiting::For(WaitsFor::Mx(domain)) => {
            format!(
                "the MX of {domain} cannot be resolved now; it is looked up again in the background"
            )
        }
        Waiting::For(WaitsFor::Account(account)) => format!("the account {account} is suspended"),
        Waiting::Ending(words) => ending(why, words),
        Waiting::Scheduled => "its `sendAt` is in the future".to_owned(),
        Waiting::Retry => "its last attempt failed for now; another one follows".to_owned(),
        Waiting::Starting => "nothing holds it; the next round of deliveries starts it".to_owned(),
        Waiting::Sending => "an attempt is under way".to_owned(),
        Waiting::Held(reason) => held(reason).to_owned(),
    }
}

fn ending(why: &WhyMessage, words: &str) -> String {
    let when =
        if why.until.is_some() { "when it is due" } else { "in the next round of deliveries" };
    format!("it ends without an attempt {when}: {words}")
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

fn advice(why: &WhyMessage) -> Option<String> {
    let advice = match &why.waiting {
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
        Waiting::Held(Reason::DestinationFull) => return raise("connections", why.bounds.as_ref()),
        Waiting::Held(Reason::RateLimit(_) | Reason::OperatorRateLimit(_)) => {
            return raise("messages_per_minute", why.bounds.as_ref());
        }
        Waiting::Held(Reason::Memory) => "raise [delivery] memory_bytes if the machine has more",
        Waiting::Held(Reason::Probation | Reason::NoFreeAttempt) => {
            "raise [delivery] concurrent if the machine has room"
        }
        Waiting::Held(Reason::Probing | Reason::LargeMessages)
        | Waiting::Ending(_)
        | Waiting::Starting
        | Waiting::Sending => return None,
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
        Waiting::For(WaitsFor::Hosts { hosts, account })
        | Waiting::Held(Reason::BackOff(Backoff { hosts, account, .. })) => {
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
        Waiting::For(WaitsFor::Mx(domain)) => Words::new(
            format!(
                "the mail servers of {domain} cannot be found now; the server goes on looking for them"
            ),
            Some(&format!("see whether the recipient's address is right; if not, {cancel}")),
        ),
        Waiting::For(WaitsFor::Account(_)) => Words::new(
            "the account is suspended; its mail goes on when it is active again",
            Some("ask the operator of this server"),
        ),
        Waiting::Ending(words) => Words::new(
            ending(why, words),
            Some(
                "see whether the recipient's address is right, and on the suppression list (/v1/suppressions)",
            ),
        ),
        Waiting::Held(Reason::Lookup) => {
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

    fn why(waiting: Waiting, backoff: Option<Backoff>, bounds: Option<BoundsOf>) -> WhyMessage {
        let reason = "no certificate (see [delivery] ca_file)".to_owned();
        let last_error = Some(HostError { at: NOW, reason });
        WhyMessage { waiting, until: Some(NOW), backoff, last_error, bounds }
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
        let held = |reason| why(Waiting::Held(reason), None, bounds.clone());
        let waits_for = |account| Waiting::For(WaitsFor::Hosts { hosts: smarthost(), account });
        let all = [
            why(Waiting::Scheduled, None, None),
            why(Waiting::Retry, None, None),
            why(waits_for(None), Some(backoff(None)), None),
            why(waits_for(Some(account)), None, None),
            why(Waiting::For(WaitsFor::Mx("example.com".to_owned())), None, None),
            why(Waiting::For(WaitsFor::Account(account)), None, None),
            why(Waiting::Ending("the recipient is on the suppression list".to_owned()), None, None),
            why(Waiting::Starting, None, None),
            why(Waiting::Sending, None, None),
            why(Waiting::Held(Reason::BackOff(backoff(None))), Some(backoff(None)), None),
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
        for why in &all {
            let Words { explanation, advice } = Words::of(why, id, Audience::AccountHolder);
            let said = format!("{explanation} {}", advice.unwrap_or_default());
            for word in ["smarthost", "post ", "`waxwing", "[d", "_"] {
                let said = said.replace(&id.to_string(), "");
                assert!(!said.contains(word), "{word} in {said}");
            }
        }
    }

    #[test]
    fn a_bound_is_named_where_it_is_set() {
        let rate = || Waiting::Held(Reason::RateLimit(Duration::from_secs(1)));
        let of = |bounds| Words::of_group(&why(rate(), None, bounds)).advice.unwrap_or_default();
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
    fn a_back_off_that_is_over_says_the_last_error() {
        let waits_for = Waiting::For(WaitsFor::Hosts { hosts: smarthost(), account: None });
        let said = Words::of_group(&why(waits_for, None, None)).explanation;
        assert!(said.contains("the smarthost post") && said.contains("no certificate"), "{said}");
    }
}
