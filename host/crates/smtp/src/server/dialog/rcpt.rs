//! RCPT: adds recipients to a transaction.

use super::{Dialog, Outcome, Question, State, Step};
use crate::server::command::rcpt;
use crate::server::reply::{Answer, Reply};

impl Dialog {
    /// Answers [`Step::Recipient`]: accepts the recipient, or refuses it with a reply.
    pub fn recipient_checked(&mut self, result: Result<(), Answer>) {
        let state = std::mem::replace(&mut self.state, State::Command);
        let State::Asked(Question::Recipient(recipient)) = state else {
            self.state = state;
            return;
        };
        if let Some(envelope) = &mut self.envelope {
            match &result {
                Ok(()) => envelope.recipients.push(recipient),
                Err(_) => envelope.refused += 1,
            }
        }
        match result {
            Ok(()) => self.say(Reply::RecipientOk),
            Err(refusal) => self.say(refusal),
        }
    }

    pub(super) fn rcpt(&mut self, argument: &[u8]) -> Outcome {
        let Some(envelope) = &mut self.envelope else {
            return Err(Reply::OutOfOrder.with("send MAIL first"));
        };
        if envelope.chunks.is_some() {
            return Err(Reply::OutOfOrder.with("the message comes by BDAT; end it or send RSET"));
        }
        let read = rcpt::parse(argument).and_then(|to| {
            if to.needs_utf8 && !envelope.utf8 {
                return Err(Reply::Utf8NotAnnounced.into());
            }
            let known = envelope.recipients.contains(&to.recipient);
            if !known && envelope.recipients.len() >= self.settings.recipients {
                return Err(Answer::from(Reply::TooManyRecipients));
            }
            Ok((to.recipient, known))
        });
        match read {
            Ok((_, true)) => {
                self.say(Reply::RecipientOk);
                Ok(None)
            }
            Ok((recipient, false)) => {
                self.state = State::Asked(Question::Recipient(recipient.clone()));
                Ok(Some(Step::Recipient(recipient)))
            }
            Err(answer) => {
                envelope.refused += 1;
                Err(answer)
            }
        }
    }
}
