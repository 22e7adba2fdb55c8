//! AUTH PLAIN and AUTH LOGIN (RFC 4954, RFC 4616).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use waxwing_smtp::client::reply::Reply;
use waxwing_smtp::client::violation::Violation;

use super::cause::Unsupported;
use super::hello::expect;
use super::session::{End, Session};
use super::{Cause, Dial, Login, Security, Stage};

/// Octets of a command line (RFC 5321 section 4.5.3.1.4), at most.
const MAX_COMMAND: usize = 510;
/// A shorter secret may stand in a reply by chance.
const SHORTEST_HIDDEN: usize = 6;
const SHOWN: &str = "***";

impl Session {
    pub(super) async fn log_in(&mut self, dial: &Dial<'_>, login: &Login) -> Result<(), End> {
        let end = |cause: Cause| Stage::Login.end(cause);
        // To this machine itself, and only where encryption is not configured.
        let stays_here = dial.address.ip().to_canonical().is_loopback();
        if self.tls.is_none() && !(stays_here && dial.security == Security::Plain) {
            return Err(Stage::Login.end(Unsupported::LoginInPlainText));
        }
        let (user, password) = (STANDARD.encode(&login.user), login.password.reveal());
        let plain = STANDARD.encode(format!("\0{}\0{password}", login.user));
        let encoded = STANDARD.encode(password);
        // The longest first: it may hold the others.
        let mut secrets = vec![plain.clone(), encoded.clone(), password.to_owned()];
        secrets.retain(|secret| secret.len() >= SHORTEST_HIDDEN);
        self.wire.transcript.hide(secrets.clone());
        let reply = if self.extensions.auth_plain {
            let reply = self.plain(&plain).await.map_err(end)?;
            // Offered, and yet not taken: the other one may be.
            if matches!(reply.code, 504 | 534) && self.extensions.auth_login {
                self.login(&user, &encoded).await.map_err(end)?
            } else {
                reply
            }
        } else if self.extensions.auth_login {
            self.login(&user, &encoded).await.map_err(end)?
        } else {
            return Err(Stage::Login.end(Unsupported::Login));
        };
        self.wire.transcript.hide(Vec::new());
        expect(235, without(reply, &secrets)).map_err(end)?;
        self.expect_quiet(Stage::Login)
    }

    async fn plain(&mut self, response: &str) -> Result<Reply, Cause> {
        let limit = self.timeouts.command;
        let at_once = format!("AUTH PLAIN {response}\r\n");
        if at_once.len() <= MAX_COMMAND {
            let shown = format!("AUTH PLAIN {SHOWN}");
            self.wire.whisper(&at_once, &shown, limit).await?;
        } else {
            self.wire.say("AUTH PLAIN\r\n", limit).await?;
            let reply = self.wire.reply(limit).await?;
            if reply.code != 334 {
                return Ok(reply);
            }
            self.wire.whisper(&format!("{response}\r\n"), SHOWN, limit).await?;
        }
        self.wire.reply(limit).await
    }

    async fn login(&mut self, user: &str, password: &str) -> Result<Reply, Cause> {
        let limit = self.timeouts.command;
        self.wire.say("AUTH LOGIN\r\n", limit).await?;
        for answer in [user, password] {
            let reply = self.wire.reply(limit).await?;
            if reply.code != 334 {
                let is_answer = reply.is_refusal();
                return if is_answer { Ok(reply) } else { Err(unexpected(&reply)) };
            }
            self.wire.whisper(&format!("{answer}\r\n"), SHOWN, limit).await?;
        }
        self.wire.reply(limit).await
    }
}

fn unexpected(reply: &Reply) -> Cause {
    Violation::Unexpected(reply.code).into()
}

/// The reply without what the server repeats of the secrets: replies are shown and kept.
fn without(reply: Reply, secrets: &[String]) -> Reply {
    let hide = |text: String, secret: &String| text.replace(secret, SHOWN);
    Reply { text: secrets.iter().fold(reply.text, hide), ..reply }
}
