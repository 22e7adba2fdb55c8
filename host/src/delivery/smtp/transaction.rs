//! One message over an open session: MAIL, RCPT, DATA (RFC 5321 section 3.3), and the message.
//!
//! Where PIPELINING is offered the three go in one write (RFC 2920), and RSET with them where the
//! message before was refused. Each reply belongs to one command, whatever becomes of the message:
//! where that is in doubt, the session is of no use any more.

use std::time::Duration;

use tokio::time::Instant;
use waxwing_smtp::client::content::Content;
use waxwing_smtp::client::reply::Reply;
use waxwing_smtp::client::violation::Violation;

use super::cause::Unsupported;
use super::session::Session;
use super::wire::Written;
use super::{Cause, Envelope, Refused, Stage};
use crate::message::address::EmailAddress;

const DOT: &str = ".\r\n";

/// A command, and the state of the session when it is sent.
struct Step {
    stage: Stage,
    command: String,
}

impl Session {
    /// Hands over a message, whose lines end in CRLF.
    ///
    /// # Errors
    /// The server has not taken it, or has not confirmed it. A future that is dropped halfway leaves a
    /// session behind that refuses all further messages.
    pub async fn send(
        &mut self,
        envelope: &Envelope<'_>,
        message: &[u8],
    ) -> Result<Reply, Refused> {
        if !std::mem::replace(&mut self.is_usable, false) {
            let cause = Cause::SessionOver;
            return Err(Refused { stage: Stage::Mail, cause, usable: false });
        }
        let sent = match self.steps(envelope, message) {
            Ok((steps, content)) => self.transact(&steps, content).await,
            Err(reason) => Err(Refused { stage: Stage::Mail, cause: reason.into(), usable: true }),
        };
        match &sent {
            Err(refused) if !refused.usable => self.wire.give_up(&refused.cause),
            Ok(_) | Err(_) => self.is_usable = true,
        }
        sent
    }

    /// What is known of a message whose sending was given up in the middle.
    #[must_use]
    pub fn out_of_time(&mut self) -> Refused {
        self.is_usable = false;
        self.wire.give_up(&Cause::Timeout);
        self.stage.lost(Cause::Timeout)
    }

    /// The commands to send, if the server offers the extensions that they need.
    fn steps<'a>(
        &self,
        envelope: &Envelope<'_>,
        message: &'a [u8],
    ) -> Result<(Vec<Step>, Content<'a>), Unsupported> {
        let offered = &self.extensions;
        let content = Content::new(message).ok_or(Unsupported::BareLineBreak)?;
        let octets = u64::try_from(content.octets()).unwrap_or(u64::MAX);
        if let Some(limit) = offered.limit().filter(|limit| octets > *limit) {
            return Err(Unsupported::TooLarge { octets, limit });
        }
        let addresses = [envelope.sender, Some(envelope.recipient)];
        let needs_utf8 =
            envelope.utf8 || addresses.into_iter().flatten().any(EmailAddress::needs_smtputf8);
        if needs_utf8 && !offered.smtp_utf8 {
            return Err(Unsupported::Utf8);
        }
        if envelope.eight_bit && !offered.eight_bit_mime {
            return Err(Unsupported::EightBit);
        }
        let sender = envelope.sender.map(EmailAddress::to_string).unwrap_or_default();
        let size = offered.size.map(|_| format!(" SIZE={octets}")).unwrap_or_default();
        let mut mail = format!("MAIL FROM:<{sender}>{size}");
        if envelope.eight_bit {
            mail.push_str(" BODY=8BITMIME");
        }
        if needs_utf8 {
            mail.push_str(" SMTPUTF8");
        }
        let mut steps = Vec::with_capacity(4);
        if self.needs_reset {
            steps.push(Step { stage: Stage::Reset, command: "RSET\r\n".to_owned() });
        }
        steps.push(Step { stage: Stage::Mail, command: mail + "\r\n" });
        let recipient = format!("RCPT TO:<{}>\r\n", envelope.recipient);
        steps.push(Step { stage: Stage::Rcpt, command: recipient });
        steps.push(Step { stage: Stage::Data, command: "DATA\r\n".to_owned() });
        Ok((steps, content))
    }

    async fn transact(&mut self, steps: &[Step], content: Content<'_>) -> Result<Reply, Refused> {
        let first = steps.first().map_or(Stage::Mail, |step| step.stage);
        self.stage = first;
        self.wire.listen().await.map_err(|cause| first.lost(cause))?;
        if self.extensions.pipelining {
            self.say_at_once(steps).await?;
        } else {
            self.say_by_turns(steps).await?;
        }
        self.stage = Stage::Content;
        self.write(content).await?;
        self.stage = Stage::Dot;
        let reply = self.wire.reply(self.timeouts.end_of_data).await;
        let reply = reply.map_err(|cause| Stage::Dot.lost(cause))?;
        if reply.is_positive() {
            self.sent = self.sent.saturating_add(1);
            return Ok(reply);
        }
        Err(Stage::Dot.refused(reply))
    }

    async fn say_by_turns(&mut self, steps: &[Step]) -> Result<(), Refused> {
        let limit = self.timeouts.command;
        for Step { stage, command } in steps {
            self.stage = *stage;
            self.wire.say(command, limit).await.map_err(|cause| stage.lost(cause))?;
            let reply = self.wire.reply(limit).await.map_err(|cause| stage.lost(cause))?;
            self.take(*stage, reply)?;
        }
        Ok(())
    }

    async fn say_at_once(&mut self, steps: &[Step]) -> Result<(), Refused> {
        let limit = self.timeouts.command;
        let first = steps.first().map_or(Stage::Mail, |step| step.stage);
        let commands: String = steps.iter().map(|step| step.command.as_str()).collect();
        self.wire.say(&commands, limit).await.map_err(|cause| first.lost(cause))?;
        let mut steps = steps.iter().map(|step| step.stage);
        while let Some(stage) = steps.next() {
            self.stage = stage;
            let reply = self.wire.reply(limit).await.map_err(|cause| stage.lost(cause))?;
            if let Err(mut refused) = self.take(stage, reply) {
                refused.usable = refused.usable && self.read_remaining_replies(stage, steps).await;
                return Err(refused);
            }
        }
        Ok(())
    }

    /// Reads the replies to the commands behind the one that was refused; whether the session is
    /// in order after them.
    async fn read_remaining_replies(
        &mut self,
        refused: Stage,
        remaining: impl Iterator<Item = Stage>,
    ) -> bool {
        for stage in remaining {
            let Ok(reply) = self.wire.reply(self.timeouts.command).await else { return false };
            if reply.closes_connection() {
                return false;
            }
            if stage != Stage::Data || reply.is_refusal() {
                continue;
            }
            // The server wants the message, for nobody. An empty one must not go to a recipient.
            if reply.code != 354 || refused != Stage::Rcpt {
                return false;
            }
            let limit = self.timeouts.command;
            if self.wire.say(DOT, limit).await.is_err() {
                return false;
            }
            return self.wire.reply(limit).await.is_ok_and(|reply| !reply.closes_connection());
        }
        true
    }

    /// What a reply means for the message.
    fn take(&mut self, stage: Stage, reply: Reply) -> Result<(), Refused> {
        let is_yes = if stage == Stage::Data { reply.code == 354 } else { reply.is_positive() };
        if !is_yes {
            return Err(stage.refused(reply));
        }
        match stage {
            Stage::Reset | Stage::Data => self.needs_reset = false,
            Stage::Mail => self.needs_reset = true,
            Stage::Connect
            | Stage::Greeting
            | Stage::Hello
            | Stage::StartTls
            | Stage::Handshake
            | Stage::Login
            | Stage::Rcpt
            | Stage::Content
            | Stage::Dot => {}
        }
        Ok(())
    }

    async fn write(&mut self, mut content: Content<'_>) -> Result<(), Refused> {
        let deadline = Instant::now() + self.timeouts.content;
        let all = content.octets();
        let mut piece = Vec::new();
        while content.next(&mut piece) {
            let left = deadline.saturating_duration_since(Instant::now());
            let limit: Duration = self.timeouts.data_block.min(left);
            let failed = match self.wire.write_piece(&piece, limit).await {
                Written::Whole => continue,
                Written::Answered(reply) => Stage::Content.refused(reply),
                Written::Cut(cause) => Stage::Content.lost(cause),
            };
            let gone = all.saturating_sub(content.left());
            self.wire.transcript.client(&format!("(at most {gone} of {all} octets)"));
            return Err(Refused { usable: false, ..failed });
        }
        self.wire.transcript.client(&format!("({all} octets)"));
        self.wire.transcript.client(".");
        Ok(())
    }
}

impl Stage {
    /// The server says no here, or what means nothing here.
    fn refused(self, reply: Reply) -> Refused {
        if reply.closes_connection() {
            return self.lost(Cause::Reply(reply));
        }
        // A refused RSET says nothing about the message.
        if reply.is_refusal() && self != Self::Reset {
            return Refused { stage: self, cause: Cause::Reply(reply), usable: true };
        }
        self.lost(Violation::Unexpected(reply.code).into())
    }

    /// The session ends here.
    fn lost(self, cause: Cause) -> Refused {
        Refused { stage: self, cause, usable: false }
    }
}
