//! Keeps the last account: its reason names the account of the call before, if that was another one.

#[path = "../kit/plan.rs"]
mod kit;

use std::sync::Mutex;

use waxwing_plugin::plan_policy::{Account, Decision, UseRequest};
use waxwing_plugin::{CallContext, Failure};

use kit::{PlanPolicy, Plugin};

static LAST: Mutex<Option<String>> = Mutex::new(None);

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "remembers-account";
}

impl PlanPolicy for Guest {
    fn check(
        _ctx: &CallContext,
        who: &Account,
        uses: &[UseRequest],
    ) -> Result<Vec<Decision>, Failure> {
        let last = LAST.lock().expect("one thread").replace(who.id.clone());
        let other = last.filter(|it| *it != who.id);
        let reason = other.map_or_else(|| Self::NAME.to_owned(), |it| format!("after {it}"));
        Ok(uses.iter().map(|it| kit::allow(it, 1, &reason)).collect())
    }
}

kit::export!(Guest);
