//! What a submission server may do to a message that is whole (RFC 6409 section 8), and no more.
//!
//! Fields that must not travel are taken out, missing ones are put in front; every other byte
//! stays unchanged and in its place.

mod received;

#[cfg(test)]
mod tests;

pub use received::{Arrival, Protocol};

use super::field::{Field, InvalidHeader, Message, unfold};
use super::mailbox::{InvalidMailbox, Mailbox, mailboxes};
use crate::clock::Timestamp;
use crate::id::MessageId;
use crate::message::address::EmailAddress;

/// How the names of our own fields begin.
pub const OWN_PREFIX: &str = "X-Waxwing-";
/// Fields of the envelope, which no recipient may see.
const ENVELOPE_FIELDS: [&str; 3] = ["Bcc", "Resent-Bcc", "Return-Path"];
/// RFC 5321 section 6.3: a message that has been through so many servers goes in circles.
const MAX_RECEIVED: usize = 100;
/// Fields of an earlier sending: its time, its name, its way, and signatures that cover them.
const SENDING_FIELDS: [&str; 4] = ["Date", "Message-ID", "Received", "DKIM-Signature"];
/// Characters of the subject that lists show, at most.
const MAX_SUBJECT: usize = 500;

/// A message that came whole and may be relayed: who wrote it is known.
#[derive(Debug)]
pub struct RawMessage {
    original: Vec<u8>,
    arrival: Option<Arrival>,
    author: EmailAddress,
    authors: Vec<EmailAddress>,
    subject: String,
}

/// What [`relayed`] puts in front of a message.
#[derive(Debug, Clone, Copy)]
pub struct Additions<'a> {
    /// How the message came; none for one that was here already.
    pub arrival: Option<&'a Arrival>,
    pub id: MessageId,
    /// Its author, at whose host a new Message-ID is.
    pub author: &'a EmailAddress,
    /// When it came.
    pub date: Timestamp,
}

/// Why a raw message is not relayed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// The header is malformed.
    #[error("{0}")]
    Header(#[from] InvalidHeader),
    /// A field that every message has is not there.
    #[error("is required")]
    Missing { field: &'static str },
    /// A field that says who wrote the message, so that receivers could choose one.
    #[error("stands more than once")]
    Repeated { field: &'static str },
    /// A field that is no list of mailboxes, or is not UTF-8.
    #[error("{reason}")]
    Mailboxes {
        field: &'static str,
        /// What is wrong with it.
        reason: InvalidMailbox,
    },
    /// More than one mailbox where one is allowed.
    #[error("must hold exactly one address")]
    TooMany { field: &'static str },
    /// It has been through too many servers.
    #[error("the message goes in circles: it has more than {MAX_RECEIVED} Received fields")]
    Loop,
}

impl Unfit {
    /// The name of the header field that is at fault; empty for the header as a whole.
    #[must_use]
    pub fn field(&self) -> &'static str {
        match self {
            Self::Header(_) => "",
            Self::Missing { field }
            | Self::Repeated { field }
            | Self::Mailboxes { field, .. }
            | Self::TooMany { field } => field,
            Self::Loop => "Received",
        }
    }
}

impl RawMessage {
    /// Reads a message whose lines end in CRLF.
    ///
    /// # Errors
    /// All that keeps it from being relayed; at least one thing.
    pub fn read(original: Vec<u8>, arrival: Arrival) -> Result<Self, Vec<Unfit>> {
        Self::with(original, Some(arrival))
    }

    /// Reads a message that was sent before, to be sent anew: with another Date and Message-ID, and
    /// without what it got on its way.
    pub fn renewed(sent: &[u8]) -> Result<Self, Vec<Unfit>> {
        let message = Message::split(sent).map_err(|error| vec![error.into()])?;
        let stays = |field: &&Field<'_>| !SENDING_FIELDS.iter().any(|name| field.is(name));
        let fields = message.fields.iter().filter(stays).map(|field| field.whole);
        let original = fields.chain([message.tail]).collect::<Vec<_>>().concat();
        Self::with(original, None)
    }

    fn with(original: Vec<u8>, arrival: Option<Arrival>) -> Result<Self, Vec<Unfit>> {
        let message = Message::split(&original).map_err(|error| vec![error.into()])?;
        let mut unfit = Vec::new();
        let mut keep = |read: Result<Vec<Mailbox>, Unfit>| {
            read.unwrap_or_else(|error| {
                unfit.push(error);
                Vec::new()
            })
        };
        let from =
            keep(only(&message, "From").and_then(|it| it.ok_or(Unfit::Missing { field: "From" })));
        let sender = keep(only(&message, "Sender").map(Option::unwrap_or_default));
        if sender.len() > 1 {
            unfit.push(Unfit::TooMany { field: "Sender" });
        }
        if message.named("Received").count() > MAX_RECEIVED {
            unfit.push(Unfit::Loop);
        }
        let subject = message.named("Subject").next().map(subject).unwrap_or_default();
        let authors: Vec<_> = from.into_iter().chain(sender).map(|it| it.address).collect();
        match authors.first().cloned() {
            Some(author) if unfit.is_empty() => {
                Ok(Self { original, arrival, author, authors, subject })
            }
            Some(_) | None => Err(unfit),
        }
    }

    /// The first address of From.
    #[must_use]
    pub fn author(&self) -> &EmailAddress {
        &self.author
    }

    /// Every address of From, then that of Sender, which readers show too.
    #[must_use]
    pub fn authors(&self) -> &[EmailAddress] {
        &self.authors
    }

    /// The subject on one line, decoded, for lists.
    #[must_use]
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// Its octets as it came.
    #[must_use]
    pub fn size(&self) -> usize {
        self.original.len()
    }

    /// The message as it goes on.
    ///
    /// # Panics
    /// Never: the message was split once before.
    #[must_use]
    pub fn relayed(&self, id: MessageId, date: Timestamp) -> Vec<u8> {
        let message = Message::split(&self.original).expect("it was split when it was read");
        let (arrival, author) = (self.arrival.as_ref(), &self.author);
        relayed(&message, &Additions { arrival, id, author, date })
    }
}

/// The message as it goes on: without the fields of the envelope and our own, with Received where it
/// came from elsewhere, and with Date and Message-ID where it has none.
#[must_use]
pub fn relayed(message: &Message<'_>, additions: &Additions<'_>) -> Vec<u8> {
    let Additions { arrival, id, author, date } = *additions;
    let ulid = id.ulid();
    let mut output = arrival
        .map(|arrival| received::field(arrival, &ulid, date).into_bytes())
        .unwrap_or_default();
    if message.named("Date").next().is_none() {
        output.extend_from_slice(format!("Date: {}\r\n", date.rfc5322()).as_bytes());
    }
    if message.named("Message-ID").next().is_none() {
        let id = format!("Message-ID: <{ulid}@{}>\r\n", author.host());
        output.extend_from_slice(id.as_bytes());
    }
    let kept = || message.fields.iter().filter(|field| travels(field));
    output.reserve_exact(kept().map(|it| it.whole.len()).sum::<usize>() + message.tail.len());
    for field in kept() {
        output.extend_from_slice(field.whole);
    }
    output.extend_from_slice(message.tail);
    output
}

/// The mailboxes of a field; none where the field is absent.
///
/// # Errors
/// It stands more than once, or is malformed.
pub fn only(message: &Message<'_>, field: &'static str) -> Result<Option<Vec<Mailbox>>, Unfit> {
    let mut fields = message.named(field);
    let Some(first) = fields.next() else { return Ok(None) };
    if fields.next().is_some() {
        return Err(Unfit::Repeated { field });
    }
    let value = unfold(first.value);
    let value = str::from_utf8(&value).map_err(|_| InvalidMailbox::Encoding);
    let read = value.and_then(mailboxes);
    read.map(Some).map_err(|reason| Unfit::Mailboxes { field, reason })
}

/// Whether a field is one of ours, for this server only.
#[must_use]
pub fn is_own(field: &Field<'_>) -> bool {
    field
        .name
        .split_at_checked(OWN_PREFIX.len())
        .is_some_and(|(prefix, _)| prefix.eq_ignore_ascii_case(OWN_PREFIX))
}

/// Whether a field goes on with the message.
pub(in crate::mail) fn travels(field: &Field<'_>) -> bool {
    !is_own(field) && !ENVELOPE_FIELDS.iter().any(|name| field.is(name))
}

fn subject(field: &Field<'_>) -> String {
    let text = field.text();
    let visible = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(visible).take(MAX_SUBJECT).collect::<String>().trim().to_owned()
}
