//! One session with the listener for reports as a pure state machine: bytes in, replies and steps out
//! (RFC 5321). No AUTH, no BDAT; it does no I/O and reads no clock.

mod command;
mod step;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::BytesMut;
use waxwing_smtp::server::data::{Progress, Receiver};
use waxwing_smtp::server::line::{Line, LineReader};
use waxwing_smtp::server::reply::{Answer, Reply};

use super::{Mail, Recipient};
use crate::message::address::EmailAddress;

pub use step::{ListenerSettings, Protection, Step, StoreUnavailable};
pub use waxwing_smtp::server::dialog::Dismissal;

/// Replies that gather before they are written although more input is there.
const FLUSH: usize = 8 << 10;
/// Errors in one session, unknown recipients among them, at most.
const MAX_ERRORS: u32 = 20;

/// One session.
#[derive(Debug)]
pub struct Dialog {
    settings: Arc<ListenerSettings>,
    protection: Protection,
    lines: LineReader,
    has_hello: bool,
    errors: u32,
    envelope: Option<Envelope>,
    state: State,
    output: Vec<u8>,
}

#[derive(Debug)]
struct Envelope {
    sender: Option<EmailAddress>,
    utf8: bool,
    recipients: Vec<Recipient>,
    refused: usize,
}

/// What the next bytes are.
#[derive(Debug)]
enum State {
    Command,
    Data(Receiver),
    /// The driver does the TLS handshake; no input is read meanwhile.
    Handshake,
    /// The driver stores the message; no input is read meanwhile.
    Storing,
    Closed,
}

impl Dialog {
    /// A session that has just been opened; its greeting is in the output.
    #[must_use]
    pub fn new(settings: Arc<ListenerSettings>, protection: Protection) -> Self {
        let mut dialog = Self {
            settings,
            protection,
            lines: LineReader::default(),
            has_hello: false,
            errors: 0,
            envelope: None,
            state: State::Command,
            output: Vec::new(),
        };
        let greeting = format!("{} ESMTP Waxwing, for reports only", dialog.settings.hostname);
        dialog.say(Reply::Greeting.with(greeting));
        dialog
    }

    /// Takes from the input what it understands, up to the next thing that the driver must do.
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

    /// Whether a message is coming, which may take longer than a command.
    #[must_use]
    pub fn is_receiving(&self) -> bool {
        matches!(self.state, State::Data(_))
    }

    /// Whether nothing would be lost if the session ended now.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.envelope.is_none() && matches!(self.state, State::Command | State::Closed)
    }

    /// Ends the session: the reason goes to the output, the next step is [`Step::Close`].
    pub fn dismiss(&mut self, why: Dismissal) {
        if !matches!(self.state, State::Closed) {
            self.say(Reply::from(why));
        }
    }

    /// The handshake is done. What came before it is forgotten, the input too (RFC 3207 section 4.2).
    pub fn secured(&mut self, input: &mut BytesMut) {
        if matches!(self.state, State::Handshake) {
            input.clear();
            self.protection = Protection::Tls;
            self.has_hello = false;
            self.envelope = None;
            self.state = State::Command;
        }
    }

    /// The result of [`Step::Store`].
    pub fn stored(&mut self, written: Result<(), StoreUnavailable>) {
        if matches!(self.state, State::Storing) {
            self.state = State::Command;
            match written {
                Ok(()) => self.say(Reply::ReportAccepted),
                Err(StoreUnavailable) => self.say(Reply::StoreOutage),
            }
        }
    }

    /// One move; none when there may be another.
    fn advance(&mut self, input: &mut BytesMut) -> Option<Step> {
        match &mut self.state {
            State::Closed => Some(Step::Close),
            State::Handshake | State::Storing => Some(Step::Wait),
            State::Data(receiver) => match receiver.receive(input) {
                Progress::More => Some(Step::Wait),
                Progress::Flood => {
                    self.say(Reply::TooMuch);
                    None
                }
                Progress::End => self.complete(),
            },
            State::Command => match self.lines.next(input) {
                Line::Incomplete => Some(Step::Wait),
                Line::Whole(line) => {
                    if let Err(answer) = self.command(&line) {
                        self.say(answer);
                    }
                    if matches!(self.state, State::Handshake) {
                        input.clear();
                        return Some(Step::StartTls);
                    }
                    None
                }
                Line::Broken => {
                    self.say(Reply::BadLine);
                    None
                }
                Line::TooLong => {
                    self.say(Reply::LineTooLong);
                    None
                }
                Line::Endless => {
                    self.say(Reply::LineEndless);
                    None
                }
            },
        }
    }

    /// Ends the transaction: the message is handed over, or refused for what it is.
    fn complete(&mut self) -> Option<Step> {
        let state = std::mem::replace(&mut self.state, State::Command);
        let (State::Data(receiver), Some(envelope)) = (state, self.envelope.take()) else {
            return None;
        };
        match receiver.into_content().into_report() {
            Ok(data) => {
                self.state = State::Storing;
                let Envelope { sender, recipients, .. } = envelope;
                Some(Step::Store(Box::new(Mail { sender, recipients, data })))
            }
            Err(answer) => {
                let is_ambiguous = answer.reply == Reply::BareLineEnding;
                self.say(answer);
                // SMTP smuggling: with a bare line ending, where the message ends is in doubt, and so is who wrote the
                // commands after it.
                if is_ambiguous {
                    self.say(Reply::Distrust);
                }
                None
            }
        }
    }

    /// Puts an answer into the output, and ends the session where it says so.
    fn say(&mut self, answer: impl Into<Answer>) {
        let answer = answer.into();
        answer.write(&mut self.output);
        if answer.reply.is_misuse() || answer.reply == Reply::NoReturnPath {
            self.errors += 1;
        }
        if answer.reply.closes() {
            self.state = State::Closed;
            self.envelope = None;
        } else if self.errors >= MAX_ERRORS {
            self.say(Reply::TooManyErrors);
        }
    }
}
