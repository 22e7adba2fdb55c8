//! The sandbox inbox, as an account may see it: its own messages that went there, from the store. The inbox itself
//! does not know whose mail it holds, and is open to this machine alone.

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use http::Uri;

use super::form::Form;
use super::frame::{Frame, Place};
use super::guard::{Theme, Visitor};
use super::messages::Line;
use super::response::{Failure, page};
use super::state::Dashboard;
use super::words::When;
use crate::clock::Timestamp;
use crate::id::MessageId;
use crate::message::state::MessageState;
use crate::store::MessageFilter;

const LOOKED_AT: u32 = 100;
const HOUR_MS: i64 = 3_600_000;

#[derive(Template)]
#[template(path = "app/inbox.html")]
struct InboxPage {
    frame: Frame,
    lines: Vec<Line>,
    is_first_page: bool,
    next: Option<String>,
    looked_to: Option<When>,
}

pub async fn list(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    uri: Uri,
) -> Result<Response, Failure> {
    let (api, now) = (&dashboard.api, dashboard.api.clock.now());
    let account = visitor.account()?;
    let after = Form::of_query(uri.query()).get("after").parse::<MessageId>().ok();
    let _page = api.lists.admit(account).await?;
    let states = vec![MessageState::Delivered];
    let delivered = MessageFilter { states, ..MessageFilter::default() };
    let found = api.store.messages(account, &delivered, after, LOOKED_AT).await?;
    let ids: Vec<MessageId> = found.messages.iter().map(|it| it.id).collect();
    let in_sandbox = api.store.in_sandbox(&ids).await?;
    let own = found.messages.into_iter().filter(|it| in_sandbox.contains(&it.id));
    let lines: Vec<Line> = own.map(|row| Line::of(row, now)).collect();
    let hour = |id: MessageId| Timestamp::from_millis(id.period().saturating_mul(HOUR_MS));
    page(&InboxPage {
        looked_to: found.next.filter(|_| lines.len() < ids.len()).map(|id| When::of(hour(id), now)),
        next: found.next.map(|id| format!("/app/inbox?after={id}")),
        is_first_page: after.is_none(),
        frame: Frame::of(&dashboard, &visitor, Place::Inbox).await?,
        lines,
    })
}
