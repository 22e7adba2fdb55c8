//! The list of messages: where is Ada's mail? Filters and the cursor stand in the URL.

use std::time::Duration;

use askama::Template;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderValue, Uri, header};

use super::form::{self, Form};
use super::frame::{Frame, Place};
use super::guard::{Theme, Visitor};
use super::live::{Asked, Live};
use super::response::{Failure, to};
use super::sending::{Sample, curl};
use super::state::Dashboard;
use super::words::{When, badge, shortened};
use crate::clock::Timestamp;
use crate::id::MessageId;
use crate::message::address::EmailAddress;
use crate::message::line::printable;
use crate::message::state::MessageState;
use crate::store::{MessageFilter, MessageRow};

const LINES: u32 = 50;
/// Rows of a file, read so many at a time; where many are looked at in vain, the file ends earlier.
const MAX_CSV_ROWS: usize = 5_000;
const CSV_LINES: u32 = 250;
const CSV_PAGES: u32 = 20;
const HOUR_MS: i64 = 3_600_000;
const ABOUT_NOW: Duration = Duration::from_secs(5);
/// What the row of links above the list offers.
const TABS: [(&str, &str); 6] = [
    ("", "All"),
    ("delivered,relayed", "Delivered"),
    ("scheduled,queued,sending", "On the way"),
    ("deferred", "Deferred"),
    ("bounced,failed", "Failed"),
    ("suppressed,canceled", "Not sent"),
];

/// A message in a list.
#[derive(Debug)]
pub struct Line {
    pub id: String,
    pub to: String,
    pub subject: String,
    pub template: Option<String>,
    pub state: &'static str,
    /// Whether its state is about to change.
    pub is_under_way: bool,
    pub badge: (&'static str, &'static str),
    pub at: When,
    /// Why, where it did not go well.
    pub reason: Option<String>,
}

#[derive(Debug)]
pub struct Tab {
    pub title: &'static str,
    pub link: String,
    pub is_shown: bool,
}

#[derive(Template)]
#[template(path = "app/messages.html", blocks = ["live"])]
struct MessagesPage {
    frame: Frame,
    query: String,
    state: String,
    tabs: Vec<Tab>,
    lines: Vec<Line>,
    faults: Vec<String>,
    is_filtered: bool,
    /// The command that sends the first message; none where there are some, or filters.
    curl: Option<String>,
    /// Where the list goes on.
    next: Option<String>,
    /// Down to which moment an unfinished search has looked.
    looked_to: Option<When>,
    /// Where the list is as a file.
    csv: String,
    is_first_page: bool,
    /// As in `4`, of messages that came after the page was loaded; none where there are none.
    newer: Option<String>,
    live: Live,
}

impl Line {
    pub fn of(row: MessageRow, now: Timestamp) -> Self {
        let is_well = !matches!(
            row.state,
            MessageState::Deferred
                | MessageState::Bounced
                | MessageState::Failed
                | MessageState::Suppressed
        );
        Self {
            is_under_way: is_under_way(&row, now),
            id: row.id.to_string(),
            to: row.to,
            subject: printable(&row.subject),
            template: row.template,
            state: row.state.as_str(),
            badge: badge(row.state),
            at: When::of(row.created_at, now),
            reason: (!is_well).then(|| shortened(&row.reason)),
        }
    }
}

/// Whether something happens to a message within seconds.
pub fn is_under_way(row: &MessageRow, now: Timestamp) -> bool {
    matches!(row.state, MessageState::Queued | MessageState::Sending)
        || row.next_attempt_at.is_some_and(|at| at <= now.after(ABOUT_NOW))
}

pub async fn list(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    asked: Asked,
    uri: Uri,
) -> Result<Response, Failure> {
    let (api, now) = (&dashboard.api, dashboard.api.clock.now());
    let account = visitor.account()?;
    let sent = Form::of_query(uri.query());
    let (query, state) = (sent.get("q").trim().to_owned(), sent.get("state").to_owned());
    if query.parse::<MessageId>().is_ok() {
        return Ok(to(&format!("/app/messages/{query}")));
    }
    let (filter, faults) = filter(&query, &state, now);
    let after = sent.get("after").parse::<MessageId>().ok();
    // The newest message that the page had when it was loaded: what is newer stays behind a button.
    let top = sent.get("top").parse::<MessageId>().ok().filter(|_| after.is_none());
    let (mut lines, mut next, mut looked_to, mut newer) = (Vec::new(), None, None, 0);
    if faults.is_empty() {
        let _page = api.lists.admit(account).await?;
        if let Some(top) = top {
            let newest = api.store.messages(account, &filter, None, LINES).await?.messages;
            newer = newest.iter().take_while(|it| it.id > top).count();
        }
        let from = after.or(top.map(MessageId::successor));
        let page = api.store.messages(account, &filter, from, LINES).await?;
        let is_short = page.messages.len() < usize::try_from(LINES).unwrap_or(usize::MAX);
        lines = page.messages.into_iter().map(|row| Line::of(row, now)).collect();
        if let Some(id) = page.next {
            let cursor = id.to_string();
            let pairs = [("q", query.as_str()), ("state", &state), ("after", &cursor)];
            next = Some(format!("/app/messages?{}", form::query(pairs)));
            let hour = Timestamp::from_millis(id.period().saturating_mul(HOUR_MS));
            looked_to = is_short.then(|| When::of(hour, now));
        }
    }
    let shown_from = top.map(|it| it.to_string()).or(lines.first().map(|it: &Line| it.id.clone()));
    let [cursor, top] = [after.map(|it| it.to_string()), shown_from.filter(|_| after.is_none())]
        .map(Option::unwrap_or_default);
    let pairs = [("q", query.as_str()), ("state", &state), ("after", &cursor), ("top", &top)];
    // A search that has not found all of them at once is too much to be made every minute.
    let is_live = faults.is_empty() && looked_to.is_none();
    let shown = lines.iter().flat_map(|it| [it.id.as_str(), it.state]);
    let newer = newer.to_string();
    let is_under_way = lines.iter().any(|it| it.is_under_way);
    let live = Live::new(
        is_live.then_some("/app/messages"),
        &pairs,
        shown.chain([newer.as_str()]),
        is_under_way,
    );
    let more = if newer == LINES.to_string() { "+" } else { "" };
    let newer = Some(format!("{newer}{more}")).filter(|it| it != "0");
    let pairs = form::query([("q", query.as_str()), ("state", state.as_str())]);
    let is_empty = lines.is_empty() && pairs.is_empty() && after.is_none();
    let mut frame = Frame::of(&dashboard, &visitor, Place::Messages).await?;
    if sent.get("done") == "resent" {
        let notice = "The message is being sent once more: it stands here in a moment.";
        frame.notice = Some(notice.to_owned());
    }
    let curl = if is_empty {
        let row = api.store.account(account, now).await?;
        Some(curl(&visitor, Sample::of(&dashboard, &row).await?.as_ref(), "YOUR_KEY"))
    } else {
        None
    };
    let shown = MessagesPage {
        curl,
        csv: format!("/app/messages.csv?{pairs}"),
        tabs: tabs(&query, Some(&state)),
        is_filtered: !query.is_empty() || !state.is_empty(),
        is_first_page: after.is_none(),
        frame,
        query,
        state,
        lines,
        faults,
        next,
        looked_to,
        newer,
        live,
    };
    shown.live.answer(asked, &sent, (&shown, &shown.as_live()))
}

/// The states that the list can show; none of them is shown where it is the refusals.
pub fn tabs(query: &str, state: Option<&str>) -> Vec<Tab> {
    let tab = |(states, title): (&'static str, &'static str)| {
        let pairs = form::query([("q", query), ("state", states)]);
        let mark = if pairs.is_empty() { "" } else { "?" };
        Tab { title, link: format!("/app/messages{mark}{pairs}"), is_shown: state == Some(states) }
    };
    let link = "/app/refusals".to_owned();
    let refused = Tab { title: "Refused", link, is_shown: state.is_none() };
    TABS.into_iter().map(tab).chain([refused]).collect()
}

/// The same list as a file, down to a bounded number of rows.
pub async fn csv(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    uri: Uri,
) -> Result<Response, Failure> {
    let (api, now) = (&dashboard.api, dashboard.api.clock.now());
    let account = visitor.account()?;
    let sent = Form::of_query(uri.query());
    let (filter, faults) = filter(sent.get("q").trim(), sent.get("state"), now);
    if let Some(fault) = faults.into_iter().next() {
        return Err(Failure::Invalid(fault));
    }
    let mut text = "id,state,accepted,to,from,subject,template,credits,reason\r\n".to_owned();
    let (mut rows, mut after) = (0, None);
    for _ in 0..CSV_PAGES {
        let _page = api.lists.admit(account).await?;
        let page = api.store.messages(account, &filter, after, CSV_LINES).await?;
        for row in &page.messages {
            csv_line(row, &mut text);
        }
        rows += page.messages.len();
        after = page.next;
        if after.is_none() || rows >= MAX_CSV_ROWS {
            break;
        }
    }
    let mut response = text.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/csv; charset=utf-8"));
    let name = HeaderValue::from_static("attachment; filename=\"messages.csv\"");
    headers.insert(header::CONTENT_DISPOSITION, name);
    Ok(response)
}

fn csv_line(row: &MessageRow, text: &mut String) {
    let (id, at, credits) =
        (row.id.to_string(), row.created_at.rfc3339(), row.credits.0.to_string());
    let template = row.template.as_deref().unwrap_or_default();
    let cells = [
        &id,
        row.state.as_str(),
        &at,
        &row.to,
        &row.from,
        &row.subject,
        template,
        &credits,
        &row.reason,
    ];
    for (at, cell) in cells.into_iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        csv_cell(cell, text);
    }
    text.push_str("\r\n");
}

fn csv_cell(cell: &str, text: &mut String) {
    // A table program takes what begins so for a formula.
    let mark = if cell.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    text.extend(["\"", mark, &cell.replace('"', "\"\""), "\""]);
}

/// Reads `to:ada@x.org state:bounced since:2d`; a bare address is a recipient, other words are a part of the subject.
fn filter(query: &str, state: &str, now: Timestamp) -> (MessageFilter, Vec<String>) {
    let (mut filter, mut faults, mut subject) = (MessageFilter::default(), Vec::new(), Vec::new());
    let mut read_states = |text: &str, faults: &mut Vec<String>| {
        for word in text.split(',').filter(|it| !it.is_empty()) {
            if let Some(state) = MessageState::from_name(word) {
                filter.states.push(state);
            } else {
                let known: Vec<&str> = MessageState::ALL.iter().map(|it| it.as_str()).collect();
                let known = known.join(", ");
                faults.push(format!("there is no state “{word}”; there are {known}"));
            }
        }
    };
    read_states(state, &mut faults);
    for word in query.split_whitespace() {
        if let Some(text) = word.strip_prefix("state:") {
            read_states(text, &mut faults);
        }
    }
    for word in query.split_whitespace() {
        let address = |text: &str, faults: &mut Vec<String>| {
            let address = text.parse::<EmailAddress>().ok();
            if address.is_none() {
                faults.push(format!("“{text}” is no whole e-mail address, as in ada@example.com"));
            }
            address
        };
        match word.split_once(':') {
            Some(("state", _)) => {}
            Some(("to", text)) => filter.to = address(text, &mut faults),
            Some(("from", text)) => filter.from = address(text, &mut faults),
            Some(("template", text)) => filter.template = Some(text.to_owned()),
            Some(("tag", text)) => filter.tag = Some(text.to_owned()),
            Some(("subject", text)) => subject.push(text),
            Some((bound @ ("since" | "until"), text)) => match moment(text, now) {
                Some(at) if bound == "since" => filter.since = Some(at),
                Some(at) => filter.until = Some(at),
                None => faults.push(format!("“{text}” is no time; write 2h, 3d or 2026-11-23")),
            },
            Some(_) | None if word.contains('@') => filter.to = address(word, &mut faults),
            Some(_) | None => subject.push(word),
        }
    }
    if !subject.is_empty() {
        filter.subject = Some(subject.join(" "));
    }
    (filter, faults)
}

fn moment(text: &str, now: Timestamp) -> Option<Timestamp> {
    let whole_day = || Timestamp::parse_rfc3339(&format!("{text}T00:00:00Z"));
    if let Some(moment) = Timestamp::parse_rfc3339(text).or_else(whole_day) {
        return Some(moment);
    }
    let (count, hours) = match (text.strip_suffix('h'), text.strip_suffix('d')) {
        (Some(hours), _) => (hours, 1),
        (None, Some(days)) => (days, 24),
        (None, None) => return None,
    };
    let count: u32 = count.parse().ok()?;
    Some(now.before(Duration::from_hours(u64::from(count) * hours)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_of_a_file_is_a_formula_or_ends_early() {
        let mut text = String::new();
        csv_cell("=1+1\"", &mut text);
        assert_eq!(text, "\"'=1+1\"\"\"");
    }

    #[test]
    fn one_field_finds_by_all_that_a_person_types() {
        let now = Timestamp::parse_rfc3339("2026-11-23T12:00:00Z").expect("a moment");
        let (found, faults) =
            filter("to:ada@x.org state:bounced since:2d until:1d your receipt", "", now);
        assert_eq!(faults, Vec::<String>::new());
        assert_eq!(found.to.map(|it| it.to_string()).as_deref(), Some("ada@x.org"));
        assert_eq!(found.states, [MessageState::Bounced]);
        assert_eq!(found.subject.as_deref(), Some("your receipt"));
        assert_eq!(found.since, Timestamp::parse_rfc3339("2026-11-21T12:00:00Z"));
        assert_eq!(found.until, Timestamp::parse_rfc3339("2026-11-22T12:00:00Z"));
        assert!(filter("ada@x.org", "", now).0.to.is_some());
        let (_, faults) = filter("to:ada since:soon state:lost", "asleep", now);
        assert_eq!(faults.len(), 4, "{faults:?}");
    }
}
