//! DATA: receives a message, and hands it over.

use bytes::BytesMut;

use super::{Accepted, Dialog, Mail, Outcome, Question, Rest, State, Step};
use crate::server::command::expect_no_argument;
use crate::server::data::{Content, Progress, Receiver};
use crate::server::envelope::Envelope;
use crate::server::reply::{Answer, Reply};

impl Dialog {
    /// What became of [`Step::Submit`].
    pub fn submitted(&mut self, result: Result<Accepted, Answer>) {
        if !matches!(self.state, State::Asked(Question::Submission)) {
            return;
        }
        self.state = State::Command;
        match result {
            Ok(accepted) => {
                self.errors = 0;
                self.say(queued(&accepted));
            }
            Err(refusal) => self.say(refusal),
        }
        self.end_if_cut_off();
    }

    pub(super) fn data(&mut self, argument: &[u8]) -> Outcome {
        expect_no_argument(argument)?;
        let envelope = ready(self.envelope.as_ref())?;
        if envelope.chunks.is_some() {
            return Err(Reply::OutOfOrder.with("the message comes by BDAT; end it or send RSET"));
        }
        self.say(Reply::StartData);
        self.state =
            State::Data(Receiver::new(self.settings.message_bytes, self.settings.bare_newline));
        Ok(None)
    }

    pub(super) fn data_received(
        &mut self,
        progress: Progress,
        input: &mut BytesMut,
    ) -> Option<Step> {
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
                let content = receiver.into_content();
                // Another server may see an earlier end in it, and commands in what stands behind that. So
                // what came with it is nobody's command: a client waits for its reply, a smuggler cannot.
                if content.was_normalised() && !input.is_empty() {
                    input.clear();
                    self.rest = Rest::CutOff;
                }
                self.complete(content)
            }
        }
    }

    fn end_if_cut_off(&mut self) {
        if self.rest == Rest::CutOff && !self.is_closed() {
            self.say(Reply::Distrust);
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
                self.end_if_cut_off();
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
    let suppressed = match (accepted.suppressed, accepted.ids.len()) {
        (0, _) => String::new(),
        (all, ids) if all == ids => {
            "; nothing is sent: on the account's suppression list, no charge".to_owned()
        }
        (some, ids) => format!("; {some} of {ids} suppressed and not sent"),
    };
    Reply::Queued.with(match accepted.ids.split_first() {
        None => "Ok: queued".to_owned(),
        Some((first, [])) => format!("Ok: queued as {first}{suppressed}"),
        Some((first, others)) => {
            format!("Ok: queued as {first} (and {} more){suppressed}", others.len())
        }
    })
}
