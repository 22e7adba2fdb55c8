//! Why an author's request is refused, over HTTP.

use crate::api::problem::{Code, Problem};
use crate::authoring::error::AuthoringError;
use crate::authoring::finding::Finding;
use crate::journey::accept::refusal::{Fault, Outage, Refusal};

pub fn refused(error: AuthoringError) -> Problem {
    let message = error.to_string();
    let conflict = || Problem::new(Code::Conflict, message.clone());
    match error {
        AuthoringError::Store(error) => error.into(),
        AuthoringError::Plugin(failure) => {
            tracing::error!(%failure, "a plugin failed on an author's request; the template is unchanged");
            let message = format!("{}; nothing was changed", failure.for_client());
            Refusal::unavailable(Outage::Plugin, &message).into()
        }
        AuthoringError::Stopping => Refusal::unavailable(Outage::Stopping, &message).into(),
        AuthoringError::ArchivesBusy => Refusal::unavailable(Outage::Busy, &message).into(),
        AuthoringError::Files(error) => Refusal::bad_request(error.faults()).into(),
        AuthoringError::Folder(error) => {
            tracing::error!(%error, "a starter template embedded in this binary cannot be read; install an undamaged build");
            Refusal::Internal { message: "the starter templates cannot be read".to_owned() }.into()
        }
        AuthoringError::Refused(refused) => refused.into(),
        AuthoringError::Missing { .. }
        | AuthoringError::NoVersion { .. }
        | AuthoringError::NoRecipient { .. } => Problem::new(Code::NotFound, message),
        AuthoringError::NoExample { .. } => Refusal::fault("example", "unknown", message).into(),
        AuthoringError::NoStarter { .. } => Refusal::fault("starter", "unknown", message).into(),
        AuthoringError::Full { .. } => Refusal::Forbidden { message, retry_after_s: None }.into(),
        AuthoringError::Faults(faults) => Refusal::bad_request(faults).into(),
        AuthoringError::Unfit { findings, .. } => {
            let faults = findings.iter().filter(|it| it.is_error()).map(fault).collect();
            Problem::from(Refusal::bad_request(faults)).with_diagnostics(findings)
        }
        AuthoringError::Touched { findings, .. } => conflict().with_diagnostics(findings),
        AuthoringError::Breaking { changes, sent, .. } => conflict().with_breaking(changes, sent),
        AuthoringError::Taken { .. }
        | AuthoringError::Suppressed { .. }
        | AuthoringError::Changed { .. }
        | AuthoringError::Overtaken { .. }
        | AuthoringError::Large
        | AuthoringError::TooManyTouched { .. }
        | AuthoringError::InUse { .. }
        | AuthoringError::Sent { .. }
        | AuthoringError::Unpublished { .. } => conflict(),
    }
}

/// The field of a finding is the part that it stands in, or the template as a whole.
fn fault(it: &Finding) -> Fault {
    let part = it.part.as_deref().unwrap_or("template");
    let field = match &it.locale {
        Some(locale) => format!("locales.{locale}.{part}"),
        None => part.to_owned(),
    };
    Fault::new(&field, &it.code, it.within_part())
}

/// Of what was never published there is no version.
#[must_use]
pub fn absent_or_refused(error: AuthoringError) -> Problem {
    if matches!(error, AuthoringError::Unpublished { .. }) {
        Problem::new(Code::NotFound, error.to_string())
    } else {
        refused(error)
    }
}
