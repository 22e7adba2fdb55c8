//! Which messages a list holds.

use serde::Deserialize;
use utoipa::IntoParams;

use super::super::admin::Admin;
use super::super::problem::Problem;
use super::super::query::Faults;
use super::super::shapes::Limit;
use crate::account::key::Mode;
use crate::id::MessageId;
use crate::journey::accept::refusal::Refusal;
use crate::message::address::EmailAddress;
use crate::message::state::MessageState;
use crate::store::MessageFilter;

/// Which messages.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    /// Items of a page, at most 500. Default: 50.
    #[param(inline, value_type = Option<Limit>)]
    pub limit: Option<u32>,
    /// Those behind this one: the last one of the page before, or its `next`.
    #[param(inline, value_type = Option<MessageId>)]
    after: Option<String>,
    /// Those to this address.
    #[param(format = "email")]
    to: Option<String>,
    /// Those from this address.
    #[param(format = "email")]
    from: Option<String>,
    /// Those in one of these states, with commas between them.
    #[param(inline, value_type = Option<Vec<MessageState>>, style = Form, explode = false, min_items = 1)]
    state: Option<String>,
    /// Those of the template with this slug.
    template: Option<String>,
    /// Those with this tag.
    tag: Option<String>,
    /// Those whose subject holds this text; the letters A to Z in either case.
    subject: Option<String>,
    /// Those accepted at this moment or later.
    #[param(format = "date-time")]
    since: Option<String>,
    /// Those accepted before this moment.
    #[param(format = "date-time")]
    until: Option<String>,
}

impl ListQuery {
    /// The filter, within what the key may see, and where the page begins.
    pub fn filter(&self, admin: &Admin) -> Result<(MessageFilter, Option<MessageId>), Problem> {
        let mut faults = Faults::default();
        let filter = MessageFilter {
            to: faults.read("to", self.to.as_deref(), str::parse::<EmailAddress>),
            from: faults.read("from", self.from.as_deref(), str::parse::<EmailAddress>),
            states: faults.read("state", self.state.as_deref(), states).unwrap_or_default(),
            template: self.template.clone(),
            tag: self.tag.clone(),
            subject: self.subject.clone(),
            since: faults.moment("since", self.since.as_deref()),
            until: faults.moment("until", self.until.as_deref()),
            domains: admin.caller().key.domains.clone(),
            templates: admin.caller().key.templates.clone(),
            mode: admin.is_test().then_some(Mode::Test),
        };
        let after = faults.read("after", self.after.as_deref(), str::parse::<MessageId>);
        match faults {
            Faults(faults) if faults.is_empty() => Ok((filter, after)),
            Faults(faults) => Err(Refusal::bad_request(faults).into()),
        }
    }
}

/// A word that is the name of no state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be of {}, with commas between them", MessageState::ALL.map(MessageState::as_str).join(", "))]
struct UnknownState;

fn states(text: &str) -> Result<Vec<MessageState>, UnknownState> {
    let read = |word: &str| MessageState::from_name(word).ok_or(UnknownState);
    text.split(',').map(read).collect()
}
