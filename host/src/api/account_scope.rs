//! Whose account a request is about: that of its key (scope `admin`), or, with `?account=acc_…`, any (scope
//! `operator`).

use axum::extract::FromRequestParts;
use http::request::Parts;

use super::admin::Admin;
use super::operator::Operator;
use super::problem::{Code, Problem};
use super::query;
use super::shapes::AccountQuery;
use super::state::Api;
use crate::account::AccountState;
use crate::fair_share::ShareOwner;
use crate::id::AccountId;
use crate::journey::accept::refusal::Refusal;
use crate::management::keys::Grantor;
use crate::store::StoreError;

/// Proof that the request is from somebody who may manage an account.
#[derive(Debug)]
pub struct AccountScope {
    pub account: AccountId,
    by: By,
}

#[derive(Debug)]
enum By {
    /// A key of the account.
    Holder(Admin),
    /// An operator, with a key of the scope `operator` or the control token.
    Operator(Operator),
}

impl AccountScope {
    pub fn grantor(&self) -> Grantor<'_> {
        match &self.by {
            By::Holder(admin) => Grantor::Holder(&admin.caller().key),
            By::Operator(operator) => operator.key().map_or(Grantor::Machine, Grantor::Operator),
        }
    }

    pub fn share_owner(&self) -> ShareOwner {
        match self.by {
            By::Holder(_) => self.account.into(),
            By::Operator(_) => ShareOwner::Operator,
        }
    }

    /// As [`Self::for_all_of_it`], for what gives people a lasting hold on the account: a key that expires, or that is bound
    /// to networks, is refused, too.
    ///
    /// # Errors
    /// The key expires, is bound to networks, or is one that [`Self::for_all_of_it`] refuses.
    pub fn for_all_of_it_and_for_good(self, what: &str) -> Result<Self, Problem> {
        without_bounds(self.for_all_of_it(what)?, what)
    }

    /// Refuses what belongs to the whole account, and to its live mail, to test keys and to keys for some domains or
    /// templates. `what` it is goes into the refusal.
    ///
    /// # Errors
    /// It is such a key.
    pub fn for_all_of_it(self, what: &str) -> Result<Self, Problem> {
        let Self { account, by } = self;
        let by = match by {
            By::Operator(operator) => By::Operator(operator),
            By::Holder(admin) => By::Holder(for_the_whole(admin, what)?),
        };
        Ok(Self { account, by })
    }
}

/// Refuses a key that ends, or that is bound to networks: a person whom it makes an owner would have neither bound.
///
/// # Errors
/// It is such a key.
fn without_bounds(scope: AccountScope, what: &str) -> Result<AccountScope, Problem> {
    if let By::Holder(admin) = &scope.by
        && (admin.caller().key.expires_at.is_some() || !admin.caller().key.networks.is_empty())
    {
        let message = format!(
            "the key ends, or is bound to networks, and {what} have neither bound; use a key without them, or the dashboard"
        );
        return Err(Refusal::Forbidden { message, retry_after_s: None }.into());
    }
    Ok(scope)
}

/// A live key for the whole of its account.
///
/// # Errors
/// It is a test key, or for some domains or templates.
pub fn for_the_whole(admin: Admin, what: &str) -> Result<Admin, Problem> {
    let admin = admin.must_be_live(&format!("{what} belongs to the account's live mail"))?;
    if admin.is_for_all() {
        return Ok(admin);
    }
    let message =
        format!("the key is for some domains or templates only; {what} is the whole account's");
    Err(Refusal::Forbidden { message, retry_after_s: None }.into())
}

impl FromRequestParts<Api> for AccountScope {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Problem> {
        let Some(account) = query::read::<AccountQuery>(&parts.uri)?.account else {
            let admin = Admin::from_request_parts(parts, api).await?;
            return Ok(Self { account: admin.account(), by: By::Holder(admin) });
        };
        let operator = Operator::from_request_parts(parts, api).await?;
        let found = api.store.account(account, api.clock.now()).await;
        let found = found.map_err(|error| refused(&error))?;
        if found.account.state == AccountState::Deleting {
            let message = format!("the account {account} is being deleted");
            return Err(Problem::new(Code::NotFound, message));
        }
        Ok(Self { account, by: By::Operator(operator) })
    }
}

/// What a store's failure is to a client: what is missing is not found.
pub fn refused(error: &StoreError) -> Problem {
    if error.is_not_found() {
        return Problem::new(Code::NotFound, error.to_string());
    }
    error.into()
}
