//! DATA: receives a message, and hands it over.

use super::{Accepted, Dialog, Mail, Outcome, Question, State, Step};
use crate::journey::accept::refusal::Refused;
use crate::relay::command::nothing;
use crate::relay::data::{Content, Progress, Receiver};
use crate::relay::envelope::Envelope;
use crate::relay::reply::refusal::Moment;
use crate::relay::reply::{Answer, Reply};

impl Dialog {
    /// What became of [`Step::Submit`].
    pub fn submitted(&mut self, result: Result<Accepted, Refused>) {
        if !matches!(self.state, State::Asked(Question::Submission)) {
            return;
        }
        self.state = State::Command;
        match result {
            Ok(accepted) => {
                self.errors = 0;
                self.say(queued(&accepted));
            }
            Err(refused) => self.refuse(Moment::End, &refused.refusal),
        }
    }

    pub(super) fn data(&mut self, argument: &[u8]) -> Outcome {
        nothing(argument)?;
        let envelope = ready(self.envelope.as_ref())?;
        if envelope.chunks.is_some() {
            return Err(Reply::OutOfOrder.with("the message comes by BDAT; end it or send RSET"));
        }
        self.say(Reply::StartData);
        self.state = State::Data(Receiver::new(self.terms.message_bytes));
        Ok(None)
    }

    pub(super) fn data_received(&mut self, progress: Progress) -> Option<Step> {
        match progress {
            Progress::More => Some(Step::Wait),
            Progress::Flood => {
                self.say(Reply::TooMuch);
                None
            }
            Progress::End => {
                let State::Data(receiver) = std::mem::replace(&mut self.state, State::Command)
                else {
                    return None;
                };
                self.complete(receiver.into_content())
            }
        }
    }

    /// Ends the transaction: the message is handed over, or refused for what it is.
    pub(super) fn complete(&mut self, content: Content) -> Option<Step> {
        let envelope = self.envelope.take()?;
        match content.into_message() {
            Ok(data) => {
                self.state = State::Asked(Question::Submission);
                Some(Step::Submit(Box::new(Mail {
                    hello: self.hello.clone().unwrap_or_default(),
                    sender: envelope.sender,
                    recipients: envelope.recipients,
                    utf8: envelope.utf8,
                    data,
                })))
            }
            Err(answer) => {
                let is_ambiguous = answer.reply == Reply::BareLineEnding;
                self.say(answer);
                // Where its end was is in doubt too, and so is whose commands follow.
                if is_ambiguous {
                    self.say(Reply::Distrust);
                }
                None
            }
        }
    }
}

/// The envelope, if a message may follow it.
pub(super) fn ready(envelope: Option<&Envelope>) -> Result<&Envelope, Answer> {
    match envelope {
        None => Err(Reply::OutOfOrder.with("send MAIL first")),
        Some(it) if !it.recipients.is_empty() => Ok(it),
        Some(it) if it.refused > 0 => Err(Reply::NoRecipients.into()),
        Some(_) => Err(Reply::OutOfOrder.with("send RCPT first")),
    }
}

fn queued(accepted: &Accepted) -> Answer {
    Reply::Queued.with(match accepted.ids.split_first() {
        None => "Ok: queued".to_owned(),
        Some((first, [])) => format!("Ok: queued as {first}"),
        Some((first, others)) => format!("Ok: queued as {first} (and {} more)", others.len()),
    })
}
