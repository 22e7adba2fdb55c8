//! The check behind `instances = "stateless"`: one instance that is asked again and again, in changing
//! order, gives the answers of fresh instances.
//!
//! It finds what a plugin keeps by mistake: a counter, a cache with too small a key, the last account. It makes
//! as many calls as an instance lives for, so none has lived longer than what was seen.

use super::error::LoadError;
use super::installed::InstalledPlugin;
use crate::plugin::records::{Call, Input, differences};
use crate::plugin::runtime::pool::Instances;

const MAX_DIFFERENCE_LINES: usize = 3;
/// Orders that are tried at the least, however many calls one of them has.
const MIN_ORDERS: usize = 3;

/// A call with the name of its case.
pub type NamedCall = (String, Call);

/// Compares the answers of a plugin with fresh instances to those of the same plugin with one that is kept.
///
/// # Errors
/// The first call that is answered otherwise after others.
pub async fn check(
    fresh: &InstalledPlugin,
    kept: &InstalledPlugin,
    mut calls: Vec<NamedCall>,
) -> Result<(), LoadError> {
    let others: Vec<NamedCall> = calls.iter().filter_map(of_another_account).collect();
    calls.extend(others);
    let mut expected = Vec::with_capacity(calls.len());
    for (_, call) in &calls {
        expected.push(fresh.replay(call).await.0);
    }
    let lifetime = Instances::Stateless.calls_per_instance();
    let (mut made, count) = (0, calls.len());
    // Each call follows itself, then its neighbour, then the one after that, and so on.
    for (order, distance) in (0..count).cycle().enumerate() {
        if made >= lifetime && order >= MIN_ORDERS {
            break;
        }
        for first in 0..count {
            for at in [first, (first + distance) % count] {
                let (case, call) = &calls[at];
                let (answer, _) = kept.replay(call).await;
                if answer != expected[at] {
                    let lines = differences(&expected[at], &answer, MAX_DIFFERENCE_LINES);
                    let (name, case) = (kept.identity().name.clone(), case.clone());
                    return Err(LoadError::KeepsState { name, case, detail: lines.join("; ") });
                }
                made += 1;
            }
        }
    }
    Ok(())
}

/// The same call for an account that differs in all that a policy gets of it.
fn of_another_account((case, call): &NamedCall) -> Option<NamedCall> {
    let mut call = call.clone();
    let Input::Plan { who, .. } = &mut call.input else { return None };
    who.id.push_str("_other");
    who.plan = if who.plan == "free" { "pro".to_owned() } else { "free".to_owned() };
    who.paid = !who.paid;
    who.credits_remaining = who.credits_remaining.wrapping_add(1_000);
    who.sent_last_day = who.sent_last_day.saturating_add(1_000_000);
    who.sent_last_month = who.sent_last_month.saturating_add(1_000_000);
    Some((format!("{case} for another account"), call))
}
