//! System e-mails (invitations, password resets, alerts). They pass the journey like every other message, submitted with
//! the operator's API key, `[people] mail_key` (decision 0057).

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::request_context;
use super::state::Api;
use crate::account::key::Scope;
use crate::account::role::Role;
use crate::journey::Request;
use crate::journey::accept::authenticate::authenticate;
use crate::journey::accept::submission::{Labels, Raw, Submission};
use crate::mail::raw::RawMessage;
use crate::message::address::EmailAddress;
use crate::message::channel::Channel;
use crate::people::{Invited, MAX_MEMBERS, Secret};
use crate::store::StoreError;
use crate::store::records::Acceptance;
use crate::trace::Arrival;

/// Characters of a line of base64 (RFC 2045 section 6.8).
const LINE: usize = 76;
const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// The kinds of system e-mail.
#[derive(Debug)]
pub enum SystemEmail<'a> {
    Invitation {
        /// None where a program invites.
        by: Option<&'a EmailAddress>,
        role: Role,
        link: &'a Secret,
    },
    /// For somebody who has a log-in, or an invitation to another account. The e-mail has no secret.
    WaitingInvitation {
        /// None where a program invites.
        by: Option<&'a EmailAddress>,
        role: Role,
    },
    Reset {
        link: &'a Secret,
    },
    /// For somebody who asks for a reset and has not taken the invitation.
    FirstPassword {
        link: &'a Secret,
    },
    /// A health check fails, or fails no more.
    Health {
        subject: &'a str,
        text: &'a str,
    },
}

#[derive(Debug, thiserror::Error)]
pub enum MailError {
    #[error(
        "this server sends no invitations, resets or alerts by e-mail: set url and mail_key in [people]"
    )]
    NotConfigured,
    #[error("the account of [people] mail_key has no sender address; give it one")]
    NoSender,
    #[error(
        "the account of [people] mail_key has members who are not operators and would read the links; use a key of \
         an account with operators only"
    )]
    Readable,
    #[error("the e-mail was refused: {0}")]
    Refused(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl<'a> SystemEmail<'a> {
    /// The invitation with its link, where there is one.
    pub fn of_invitation(invited: &'a Invited, by: Option<&'a EmailAddress>) -> Self {
        let role = invited.role;
        match &invited.link {
            Some(link) => Self::Invitation { by, role, link },
            None => Self::WaitingInvitation { by, role },
        }
    }

    fn subject(&self) -> &str {
        match self {
            Self::Invitation { .. }
            | Self::WaitingInvitation { .. }
            | Self::FirstPassword { .. } => "Your invitation to Waxwing",
            Self::Reset { .. } => "Choose another password for Waxwing",
            Self::Health { subject, .. } => subject,
        }
    }

    /// Names that others have chosen do not stand in it: they would speak with the voice of the server.
    fn text(&self, url: &str) -> String {
        let (why, page, link, life) = match self {
            Self::Invitation { by, role, link } => (
                match by {
                    Some(by) => format!("{by} invites you to send e-mail with Waxwing, as {role}."),
                    None => format!("You are invited to send e-mail with Waxwing, as {role}."),
                },
                "invite",
                link,
                "7 days",
            ),
            Self::WaitingInvitation { by, role } => {
                let why = match by {
                    Some(by) => {
                        format!("{by} invites you to another account of Waxwing, as {role}.")
                    }
                    None => format!("You are invited to another account of Waxwing, as {role}."),
                };
                return format!(
                    "{why}\r\n\r\nLog in to accept or decline:\r\n\r\n\
                     {url}/app/accounts\r\n\r\nIf you have no password yet, choose one by “Forgotten password” there. If you \
                     do not expect this, do nothing: until you accept, nothing changes.\r\n"
                );
            }
            Self::FirstPassword { link } => (
                "You were invited to Waxwing, and have no password yet.".to_owned(),
                "invite",
                link,
                "7 days",
            ),
            Self::Reset { link } => (
                "Somebody, most likely you, wants another password for you.".to_owned(),
                "reset",
                link,
                "an hour",
            ),
            Self::Health { text, .. } => return (*text).to_owned(),
        };
        format!(
            "{why}\r\n\r\nOpen this within {life} and choose a password:\r\n\r\n{url}/{page}/{}\r\n\r\nThe link works once. If \
             you do not expect this, do nothing: without the link nothing changes.\r\n",
            link.reveal()
        )
    }
}

impl Api {
    /// Sends a system e-mail.
    pub async fn mail(&self, to: &EmailAddress, letter: &SystemEmail<'_>) -> Result<(), MailError> {
        let mailer = self.mailer.as_ref().ok_or(MailError::NotConfigured)?;
        let accept = &self.journey.accept;
        let caller = authenticate(&accept.facts, &self.clock, Some(&mailer.key), HERE, Scope::Send);
        let caller =
            caller.await.map_err(|refused| MailError::Refused(refused.refusal.message()))?;
        let account = caller.key.account_id;
        let members = self.store.members(account, None, MAX_MEMBERS).await?;
        if members.iter().any(|it| !it.user.is_operator) {
            return Err(MailError::Readable);
        }
        let row = self.store.account(account, self.clock.now()).await?;
        let sender = row.account.sender.ok_or(MailError::NoSender)?;
        let data = message(&sender, to, letter.subject(), &letter.text(&mailer.url));
        // Made here, not received: it gets no Received field.
        let message = RawMessage::renewed(&data).map_err(|faults| {
            let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
            MailError::Refused(faults.join("; "))
        })?;
        let raw = Arc::new(Raw { return_path: Some(sender), message });
        let item = Submission::ready_made(Channel::Api, to.clone(), raw, Labels::default());
        let request = Request {
            id: request_context::current(),
            idempotency: None,
            acceptance: Acceptance::Each,
            arrival: Arrival::default(),
            items: vec![Ok(item)],
        };
        let reply = self.journey.submit(&caller, &request).await;
        let reply = reply.map_err(|refused| MailError::Refused(refused.refusal.message()))?;
        match reply.items.into_iter().next() {
            Some(Err(refused)) => Err(MailError::Refused(refused.refusal.message())),
            Some(Ok(_)) | None => Ok(()),
        }
    }
}

/// Plain text under RFC 5322.
fn message(from: &EmailAddress, to: &EmailAddress, subject: &str, text: &str) -> Vec<u8> {
    let header = format!(
        "From: Waxwing <{from}>\r\nTo: <{to}>\r\nSubject: {subject}\r\nAuto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\n\
         Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n"
    );
    let mut message = header.into_bytes();
    for line in STANDARD.encode(text).as_bytes().chunks(LINE) {
        message.extend_from_slice(line);
        message.extend_from_slice(b"\r\n");
    }
    message
}
