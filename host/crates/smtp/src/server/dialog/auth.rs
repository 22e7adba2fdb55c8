//! AUTH (RFC 4954).

use super::{Dialog, Login, MAX_FAILED_LOGINS, Outcome, Question, Security, State, Step};
use crate::server::reply::{Answer, Reply};
use crate::server::sasl::{Exchange, Progress};

impl Dialog {
    /// The result of [`Step::Authenticate`].
    pub fn authenticated(&mut self, result: Result<(), Answer>) {
        if !matches!(self.state, State::Asked(Question::Login)) {
            return;
        }
        self.state = State::Command;
        match result {
            Ok(()) => {
                self.login = Login::Authenticated;
                self.say(Reply::LoggedIn);
            }
            Err(refusal) => {
                self.failed_logins += u32::from(refusal.reply.is_failed_login());
                self.say(refusal);
                if self.failed_logins >= MAX_FAILED_LOGINS && !self.is_closed() {
                    self.say(Reply::TooManyFailedLogins);
                }
            }
        }
    }

    pub(super) fn auth(&mut self, argument: &[u8]) -> Outcome {
        self.expect_hello()?;
        if self.security == Security::Plain {
            return Err(Reply::TlsRequired.into());
        }
        if self.login == Login::Authenticated {
            return Err(Reply::OutOfOrder.with("the session is logged in already"));
        }
        let mut words = argument.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
        let mechanism = words
            .next()
            .and_then(|word| str::from_utf8(word).ok())
            .ok_or_else(|| Reply::BadArgument.with("write AUTH PLAIN or AUTH LOGIN"))?;
        let exchange = Exchange::of(mechanism)?;
        let progress = match (words.next(), words.next()) {
            (None, _) => Progress::More(exchange),
            (Some(response), None) => exchange.initial(response)?,
            (Some(_), Some(_)) => {
                return Err(Reply::BadArgument.with("AUTH takes one initial response at most"));
            }
        };
        Ok(self.exchange(progress))
    }

    pub(super) fn sasl_response(&mut self, exchange: Exchange, line: &[u8]) -> Outcome {
        let progress = exchange.respond(line)?;
        Ok(self.exchange(progress))
    }

    fn exchange(&mut self, progress: Progress) -> Option<Step> {
        match progress {
            Progress::More(exchange) => {
                self.say(Reply::Challenge.with(exchange.prompt()));
                self.state = State::Sasl(exchange);
                None
            }
            Progress::Done(credentials) => {
                self.state = State::Asked(Question::Login);
                Some(Step::Authenticate(credentials))
            }
        }
    }
}
