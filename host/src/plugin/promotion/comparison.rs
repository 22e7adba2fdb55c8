//! Where two versions of a plugin answer one call otherwise, call by call and counted together.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::plugin::records::{Call, differences, summarize_change};

/// Groups of equal differences that are listed, at most.
const MAX_GROUPS: usize = 50;
/// Calls that are named for each group, at most.
const MAX_NAMED_CALLS: usize = 3;
/// Lines that say where one call's answers differ, at most.
const MAX_LINES: usize = 5;

/// One call that a candidate answers otherwise.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = CallDifference)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// The call: a request, or a recorded decision.
    pub call_id: String,
    /// Where the answers differ.
    pub lines: Vec<String>,
}

/// Differences that are equal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = EqualDifferences)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    /// What differs, such as `allow for 1 -> deny (restricted-template)`.
    pub what: String,
    /// How many calls differ so.
    pub calls: u32,
    /// The first of them.
    pub call_ids: Vec<String>,
}

/// The difference between two answers to a call.
#[must_use]
pub fn compare(call: &Call, before: &Value, after: &Value) -> Option<Difference> {
    let lines = differences(before, after, MAX_LINES);
    let call_id = call.context.call_id.clone();
    (before != after).then_some(Difference { call_id, lines })
}

/// Counts a difference among those that are equal to it.
pub fn note(groups: &mut Vec<Group>, call: &Call, before: &Value, after: &Value) {
    let what = summarize_change(call.kind(), before, after);
    let call_id = call.context.call_id.clone();
    if let Some(group) = groups.iter_mut().find(|it| it.what == what) {
        group.calls += 1;
        if group.call_ids.len() < MAX_NAMED_CALLS {
            group.call_ids.push(call_id);
        }
    } else if groups.len() < MAX_GROUPS {
        groups.push(Group { what, calls: 1, call_ids: vec![call_id] });
    }
    groups.sort_by_key(|it| std::cmp::Reverse(it.calls));
}
