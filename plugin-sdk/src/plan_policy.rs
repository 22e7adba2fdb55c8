//! Kind 3: may this plan make this send, and what does it cost?
//!
//! A policy that decides each use by itself needs one method:
//!
//! ```
//! use waxwing_plugin::plan_policy::{Account, Decision, PlanPolicy, UseRequest, allow, deny};
//! use waxwing_plugin::{CallContext, Diagnostic, NoSettings, Plugin};
//!
//! struct SmallMessages;
//!
//! impl Plugin for SmallMessages {
//!     type Settings = NoSettings;
//!
//!     fn configure(_: NoSettings) -> Result<Self, Vec<Diagnostic>> {
//!         Ok(Self)
//!     }
//! }
//!
//! impl PlanPolicy for SmallMessages {
//!     fn decide(&self, _: &CallContext, who: &Account, it: &UseRequest) -> Decision {
//!         if !who.paid && it.size_bytes > 100_000 {
//!             waxwing_plugin::info!(plan = who.plan, bytes = it.size_bytes, "too large");
//!             return deny("too-large", "messages over 100 KB need a paid plan");
//!         }
//!         allow(it.recipients)
//!     }
//! }
//!
//! waxwing_plugin::export_plan_policy!(SmallMessages);
//!
//! # fn main() {
//! use waxwing_plugin::testing::{account, configured, context, logs, template_use};
//!
//! let policy: SmallMessages = configured("{}").unwrap();
//! let large = UseRequest { size_bytes: 200_000, ..template_use("report", None) };
//! let decisions = policy.check(&context(), &account("free"), &[large]).unwrap();
//! assert!(matches!(&decisions[..], [Decision::Deny(it)] if it.code == "too-large"));
//! assert_eq!(logs(), ["info: too large plan=free bytes=200000"]);
//! # }
//! ```

use crate::{CallContext, Failure, Plugin};
pub use waxwing_world_plan::exports::waxwing::plugin::plan_policy::{
    Account, Channel, Charge, Decision, Denial, UseRequest,
};

/// The rule of a plan. Pure: the same input, the same answer.
pub trait PlanPolicy: Plugin {
    /// The decision for one use; by default one credit for each recipient.
    fn decide(&self, _ctx: &CallContext, _who: &Account, one: &UseRequest) -> Decision {
        allow(one.recipients)
    }

    /// One decision for each use, in order. By default [`decide`](Self::decide) for each: what it
    /// allows counts as sent, and as spent, for those that follow.
    ///
    /// # Errors
    /// [`Failure::Internal`] refuses the send closed; a denial is a [`Decision::Deny`], not an error.
    fn check(
        &self,
        ctx: &CallContext,
        who: &Account,
        uses: &[UseRequest],
    ) -> Result<Vec<Decision>, Failure> {
        let mut who = who.clone();
        let decide = |one: &UseRequest| {
            let decision = self.decide(ctx, &who, one);
            if let Decision::Allow(charge) = &decision {
                let sent = u64::from(one.recipients);
                who.sent_last_day = who.sent_last_day.saturating_add(sent);
                who.sent_last_month = who.sent_last_month.saturating_add(sent);
                who.credits_remaining -= i64::from(charge.credits);
            }
            decision
        };
        Ok(uses.iter().map(decide).collect())
    }
}

/// Allows a use at a price in credits, for all of its recipients.
#[must_use]
pub fn allow(credits: u32) -> Decision {
    Decision::Allow(Charge { credits, reason: None })
}

/// Denies a use: `code` is for programs, `message` for the sender.
#[must_use]
pub fn deny(code: &str, message: impl Into<String>) -> Decision {
    Decision::Deny(denial(code, message))
}

/// What [`deny`] denies with, for struct update: `Denial { retry_after_s, ..denial(code, message) }`.
#[must_use]
pub fn denial(code: &str, message: impl Into<String>) -> Denial {
    let (code, message) = (code.to_owned(), message.into());
    Denial { code, message, required_plan: None, retry_after_s: None }
}

/// Exports a [`PlanPolicy`] as a component of the world `plan-restriction`.
#[macro_export]
macro_rules! export_plan_policy {
    ($policy:ty) => {
        #[cfg(not(target_family = "wasm"))]
        impl $crate::testing::Golden for $policy {
            fn answer(input: &str) -> Result<String, String> {
                $crate::testing::answers::plan::<Self>(input)
            }
        }

        const _: () = {
            use $crate::export::worlds::plan as world;
            $crate::__export_plugin!(world, $policy);

            impl world::exports::waxwing::plugin::plan_policy::Guest for Component {
                fn check(
                    ctx: $crate::CallContext,
                    who: $crate::plan_policy::Account,
                    uses: Vec<$crate::plan_policy::UseRequest>,
                ) -> Result<Vec<$crate::plan_policy::Decision>, $crate::Failure> {
                    INSTANCE.with(|it| {
                        $crate::plan_policy::PlanPolicy::check(it.configured()?, &ctx, &who, &uses)
                    })
                }
            }

            #[cfg(target_family = "wasm")]
            $crate::export::worlds::plan::export!(Component with_types_in $crate::export::worlds::plan);
        };
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{account, context, template_use};
    use crate::{Diagnostic, NoSettings};

    struct TwoADay;

    impl Plugin for TwoADay {
        type Settings = NoSettings;

        fn configure(_: NoSettings) -> Result<Self, Vec<Diagnostic>> {
            Ok(Self)
        }
    }

    impl PlanPolicy for TwoADay {
        fn decide(&self, _: &CallContext, who: &Account, _: &UseRequest) -> Decision {
            if who.sent_last_day >= 2 {
                return deny("plan-limit", format!("{} are sent", who.sent_last_day));
            }
            allow(who.credits_remaining.unsigned_abs().try_into().unwrap_or(0))
        }
    }

    #[test]
    fn what_was_allowed_counts_for_the_uses_that_follow() {
        let who = Account { credits_remaining: 7, ..account("free") };
        let uses = [1, 2, 3].map(|_| template_use("welcome", None));
        let decisions = TwoADay.check(&context(), &who, &uses).expect("decides");
        assert_eq!(decisions, [allow(7), allow(0), deny("plan-limit", "2 are sent")]);
    }
}
