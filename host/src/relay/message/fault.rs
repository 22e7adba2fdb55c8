//! Maps the reasons why a submitted message is refused to faults with a field name and an error code.

use crate::journey::accept::refusal::Fault;
use crate::mail::raw::Unfit;
use crate::mail::submission_fixups::NotCarriable;

pub fn not_carriable(error: &NotCarriable) -> Fault {
    let code = match error {
        NotCarriable::Header(_) => "malformed_header",
        NotCarriable::Field { .. } | NotCarriable::SignedField { .. } => "not_ascii",
        NotCarriable::LongField { .. }
        | NotCarriable::SignedLine { .. }
        | NotCarriable::Line { .. } => "too_long",
    };
    Fault::new(error.field(), code, error.to_string())
}

pub fn unfit(unfit: &Unfit) -> Fault {
    let code = match unfit {
        Unfit::Header(_) => "malformed_header",
        Unfit::Missing { .. } => "missing",
        Unfit::Repeated { .. } => "repeated",
        Unfit::Mailboxes { .. } => "invalid",
        Unfit::TooMany { .. } => "too_many",
        Unfit::Loop => "mail_loop",
    };
    Fault::new(unfit.field(), code, unfit.to_string())
}
