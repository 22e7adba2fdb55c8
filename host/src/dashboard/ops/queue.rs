//! The queue by destination: what is stuck, and on whom?

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use http::Uri;

use super::operating::{Operating, Order, record};
use crate::api::queue::{lane_of, retry_destination};
use crate::api::shapes::{QueuedDomain, QueuedGroup};
use crate::clock::Timestamp;
use crate::dashboard::form::{self, Form};
use crate::dashboard::frame::{Frame, Place};
use crate::dashboard::guard::Theme;
use crate::dashboard::response::{Failure, page, sentence, to};
use crate::dashboard::state::Dashboard;
use crate::dashboard::words::{Marked, When, counted_if_any, number};
use crate::delivery::queue::why::{self, WhyDestination};
use crate::fair_share::ShareOwner;
use crate::store::MAX_LISTED_MESSAGES;

const LINES: u32 = 50;

#[derive(Debug)]
struct DestinationLine {
    name: String,
    /// The name as a part of a path.
    link: String,
    messages: String,
    leased: String,
    oldest: Option<When>,
    why: String,
    until: Option<When>,
}

#[derive(Template)]
#[template(path = "app/ops/queue.html")]
struct QueuePage {
    frame: Frame,
    query: String,
    /// Whether only what rests until a moment is shown.
    is_resting_only: bool,
    waiting: String,
    oldest_due: Option<String>,
    lines: Vec<DestinationLine>,
    is_first_page: bool,
    next: Option<String>,
}

#[derive(Debug)]
struct GroupLine {
    messages: String,
    explanation: Marked,
    until: Option<When>,
    advice: Option<Marked>,
}

#[derive(Debug)]
struct HostsLine {
    names: String,
    badge: (&'static str, &'static str),
    health: String,
    /// As in `2 failures in a row`; none where there was none.
    failures: Option<String>,
    until: Option<When>,
    error: Option<String>,
}

#[derive(Template)]
#[template(path = "app/ops/destination.html")]
struct DestinationPage {
    frame: Frame,
    name: String,
    link: String,
    messages: String,
    is_more: bool,
    groups: Vec<GroupLine>,
    hosts: Vec<HostsLine>,
    unresolved: Option<String>,
    /// When, at which host, and what was answered.
    last: Option<(When, Option<String>, String)>,
}

impl DestinationLine {
    fn of(it: &WhyDestination, now: Timestamp) -> Self {
        let group = QueuedGroup::of_one(&it.first, it.messages);
        let more = if it.messages >= MAX_LISTED_MESSAGES { "+" } else { "" };
        Self {
            link: part_of_path(&it.lane),
            messages: format!("{}{more}", number(i64::from(it.messages))),
            leased: number(i64::from(it.leased)),
            oldest: it.oldest_at.map(|at| When::of(at, now)),
            why: sentence(&group.explanation),
            until: it.first.until.map(|at| When::of(at, now)),
            name: it.lane.clone(),
        }
    }
}

pub async fn list(
    State(dashboard): State<Dashboard>,
    Operating(visitor): Operating,
    uri: Uri,
) -> Result<Response, Failure> {
    let (api, now) = (&dashboard.api, dashboard.api.clock.now());
    let sent = Form::of_query(uri.query());
    let (query, after) = (sent.get("q").trim().to_lowercase(), sent.get("after"));
    let is_resting_only = sent.get("only") == "resting";
    let _page = api.lists.admit(ShareOwner::Operator).await?;
    let found = why::destinations((after, &query), LINES, (&api.store, &api.admission)).await?;
    let is_full = found.len() >= usize::try_from(LINES).unwrap_or(usize::MAX);
    let next = found.last().filter(|_| is_full).map(|it| {
        let only = if is_resting_only { "resting" } else { "" };
        let pairs = [("q", query.as_str()), ("only", only), ("after", &it.lane)];
        format!("/ops/queue?{}", form::query(pairs))
    });
    let is_shown = |it: &&WhyDestination| !is_resting_only || it.first.until.is_some();
    let gauges = api.store.gauges(now).await?;
    page(&QueuePage {
        lines: found.iter().filter(is_shown).map(|it| DestinationLine::of(it, now)).collect(),
        is_first_page: after.is_empty(),
        waiting: number(gauges.waiting),
        oldest_due: (!gauges.oldest_due.is_zero())
            .then(|| When::of(now.before(gauges.oldest_due), now).short),
        frame: Frame::of(&dashboard, &visitor, Place::OpsQueue).await?,
        query,
        is_resting_only,
        next,
    })
}

pub async fn show(
    State(dashboard): State<Dashboard>,
    Operating(visitor): Operating,
    Path(destination): Path<String>,
    uri: Uri,
) -> Result<Response, Failure> {
    let (api, now) = (&dashboard.api, dashboard.api.clock.now());
    let lane = lane_of(&destination).ok_or(Failure::Missing)?;
    let _page = api.lists.admit(ShareOwner::Operator).await?;
    let why = why::domain(&lane, &api.store, &api.admission).await?;
    let mut frame = Frame::of(&dashboard, &visitor, Place::OpsQueue).await?;
    let tried = Form::of_query(uri.query()).get("tried").parse::<u32>().ok();
    frame.notice = tried.map(|tried| match tried {
        0 => "Nothing waits there for a next attempt: what is left is due or under way.".to_owned(),
        1 => "One message is due now.".to_owned(),
        many => format!("{} messages are due now.", number(i64::from(many))),
    });
    let link = part_of_path(&lane);
    let Some(why) = why else {
        if tried.is_none() {
            return Err(Failure::Missing);
        }
        // The last message may have left since the form was sent.
        return page(&DestinationPage {
            frame,
            name: lane,
            link,
            messages: number(0),
            is_more: false,
            groups: Vec::new(),
            hosts: Vec::new(),
            unresolved: None,
            last: None,
        });
    };
    let shown = QueuedDomain::new(lane, why);
    page(&destination_page(frame, link, shown, now))
}

/// Makes all deferred messages of a destination due, also during a back-off from it.
pub async fn try_now(
    State(dashboard): State<Dashboard>,
    Path(destination): Path<String>,
    order: Order,
) -> Result<Response, Failure> {
    let lane = lane_of(&destination).ok_or(Failure::Missing)?;
    let tried = retry_destination(&dashboard.api, &lane).await?;
    record(&dashboard, &order.visitor, ("retry_destination", lane.clone()), None).await;
    Ok(to(&format!("/ops/queue/{}?tried={tried}", part_of_path(&lane))))
}

fn destination_page(
    frame: Frame,
    link: String,
    shown: QueuedDomain,
    now: Timestamp,
) -> DestinationPage {
    let when = |text: &str| Timestamp::parse_rfc3339(text).map(|at| When::of(at, now));
    let groups = shown.groups.into_iter().map(|it| GroupLine {
        messages: number(i64::from(it.messages)),
        explanation: Marked::of(&sentence(&it.explanation)),
        until: it.until.as_deref().and_then(when),
        advice: it.advice.map(|it| Marked::of(&here(&it))),
    });
    let hosts = shown.hosts.into_iter().map(|it| {
        let health = serde_json::to_value(it.health).ok();
        let health = health.and_then(|it| it.as_str().map(|word| word.replace('_', " ")));
        let health = health.unwrap_or_default();
        HostsLine {
            badge: match health.as_str() {
                "proven" => ("good", "✓"),
                "unproven" => ("off", "–"),
                _ => ("wait", "↻"),
            },
            names: it.hosts,
            health,
            failures: counted_if_any(it.failures.into(), "failure", "failures in a row"),
            until: it.until.as_deref().and_then(when),
            error: it.last_error,
        }
    });
    DestinationPage {
        frame,
        messages: number(i64::from(shown.messages)),
        is_more: shown.has_more,
        groups: groups.collect(),
        hosts: hosts.collect(),
        unresolved: shown.unresolved,
        last: shown.last_attempt.and_then(|it| Some((when(&it.at)?, it.host, it.reply))),
        name: shown.domain,
        link,
    }
}

/// An advice in words of the page, whose button does what a command does elsewhere.
fn here(advice: &str) -> String {
    let Some((before, _)) = advice.split_once("`waxwing message retry`") else {
        return sentence(advice);
    };
    let button = "Try now, above, does not wait for it.";
    match before.trim_end_matches("; ") {
        "" => button.to_owned(),
        before => format!("{} {button}", sentence(before)),
    }
}

fn part_of_path(lane: &str) -> String {
    url::form_urlencoded::byte_serialize(lane.as_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_advice_names_the_button_in_place_of_the_command() {
        assert_eq!(
            here("see what they answer; `waxwing message retry` tries one message even now"),
            "See what they answer. Try now, above, does not wait for it."
        );
        assert_eq!(
            here("`waxwing message retry` tries it now"),
            "Try now, above, does not wait for it."
        );
        assert_eq!(here("raise `connections`"), "Raise `connections`.");
    }
}
