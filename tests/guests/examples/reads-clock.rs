//! Reads both clocks and takes a random number in every check, and says what it got in the reason:
//! `wall=<milliseconds> passed=<nanoseconds> random=<sixteen hexadecimal digits>`.

#[path = "../kit/plan.rs"]
mod kit;

use std::hash::{BuildHasher, RandomState};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use waxwing_plugin::plan_policy::{Account, Decision, UseRequest};
use waxwing_plugin::{CallContext, Failure};

use kit::{PlanPolicy, Plugin};

struct Guest;

impl Plugin for Guest {
    const NAME: &'static str = "reads-clock";
}

impl PlanPolicy for Guest {
    fn check(
        _ctx: &CallContext,
        _who: &Account,
        uses: &[UseRequest],
    ) -> Result<Vec<Decision>, Failure> {
        let start = Instant::now();
        let mut work = 0_u64;
        for turn in 0..100_000 {
            work = std::hint::black_box(work ^ turn);
        }
        let passed = start.elapsed().as_nanos();
        let wall = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_err(|error| Failure::Internal(error.to_string()))?
            .as_millis();
        let random = RandomState::new().hash_one(0);
        let reason = format!("wall={wall} passed={passed} random={random:016x}");
        Ok(uses.iter().map(|it| kit::allow(it, 1, &reason)).collect())
    }
}

kit::export!(Guest);
