//! The deletion of an account: is it the one that is meant, and does it send no more?

use askama::Template;
use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;

use super::accounts::id_of;
use super::operating::{Operating, Order, done, record};
use crate::account::AccountState;
use crate::dashboard::frame::{Frame, Place};
use crate::dashboard::guard::{Theme, Visitor};
use crate::dashboard::response::{Failure, page, sentence, with_status};
use crate::dashboard::state::Dashboard;
use crate::dashboard::words::{counted, number};
use crate::id::AccountId;
use crate::management::accounts::{self, AccountError};

#[derive(Template)]
#[template(path = "app/ops/account_delete.html")]
struct DeletePage {
    frame: Frame,
    id: String,
    name: String,
    is_suspended: bool,
    /// As in `2 messages`: of the last 30 days.
    sent: String,
    balance: String,
    typed: String,
    fault: Option<String>,
}

pub async fn confirm(
    State(dashboard): State<Dashboard>,
    Operating(visitor): Operating,
    Path(id): Path<String>,
) -> Result<Response, Failure> {
    let id = id_of(&id)?;
    visitor.step_up(&dashboard, &format!("/ops/accounts/{id}/delete"))?;
    page(&delete_page(&dashboard, &visitor, id, (String::new(), None)).await?)
}

/// Orders the deletion of an account whose name was typed once more.
pub async fn delete(
    State(dashboard): State<Dashboard>,
    Path(id): Path<String>,
    order: Order,
) -> Result<Response, Failure> {
    let Order { visitor, form } = order;
    let (api, id) = (&dashboard.api, id_of(&id)?);
    visitor.step_up_for(&dashboard, &form)?;
    let (typed, now) = (form.get("name").trim().to_owned(), api.clock.now());
    let name = api.store.account(id, now).await?.account.name;
    if typed != name.trim() {
        let fault = format!("Nothing was deleted: type {name} to say that you mean this account.");
        let again = delete_page(&dashboard, &visitor, id, (typed, Some(fault))).await?;
        return with_status(StatusCode::UNPROCESSABLE_ENTITY, &again);
    }
    match accounts::delete(&api.store, id, now).await {
        Ok(_) => {
            // In the log of the server: that of the account goes with the account.
            record(&dashboard, &visitor, ("delete_account", id.to_string()), None).await;
            Ok(done(&format!("/ops/accounts/{id}"), "deleting"))
        }
        Err(AccountError::Store(error)) => Err(error.into()),
        Err(error) => {
            let fault = Some(sentence(&error.to_string()));
            let again = delete_page(&dashboard, &visitor, id, (typed, fault)).await?;
            with_status(StatusCode::CONFLICT, &again)
        }
    }
}

async fn delete_page(
    dashboard: &Dashboard,
    visitor: &Visitor,
    id: AccountId,
    (typed, fault): (String, Option<String>),
) -> Result<DeletePage, Failure> {
    let row = dashboard.api.store.account(id, dashboard.api.clock.now()).await?;
    Ok(DeletePage {
        frame: Frame::of(dashboard, visitor, Place::OpsAccounts).await?,
        id: id.to_string(),
        is_suspended: row.account.state == AccountState::Suspended,
        name: row.account.name,
        sent: counted(row.sent_month, "message", "messages"),
        balance: number(row.balance.0),
        typed,
        fault,
    })
}
