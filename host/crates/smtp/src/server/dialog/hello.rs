//! EHLO, HELO and STARTTLS (RFC 5321 section 4.1.1.1, RFC 3207).

use bytes::BytesMut;

use super::{Dialog, Login, Outcome, Question, Security, State, Step};
use crate::server::command::{client_name, expect_no_argument};
use crate::server::reply::{Answer, Reply};

impl Dialog {
    /// TLS is up: hello, envelope and buffered input are dropped (STARTTLS injection, RFC 3207 section 4.2). Does
    /// nothing unless a handshake was pending.
    pub fn secured(&mut self, input: &mut BytesMut) {
        if matches!(self.state, State::Asked(Question::Handshake)) {
            input.clear();
            self.security = Security::Tls;
            self.hello = None;
            self.envelope = None;
            self.state = State::Command;
        }
    }

    pub(super) fn ehlo(&mut self, argument: &[u8]) -> Outcome {
        let name = client_name(argument)?.to_owned();
        self.set_hello(name);
        let mut lines = vec![
            self.settings.hostname.clone(),
            "PIPELINING".to_owned(),
            format!("SIZE {}", self.settings.message_bytes),
            "8BITMIME".to_owned(),
            "SMTPUTF8".to_owned(),
            "ENHANCEDSTATUSCODES".to_owned(),
            "CHUNKING".to_owned(),
        ];
        match (self.security, self.login) {
            (Security::Plain, _) => lines.push("STARTTLS".to_owned()),
            (Security::Tls, Login::Anonymous) => lines.push("AUTH PLAIN LOGIN".to_owned()),
            (Security::Tls, Login::Authenticated) => {}
        }
        self.say(Answer { reply: Reply::Hello, lines });
        Ok(None)
    }

    pub(super) fn helo(&mut self, argument: &[u8]) -> Outcome {
        let name = client_name(argument)?.to_owned();
        self.set_hello(name);
        self.say(Reply::Hello.with(self.settings.hostname.clone()));
        Ok(None)
    }

    pub(super) fn start_tls(&mut self, argument: &[u8]) -> Outcome {
        expect_no_argument(argument)?;
        match self.security {
            Security::Tls => Err(Reply::OutOfOrder.with("the session is encrypted already")),
            Security::Plain => {
                self.expect_hello()?;
                self.say(Reply::HandshakeReady);
                self.state = State::Asked(Question::Handshake);
                Ok(Some(Step::StartTls))
            }
        }
    }

    pub(super) fn expect_hello(&self) -> Result<(), Answer> {
        match self.hello {
            Some(_) => Ok(()),
            None => Err(Reply::OutOfOrder.with("send EHLO first")),
        }
    }

    /// EHLO and HELO end the transaction and keep the login.
    fn set_hello(&mut self, name: String) {
        self.hello = Some(name);
        self.envelope = None;
    }
}
