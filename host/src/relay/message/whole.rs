//! A message without a template: it goes to all recipients unchanged.

use std::sync::Arc;

use waxwing_smtp::server::dialog::Mail;

use super::fault::{not_carriable, unfit};
use super::x_waxwing_headers::XWaxwingHeaders;
use crate::clock::Timestamp;
use crate::journey::accept::refusal::{Fault, Refusal};
use crate::journey::accept::submission::{Faulty, Labels, Raw, Submission};
use crate::mail::raw::{Arrival, Protocol, RawMessage};
use crate::mail::submission_fixups::{Letters, carriable};
use crate::message::channel::Channel;

/// One message that goes to all recipients unchanged.
pub fn items(
    x_waxwing: &XWaxwingHeaders,
    mail: Mail,
    hostname: &str,
    mut faults: Vec<Fault>,
    now: Timestamp,
) -> Result<Vec<Result<Submission, Faulty>>, Refusal> {
    let Mail { hello, sender, recipients, utf8, data } = mail;
    let protocol = if utf8 { Protocol::Utf8Smtp } else { Protocol::Esmtp };
    let arrival = Arrival { hello, hostname: hostname.to_owned(), protocol };
    let letters = if utf8 { Letters::Utf8 } else { Letters::Ascii };
    let message = match carriable(data, letters) {
        Ok(data) => RawMessage::read(data, arrival)
            .map_err(|errors| faults.extend(errors.iter().map(unfit))),
        Err(errors) => {
            faults.extend(errors.iter().map(not_carriable));
            Err(())
        }
    };
    let labels = Labels::parse(x_waxwing.labels(), now)
        .map_err(|more| faults.extend(x_waxwing.by_header(more)));
    let (Ok(message), Ok(labels), true) = (message, labels, faults.is_empty()) else {
        return Err(Refusal::bad_request(faults));
    };
    let raw = Arc::new(Raw { return_path: sender, message });
    let to_each =
        |to| Ok(Submission::ready_made(Channel::Smtp, to, Arc::clone(&raw), labels.clone()));
    Ok(recipients.into_iter().map(to_each).collect())
}
