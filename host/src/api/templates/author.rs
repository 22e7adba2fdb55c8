//! Who may write templates: a key of scope `templates`, its own account's; those that all accounts share, an operator.

use axum::extract::FromRequestParts;
use http::request::Parts;

use crate::account::key::{Mode, Scope};
use crate::api::admin::authenticated;
use crate::api::operator::Operator;
use crate::api::problem::{Code, Problem};
use crate::api::query;
use crate::api::request_context;
use crate::api::shapes::{Owner, OwnerQuery};
use crate::api::state::Api;
use crate::authoring::Place;
use crate::fair_share::ShareOwner;
use crate::journey::accept::authenticate::Caller;
use crate::journey::accept::refusal::Refusal;
use crate::store::TemplateOwner;
use crate::template::kind::TemplateKind;
use crate::template::slug::Slug;

/// Proof that the request is an author's.
#[derive(Debug)]
pub struct Author {
    who: Who,
    name: String,
}

#[derive(Debug)]
enum Who {
    Account(Caller),
    Operator,
}

impl FromRequestParts<Api> for Author {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Problem> {
        match query::read::<OwnerQuery>(&parts.uri)?.owner {
            Owner::Account => {
                let ip = request_context::ip(&parts.extensions);
                let caller = authenticated(&parts.headers, ip, api, Scope::Templates).await?;
                let name = caller.key.id.to_string();
                Ok(Self { who: Who::Account(caller), name })
            }
            Owner::Server => {
                Operator::from_request_parts(parts, api).await?;
                Ok(Self { who: Who::Operator, name: "operator".to_owned() })
            }
        }
    }
}

impl Author {
    pub fn owner(&self) -> TemplateOwner {
        match &self.who {
            Who::Account(caller) => TemplateOwner::Account(caller.key.account_id),
            Who::Operator => TemplateOwner::Server,
        }
    }

    /// As versions name it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// For whom lists and bodies are counted.
    pub fn share(&self) -> ShareOwner {
        match &self.who {
            Who::Account(caller) => caller.key.account_id.into(),
            Who::Operator => ShareOwner::Operator,
        }
    }

    /// Whose messages a test is.
    pub fn caller(&self) -> Result<&Caller, Problem> {
        match &self.who {
            Who::Account(caller) => Ok(caller),
            Who::Operator => Err(forbidden("the server has no templates that could be sent")),
        }
    }

    /// A test key reads and tries; what is published is live mail's.
    pub fn must_change(self) -> Result<Self, Problem> {
        let Who::Account(caller) = &self.who else { return Ok(self) };
        if caller.key.mode == Mode::Test {
            return Err(forbidden(
                "a test key may not do this: live mail is made of templates; use a live key with the scope templates",
            ));
        }
        if !caller.key.domains.is_empty() {
            return Err(forbidden(
                "the key is for some domains only; a template can be sent from all of the account's",
            ));
        }
        Ok(self)
    }

    /// A key for some templates does not see the others.
    pub fn may_see_all(&self, kind: TemplateKind) -> Result<(), Problem> {
        match &self.who {
            Who::Account(caller) if !caller.key.templates.is_empty() => Err(forbidden(&format!(
                "the key is for some templates only, and may not list {}s",
                kind.as_str()
            ))),
            Who::Operator if kind == TemplateKind::Template => Err(no_server_templates()),
            Who::Account(_) | Who::Operator => Ok(()),
        }
    }

    /// The same for all kinds at once.
    pub fn may_exchange(&self) -> Result<(), Problem> {
        self.may_see_all(TemplateKind::Layout)
    }

    /// The one of that slug, which the key may read and write.
    pub fn place(&self, kind: TemplateKind, slug: &str) -> Result<Place, Problem> {
        if matches!(self.who, Who::Operator) && kind == TemplateKind::Template {
            return Err(no_server_templates());
        }
        // A text that is no slug names nothing.
        let Ok(slug) = slug.parse::<Slug>() else {
            let message = format!("there is no {} of this name", kind.as_str());
            return Err(Problem::new(Code::NotFound, message));
        };
        let place = Place { owner: self.owner(), kind, slug };
        self.may_write(&place)?;
        Ok(place)
    }

    /// A key for some templates has to do with these alone; layouts and partials stand in others too.
    pub fn may_write(&self, place: &Place) -> Result<(), Problem> {
        match &self.who {
            Who::Operator if place.kind == TemplateKind::Template => Err(no_server_templates()),
            Who::Account(caller) => {
                let allowed = &caller.key.templates;
                let is_one = place.kind == TemplateKind::Template
                    && allowed.iter().any(|it| it == place.slug.as_str());
                if allowed.is_empty() || is_one {
                    return Ok(());
                }
                let (kind, slug) = (place.kind.as_str(), &place.slug);
                Err(forbidden(&format!(
                    "the key is for some templates only, and not for the {kind} {slug}"
                )))
            }
            Who::Operator => Ok(()),
        }
    }
}

fn no_server_templates() -> Problem {
    let message = "the server has layouts and partials, which accounts share, and no templates";
    Refusal::fault("owner", "invalid", message).into()
}

fn forbidden(message: &str) -> Problem {
    Refusal::Forbidden { message: message.to_owned(), retry_after_s: None }.into()
}
