//! What becomes of a message at its lease: pure, on facts that the store read in its transaction. It may have
//! waited for days since it was accepted.

use std::time::Duration;

use crate::clock::Timestamp;
use crate::id::AccountId;
use crate::message::address::EmailAddress;
use crate::message::state::MessageState;
use crate::message::waits_for::WaitsFor;
use crate::store::records::{End, HeldBack, Lease, LeaseFacts, LeaseVerdict};

/// How often it is looked whether an account is active again.
const SUSPENDED_RECHECK: Duration = Duration::from_hours(1);
/// How a message ends whose row this version of the server cannot read.
pub const UNREADABLE: End = End {
    state: MessageState::Failed,
    reason: "the stored message cannot be read by this version of the server",
};
const SUPPRESSED: End =
    End { state: MessageState::Suppressed, reason: "the recipient is on the suppression list" };

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AtLease {
    Send,
    /// The message goes back to the queue until `waits_for` is over.
    Wait {
        waits_for: WaitsFor,
        reason: &'static str,
    },
    /// Its recipient was suppressed after it was accepted.
    Suppressed,
}

/// Decides on claimed messages. Those to suppressed recipients end, and those of suspended accounts wait.
#[must_use]
pub fn decide(leases: Vec<Lease>, facts: &LeaseFacts, now: Timestamp) -> LeaseVerdict {
    let mut verdict = LeaseVerdict {
        sent: Vec::new(),
        waiting: Vec::new(),
        ended: Vec::new(),
        unreadable: UNREADABLE,
    };
    for lease in leases {
        match recheck(lease.account_id, Some(&lease.recipient), facts) {
            AtLease::Send => {
                let reason = format!("attempt {}", lease.attempt);
                verdict.sent.push((lease, reason));
            }
            AtLease::Wait { waits_for, reason } => {
                let until = now.after(SUSPENDED_RECHECK);
                verdict.waiting.push(HeldBack { lease, until, waits_for, reason });
            }
            AtLease::Suppressed => verdict.ended.push((lease, SUPPRESSED)),
        }
    }
    verdict
}

/// Whether a message of that account may be sent now; without a recipient, as far as the account alone decides it.
#[must_use]
pub fn recheck(
    account: AccountId,
    recipient: Option<&EmailAddress>,
    facts: &LeaseFacts,
) -> AtLease {
    if facts.suspended.contains(&account) {
        let reason = "the account is suspended; it goes on when that is active again";
        return AtLease::Wait { waits_for: WaitsFor::Account(account), reason };
    }
    let address = recipient.map(EmailAddress::folded);
    if address.is_some_and(|it| facts.suppressed.contains(&(account, it))) {
        return AtLease::Suppressed;
    }
    AtLease::Send
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::MessageId;
    use crate::store::records::RouteChoice;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    fn lease(account_id: AccountId, recipient: &str) -> Lease {
        Lease {
            message_id: MessageId::new(NOW),
            account_id,
            sender: None,
            author: "a@sandbox.test".parse().expect("valid"),
            domain: None,
            recipient: recipient.parse().expect("valid"),
            route: RouteChoice::Configured,
            attempt: 3,
            first_at: NOW,
        }
    }

    #[test]
    fn a_suspended_account_waits_and_a_suppressed_recipient_is_never_sent_to() {
        let [active, suspended] = [1, 2].map(|at| AccountId::new(Timestamp::from_millis(at)));
        let address = || "ada@example.com".to_owned();
        let facts = LeaseFacts {
            suspended: [suspended].into(),
            suppressed: [(active, address()), (suspended, address())].into(),
        };
        let leases = vec![
            lease(active, "Bob@example.com"),
            lease(active, "Ada@Example.com"),
            lease(suspended, "ada@example.com"),
        ];
        let verdict = decide(leases, &facts, NOW);
        let [(sent, reason)] = verdict.sent.as_slice() else { panic!("{verdict:?}") };
        assert_eq!(
            (sent.recipient.to_string().as_str(), reason.as_str()),
            ("Bob@example.com", "attempt 3")
        );
        let [(ended, end)] = verdict.ended.as_slice() else { panic!("{verdict:?}") };
        assert_eq!((ended.account_id, end.state), (active, MessageState::Suppressed));
        let [held] = verdict.waiting.as_slice() else { panic!("{verdict:?}") };
        assert_eq!(held.until, NOW.after(SUSPENDED_RECHECK));
        assert_eq!(held.waits_for, WaitsFor::Account(suspended), "it is suspended first of all");
    }
}
