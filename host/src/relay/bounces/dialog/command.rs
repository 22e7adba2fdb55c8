//! The commands of the listener for reports (RFC 5321 section 4.1).

use waxwing_smtp::server::command::{
    Verb, client_name, expect_no_argument, mail, rcpt, split_verb,
};
use waxwing_smtp::server::data::{BareNewline, Receiver};
use waxwing_smtp::server::reply::{Answer, Reply};

use super::{Dialog, Envelope, Protection, State};
use crate::relay::bounces::{Addresses, Recipient};

/// Recipients of one message, at most.
pub(super) const MAX_RECIPIENTS: usize = 20;

impl Dialog {
    pub(super) fn command(&mut self, line: &[u8]) -> Result<(), Answer> {
        let (verb, argument) = split_verb(line)?;
        match verb {
            Verb::Ehlo => self.ehlo(argument)?,
            Verb::Helo => {
                client_name(argument)?;
                self.greeted();
                self.say(Reply::Hello.with(self.settings.hostname.clone()));
            }
            Verb::StartTls => self.start_tls(argument)?,
            Verb::Mail => self.mail(argument)?,
            Verb::Rcpt => self.rcpt(argument)?,
            Verb::Data => self.data(argument)?,
            // What follows is content, and its length was not agreed upon.
            Verb::Bdat => {
                self.say(Reply::NotOffered);
                self.say(Reply::LostTrack);
            }
            Verb::Rset => {
                expect_no_argument(argument)?;
                self.envelope = None;
                self.say(Reply::Done);
            }
            Verb::Quit => {
                expect_no_argument(argument)?;
                self.say(Reply::Bye);
            }
            Verb::Noop => self.say(Reply::Done),
            Verb::Vrfy => self.say(Reply::CannotVerify),
            Verb::Auth | Verb::Expn => self.say(Reply::NotOffered),
            Verb::Help => self.say(Reply::Help),
        }
        Ok(())
    }

    fn ehlo(&mut self, argument: &[u8]) -> Result<(), Answer> {
        client_name(argument)?;
        self.greeted();
        let mut lines = vec![
            self.settings.hostname.clone(),
            "PIPELINING".to_owned(),
            format!("SIZE {}", self.settings.message_bytes),
            "8BITMIME".to_owned(),
            "SMTPUTF8".to_owned(),
            "ENHANCEDSTATUSCODES".to_owned(),
        ];
        if self.protection == Protection::Offered {
            lines.push("STARTTLS".to_owned());
        }
        self.say(Answer { reply: Reply::Hello, lines });
        Ok(())
    }

    fn start_tls(&mut self, argument: &[u8]) -> Result<(), Answer> {
        expect_no_argument(argument)?;
        match self.protection {
            Protection::None => Err(Reply::NotOffered.into()),
            Protection::Tls => Err(Reply::OutOfOrder.with("the session is encrypted already")),
            Protection::Offered => {
                self.say(Reply::HandshakeReady);
                self.state = State::Handshake;
                Ok(())
            }
        }
    }

    fn mail(&mut self, argument: &[u8]) -> Result<(), Answer> {
        if !self.has_hello {
            return Err(Reply::OutOfOrder.with("send EHLO first"));
        }
        if self.envelope.is_some() {
            return Err(Reply::OutOfOrder.with("a message is under way; end it or send RSET"));
        }
        let mail::MailFrom { sender, utf8 } = mail::parse(argument, self.settings.message_bytes)?;
        self.envelope = Some(Envelope { sender, utf8, recipients: Vec::new(), refused: 0 });
        self.say(Reply::SenderOk);
        Ok(())
    }

    fn rcpt(&mut self, argument: &[u8]) -> Result<(), Answer> {
        let Some(envelope) = &mut self.envelope else {
            return Err(Reply::OutOfOrder.with("send MAIL first"));
        };
        match recipient(argument, envelope, &self.settings.addresses) {
            Ok(recipient) if envelope.recipients.contains(&recipient) => {}
            Ok(_) if envelope.recipients.len() >= MAX_RECIPIENTS => {
                return Err(Reply::TooManyRecipients.into());
            }
            Ok(recipient) => envelope.recipients.push(recipient),
            Err(answer) => {
                envelope.refused += 1;
                return Err(answer);
            }
        }
        self.say(Reply::RecipientOk);
        Ok(())
    }

    fn data(&mut self, argument: &[u8]) -> Result<(), Answer> {
        expect_no_argument(argument)?;
        match &self.envelope {
            None => Err(Reply::OutOfOrder.with("send MAIL first")),
            Some(it) if it.recipients.is_empty() && it.refused > 0 => {
                Err(Reply::NoRecipients.into())
            }
            Some(it) if it.recipients.is_empty() => Err(Reply::OutOfOrder.with("send RCPT first")),
            Some(_) => {
                self.say(Reply::StartData);
                let limit = self.settings.message_bytes;
                self.state = State::Data(Receiver::new(limit, BareNewline::Refuse));
                Ok(())
            }
        }
    }

    /// A greeting ends the transaction.
    fn greeted(&mut self) {
        self.has_hello = true;
        self.envelope = None;
    }
}

fn recipient(
    argument: &[u8],
    envelope: &Envelope,
    addresses: &Addresses,
) -> Result<Recipient, Answer> {
    // The one address that needs no domain (RFC 5321 section 4.5.1).
    if argument.eq_ignore_ascii_case(b"TO:<postmaster>") {
        return Ok(Recipient::Postmaster);
    }
    let to = rcpt::parse(argument)?;
    if to.needs_utf8 && !envelope.utf8 {
        return Err(Reply::Utf8NotAnnounced.into());
    }
    addresses.recipient(&to.recipient).ok_or_else(|| Reply::NoReturnPath.into())
}
