//! MAIL: begins a transaction.

use super::{Dialog, Login, Outcome, Question, Security, State, Step};
use crate::server::command::mail;
use crate::server::envelope::Envelope;
use crate::server::reply::{Answer, Reply};

impl Dialog {
    /// What became of [`Step::Sender`].
    pub fn sender_checked(&mut self, result: Result<(), Answer>) {
        let state = std::mem::replace(&mut self.state, State::Command);
        let State::Asked(Question::Sender(envelope)) = state else {
            self.state = state;
            return;
        };
        match result {
            Ok(()) => {
                self.envelope = Some(envelope);
                self.say(Reply::SenderOk);
            }
            Err(refusal) => self.say(refusal),
        }
    }

    pub(super) fn mail(&mut self, argument: &[u8]) -> Outcome {
        self.expect_hello()?;
        match (self.login, self.security) {
            (Login::Authenticated, _) => {}
            (Login::Anonymous, Security::Tls) => return Err(Reply::LoginRequired.into()),
            (Login::Anonymous, Security::Plain) => {
                return Err(Reply::LoginRequired
                    .with("UNAUTHORIZED log in first: STARTTLS, then AUTH with the API key"));
            }
        }
        if self.envelope.is_some() {
            return Err(Reply::OutOfOrder.with("a message is under way; end it or send RSET"));
        }
        let mail::MailFrom { sender, utf8 } = mail::parse(argument, self.settings.message_bytes)?;
        let envelope = Envelope {
            sender: sender.clone(),
            utf8,
            recipients: Vec::new(),
            refused: 0,
            chunks: None,
            chunk_failed: false,
        };
        self.state = State::Asked(Question::Sender(envelope));
        Ok(Some(Step::Sender(sender)))
    }
}
