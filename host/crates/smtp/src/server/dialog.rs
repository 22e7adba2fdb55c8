//! One SMTP session as a pure state machine: bytes in, replies and steps out (RFC 5321, 6409).
//!
//! It does no I/O, looks nothing up and reads no clock. The driver reads, writes, shakes hands and
//! answers its questions. It holds one command line and one message at most.

mod auth;
mod bdat;
mod chunk;
mod command;
mod data;
mod hello;
mod mail;
mod rcpt;
mod step;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::BytesMut;
use waxwing_mail::address::EmailAddress;

use crate::server::data::{Content, Receiver};
use crate::server::envelope::Envelope;
use crate::server::line::{Line, LineReader};
use crate::server::reply::{Answer, Reply};
use crate::server::sasl::Exchange;
use chunk::Chunk;

pub use crate::server::sasl::Credentials;
pub use step::{Accepted, BareNewline, Dismissal, Mail, Security, SessionSettings, Stage, Step};

/// Replies that gather before they are written although more input is there.
const FLUSH: usize = 8 * 1024;
/// Errors between two accepted messages, at most.
const MAX_ERRORS: u32 = 20;
/// Failed logins in a session, at most.
const MAX_FAILED_LOGINS: u32 = 3;

/// One session: the driver calls [`Dialog::next`] and does what the [`Step`] says, again and again.
#[derive(Debug)]
pub struct Dialog {
    settings: Arc<SessionSettings>,
    security: Security,
    lines: LineReader,
    hello: Option<String>,
    login: Login,
    failed_logins: u32,
    errors: u32,
    envelope: Option<Envelope>,
    state: State,
    output: Vec<u8>,
    refused: Vec<Reply>,
    rest: Rest,
}

/// What is left of the input behind the message under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    Commands,
    /// It was thrown away, and the session ends.
    CutOff,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Login {
    Anonymous,
    Authenticated,
}

/// What the next bytes are.
#[derive(Debug)]
enum State {
    Command,
    Sasl(Exchange),
    Data(Receiver),
    Chunk(Chunk),
    /// None yet: the driver owes an answer.
    Asked(Question),
    Closed,
}

/// What the driver was asked.
#[derive(Debug)]
enum Question {
    Handshake,
    Login,
    Sender(Envelope),
    Recipient(EmailAddress),
    Submission,
}

/// What a command comes to: a step for the driver, nothing more to do, or an error's answer.
type Outcome = Result<Option<Step>, Answer>;

impl Dialog {
    /// A session that has just been opened; its greeting is in the output.
    #[must_use]
    pub fn new(settings: Arc<SessionSettings>, security: Security) -> Self {
        let mut dialog = Self {
            settings,
            security,
            lines: LineReader::default(),
            hello: None,
            login: Login::Anonymous,
            failed_logins: 0,
            errors: 0,
            envelope: None,
            state: State::Command,
            output: Vec::new(),
            refused: Vec::new(),
            rest: Rest::Commands,
        };
        let greeting = format!("{} ESMTP Waxwing", dialog.settings.hostname);
        dialog.say(Reply::Greeting.with(greeting));
        dialog
    }

    /// Takes from the input what it understands, up to the next thing that the driver must do.
    ///
    /// While the driver owes an answer it takes nothing and says [`Step::Wait`].
    pub fn next(&mut self, input: &mut BytesMut) -> Step {
        loop {
            if self.output.len() >= FLUSH {
                return Step::Flush;
            }
            if let Some(step) = self.advance(input) {
                return step;
            }
        }
    }

    /// The replies that are to be written; the driver empties it.
    pub fn output(&mut self) -> &mut Vec<u8> {
        &mut self.output
    }

    /// What was refused since this was last asked, for the log; as bounded as the output.
    pub fn refused(&mut self) -> Vec<Reply> {
        std::mem::take(&mut self.refused)
    }

    /// Where the session stands.
    #[must_use]
    pub fn stage(&self) -> Stage {
        let chunks = self.envelope.as_ref().is_some_and(|it| it.chunks.is_some());
        let content = match self.state {
            State::Data(_) | State::Chunk(_) | State::Asked(Question::Submission) => true,
            State::Command | State::Sasl(_) | State::Asked(_) | State::Closed => chunks,
        };
        match self.login {
            Login::Authenticated if content => Stage::Data,
            Login::Authenticated if self.envelope.is_some() => Stage::Transaction,
            Login::Authenticated => Stage::Idle,
            // An unwanted chunk before the login does not stop the clock of the login.
            Login::Anonymous => Stage::Login,
        }
    }

    /// The memory that the message under way takes.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        let chunks = self.envelope.as_ref().and_then(|it| it.chunks.as_ref());
        let content = match &self.state {
            State::Data(receiver) => Some(receiver.content()),
            State::Command | State::Sasl(_) | State::Chunk(_) | State::Asked(_) | State::Closed => {
                chunks
            }
        };
        content.map_or(0, Content::held_bytes)
    }

    /// Lets go of the message under way: what is left of it is swallowed and answered 452.
    pub fn out_of_memory(&mut self) {
        if let State::Data(receiver) = &mut self.state {
            receiver.lose();
        } else if let Some(chunks) = self.envelope.as_mut().and_then(|it| it.chunks.as_mut()) {
            chunks.lose();
        }
    }

    /// Ends the session: the reason goes to the output, the next step is [`Step::Close`].
    pub fn dismiss(&mut self, why: Dismissal) {
        if !self.is_closed() {
            self.say(Reply::from(why));
            // The end of a session refuses no login and no message.
            self.refused.clear();
        }
    }

    /// One move; none when there may be another.
    fn advance(&mut self, input: &mut BytesMut) -> Option<Step> {
        match &mut self.state {
            State::Closed => Some(Step::Close),
            State::Asked(_) => Some(Step::Wait),
            State::Data(receiver) => {
                let progress = receiver.receive(input);
                self.data_received(progress, input)
            }
            State::Chunk(_) => self.chunk_received(input),
            State::Command | State::Sasl(_) => match self.lines.next(input) {
                Line::Incomplete => Some(Step::Wait),
                Line::Whole(line) => self.line_received(&line, input),
                Line::Broken => self.settle(Err(Reply::BadLine.into())),
                Line::TooLong => self.settle(Err(Reply::LineTooLong.into())),
                Line::Endless => self.settle(Err(Reply::LineEndless.into())),
            },
        }
    }

    fn line_received(&mut self, line: &[u8], input: &mut BytesMut) -> Option<Step> {
        let outcome = match std::mem::replace(&mut self.state, State::Command) {
            State::Sasl(exchange) => self.sasl_response(exchange, line),
            State::Command | State::Data(_) | State::Chunk(_) | State::Asked(_) | State::Closed => {
                self.command(line)
            }
        };
        // What was sent before the handshake is not protected by it (RFC 3207 section 4.2).
        if matches!(self.state, State::Asked(Question::Handshake)) {
            input.clear();
        }
        self.settle(outcome)
    }

    fn settle(&mut self, outcome: Outcome) -> Option<Step> {
        match outcome {
            Ok(step) => step,
            Err(answer) => {
                // A line that could not be used ends the exchange that it was an answer in.
                if let State::Sasl(_) = self.state {
                    self.state = State::Command;
                }
                self.say(answer);
                None
            }
        }
    }

    fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed)
    }

    fn close(&mut self) {
        self.state = State::Closed;
        self.envelope = None;
    }

    /// Puts an answer into the output, and ends the session where it says so.
    fn say(&mut self, answer: impl Into<Answer>) {
        let answer = answer.into();
        answer.write(&mut self.output);
        if answer.reply.code() >= 400 {
            self.refused.push(answer.reply);
        }
        if answer.reply.is_misuse() {
            self.errors += 1;
        }
        if answer.reply.closes() {
            self.close();
        } else if self.errors >= MAX_ERRORS {
            self.say(Reply::TooManyErrors);
        }
    }
}
