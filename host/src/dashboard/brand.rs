//! The brand: who does the account's mail say that it is from?

use askama::Template;
use axum::extract::State;
use axum::response::Response;
use http::{StatusCode, Uri};

use super::form::Form;
use super::frame::{Frame, Place};
use super::guard::{Submitted, Theme, Visitor};
use super::response::{Failure, page, sentence, to, with_status};
use super::state::Dashboard;
use crate::account::brand::{Brand, BrandChanges, BrandField};
use crate::account::role::Role;
use crate::authoring::brand;
use crate::management;

#[derive(Debug)]
struct BrandInput {
    /// As in the form and in templates.
    name: &'static str,
    label: &'static str,
    hint: &'static str,
    example: &'static str,
    value: String,
    fault: Option<String>,
}

#[derive(Template)]
#[template(path = "app/brand.html")]
struct BrandPage {
    frame: Frame,
    inputs: Vec<BrandInput>,
    /// The colour that is kept, for the sample of a button.
    color: Option<String>,
    product: String,
    /// What readers of the mail could not read.
    warnings: Vec<String>,
}

pub async fn show(
    State(dashboard): State<Dashboard>,
    visitor: Visitor,
    uri: Uri,
) -> Result<Response, Failure> {
    let mut shown = brand_page(&dashboard, &visitor).await?;
    if Form::of_query(uri.query()).get("done") == "changed" {
        let notice = "The brand is changed. The next message is written with it.";
        shown.frame.notice = Some(notice.to_owned());
    }
    page(&shown)
}

pub async fn change(
    State(dashboard): State<Dashboard>,
    sent: Submitted,
) -> Result<Response, Failure> {
    let Submitted { visitor, form } = sent;
    visitor.membership()?.at_least(Role::Owner)?;
    let (mut changes, mut faults) = (BrandChanges::default(), Vec::new());
    for field in BrandField::ALL {
        let typed = Some(form.get(field.variable()).trim()).filter(|it| !it.is_empty());
        if let Err(error) = changes.set(field, typed) {
            faults.push((field, sentence(&error.to_string())));
        }
    }
    if faults.is_empty() {
        let account = visitor.account()?;
        let (store, now) = (&dashboard.api.store, dashboard.api.clock.now());
        let (_, act) = management::brand::change(store, account, &changes, now).await?;
        visitor.record(&dashboard, act.action, act.subject).await?;
        return Ok(to("/app/brand?done=changed"));
    }
    let mut again = brand_page(&dashboard, &visitor).await?;
    // The warnings are about the saved brand; beside what was typed they would mislead.
    again.warnings.clear();
    for input in &mut again.inputs {
        form.get(input.name).clone_into(&mut input.value);
        let of_input = |(field, _): &&(BrandField, String)| field.variable() == input.name;
        input.fault = faults.iter().find(of_input).map(|(_, fault)| fault.clone());
    }
    with_status(StatusCode::UNPROCESSABLE_ENTITY, &again)
}

async fn brand_page(dashboard: &Dashboard, visitor: &Visitor) -> Result<BrandPage, Failure> {
    let api = &dashboard.api;
    let kept = api.store.account(visitor.account()?, api.clock.now()).await?.account.brand;
    let value = |field| kept.value(field).map(str::to_owned);
    Ok(BrandPage {
        frame: Frame::of(dashboard, visitor, Place::Brand).await?,
        inputs: BrandField::ALL.into_iter().map(|field| input(field, &kept)).collect(),
        color: value(BrandField::BrandColor),
        product: value(BrandField::ProductName).unwrap_or_default(),
        warnings: brand::warnings(&kept).iter().map(|it| sentence(it)).collect(),
    })
}

fn input(field: BrandField, kept: &Brand) -> BrandInput {
    let (label, hint, example) = match field {
        BrandField::ProductName => ("Product name", "What recipients call it.", "Tern & Co"),
        BrandField::ProductUrl => {
            ("Product URL", "Where the name leads to.", "https://example.com")
        }
        BrandField::SupportEmail => {
            ("Support address", "Where recipients write to with questions.", "help@example.com")
        }
        BrandField::CompanyAddress => {
            ("Postal address", "On one line; some countries ask for it.", "12 Harbour Row, Bristol")
        }
        BrandField::BrandColor => {
            ("Colour", "Of buttons with white text, so a dark one.", "#23695e")
        }
        BrandField::LogoUrl => {
            ("Logo URL", "A picture over https.", "https://example.com/logo.png")
        }
    };
    let value = kept.value(field).unwrap_or_default().to_owned();
    BrandInput { name: field.variable(), label, hint, example, value, fault: None }
}
