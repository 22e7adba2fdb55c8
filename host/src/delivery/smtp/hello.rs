//! From the connection to the login: greeting, EHLO, STARTTLS (RFC 3207).

use waxwing_smtp::client::extensions::Extensions;
use waxwing_smtp::client::reply::Reply;
use waxwing_smtp::client::violation::Violation;

use super::cause::Unsupported;
use super::session::{End, Session};
use super::tls::{TlsClient, describe, server_name};
use super::{Cause, Dial, Security, Stage};

impl Session {
    pub(super) async fn begin(&mut self, dial: &Dial<'_>, tls: &TlsClient) -> Result<(), End> {
        let connected = self.wire.connect(dial.address, dial.local, self.timeouts.connect).await;
        connected.map_err(|cause| Stage::Connect.end(cause))?;
        if dial.security == Security::Implicit {
            self.shake_hands(dial, tls).await?;
        }
        self.read_greeting().await?;
        self.say_hello(dial.hello).await?;
        match dial.security {
            Security::Plain | Security::Implicit => {}
            Security::Opportunistic | Security::Verified => self.start_tls(dial, tls).await?,
        }
        match dial.login {
            Some(login) => self.log_in(dial, login).await,
            None => Ok(()),
        }
    }

    async fn read_greeting(&mut self) -> Result<(), End> {
        let reply = self.wire.reply(self.timeouts.greeting).await;
        let reply = reply.map_err(|cause| Stage::Greeting.end(cause))?;
        expect(220, reply).map_err(|cause| Stage::Greeting.end(cause))?;
        self.expect_quiet(Stage::Greeting)
    }

    /// EHLO, and HELO to a server that does not know it.
    async fn say_hello(&mut self, name: &str) -> Result<(), End> {
        let end = |cause: Cause| Stage::Hello.end(cause);
        let name: String = name.chars().filter(char::is_ascii_graphic).collect();
        self.wire.say(&format!("EHLO {name}\r\n"), self.timeouts.command).await.map_err(end)?;
        let lines = self.wire.lines(self.timeouts.command).await.map_err(end)?;
        if lines.code == 250 {
            self.extensions = Extensions::parse(&lines);
            return self.expect_quiet(Stage::Hello);
        }
        self.extensions = Extensions::default();
        if !matches!(lines.code, 500 | 502) {
            return expect(250, lines.into()).map_err(end);
        }
        self.wire.say(&format!("HELO {name}\r\n"), self.timeouts.command).await.map_err(end)?;
        let reply = self.wire.reply(self.timeouts.command).await.map_err(end)?;
        expect(250, reply).map_err(end)?;
        self.expect_quiet(Stage::Hello)
    }

    async fn start_tls(&mut self, dial: &Dial<'_>, tls: &TlsClient) -> Result<(), End> {
        let is_welcome_only = dial.security == Security::Opportunistic;
        if !self.extensions.start_tls {
            let missing = Err(Stage::StartTls.end(Unsupported::StartTls));
            return if is_welcome_only { Ok(()) } else { missing };
        }
        let end = |cause: Cause| Stage::StartTls.end(cause);
        self.wire.say("STARTTLS\r\n", self.timeouts.command).await.map_err(end)?;
        let reply = self.wire.reply(self.timeouts.command).await.map_err(end)?;
        if is_welcome_only && reply.is_refusal() && !reply.closes_connection() {
            return self.expect_quiet(Stage::StartTls);
        }
        expect(220, reply).map_err(end)?;
        if !self.wire.is_quiet() {
            return Err(Stage::StartTls.end(Violation::Injected));
        }
        self.shake_hands(dial, tls).await?;
        // What was said before the handshake counts no more (RFC 3207 section 4.2).
        self.say_hello(dial.hello).await
    }

    async fn shake_hands(&mut self, dial: &Dial<'_>, tls: &TlsClient) -> Result<(), End> {
        let Some(connector) = tls.connector(dial.security) else { return Ok(()) };
        let Some(name) = server_name(dial) else {
            let cause = Cause::UnnameableHost { host: dial.host.to_owned() };
            return Err(Stage::Handshake.end(cause));
        };
        let version = self.wire.secure(&connector, name, self.timeouts.command).await;
        let version = version.map_err(|cause| Stage::Handshake.end(cause))?;
        let described = describe(version, dial.security);
        self.wire.transcript.remark(&described);
        self.tls = Some(described);
        Ok(())
    }

    /// A reply that comes before its command would be taken for another's.
    pub(super) fn expect_quiet(&self, stage: Stage) -> Result<(), End> {
        if self.wire.is_quiet() { Ok(()) } else { Err(stage.end(Violation::Unsolicited)) }
    }
}

/// That reply, or why not.
pub(super) fn expect(code: u16, reply: Reply) -> Result<(), Cause> {
    if reply.code == code {
        Ok(())
    } else if reply.is_refusal() {
        Err(Cause::Reply(reply))
    } else {
        Err(Violation::Unexpected(reply.code).into())
    }
}
