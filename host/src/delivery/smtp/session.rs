//! One session: opened, used for message after message, ended.

use std::time::Duration;

use waxwing_smtp::client::extensions::Extensions;

use super::tls::TlsClient;
use super::wire::Wire;
use super::{Broken, Cause, Dial, Stage, Timeouts};

/// How long a session waits for the reply to QUIT.
const GOODBYE: Duration = Duration::from_secs(2);

/// A session with a server that has let us in.
#[derive(Debug)]
pub struct Session {
    pub(super) wire: Wire,
    pub(super) extensions: Extensions,
    pub(super) tls: Option<String>,
    pub(super) timeouts: Timeouts,
    pub(super) sent: u32,
    /// A refused message has left its sender behind.
    pub(super) needs_reset: bool,
    /// False while a message is under way: one that is given up halfway leaves replies behind.
    pub(super) is_usable: bool,
    /// How far the message came that is under way.
    pub(super) stage: Stage,
}

/// Where a session ended, and why.
pub(super) struct End {
    pub stage: Stage,
    pub cause: Cause,
}

impl Session {
    /// Calls a server, up to and with the login.
    ///
    /// # Errors
    /// There is no session. Where a TLS handshake failed that nobody insists on, a call without TLS
    /// may succeed.
    pub async fn open(
        dial: &Dial<'_>,
        tls: &TlsClient,
        timeouts: &Timeouts,
    ) -> Result<Self, Broken> {
        let mut session = Self {
            wire: Wire::default(),
            extensions: Extensions::default(),
            tls: None,
            timeouts: *timeouts,
            sent: 0,
            needs_reset: false,
            is_usable: true,
            stage: Stage::Mail,
        };
        match session.begin(dial, tls).await {
            Ok(()) => Ok(session),
            Err(End { stage, cause }) => {
                session.wire.give_up(&cause);
                let is_polite = match &cause {
                    Cause::Reply(reply) => !reply.closes_connection(),
                    Cause::Unsupported(_) => true,
                    Cause::Io(_)
                    | Cause::Closed
                    | Cause::SessionOver
                    | Cause::Timeout
                    | Cause::Protocol(_)
                    | Cause::Tls(_)
                    | Cause::UnnameableHost { .. }
                    | Cause::Certificate(_) => false,
                };
                if is_polite {
                    session.wire.quit(GOODBYE).await;
                }
                let transcript = session.take_transcript();
                Err(Broken { stage, cause, transcript, tls: session.tls })
            }
        }
    }

    /// What the server offers.
    #[must_use]
    pub fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    /// How the connection is encrypted, as in `TLS 1.3, verified` and `TLS 1.2, unverified`.
    #[must_use]
    pub fn tls(&self) -> Option<&str> {
        self.tls.as_deref()
    }

    /// Messages that the server has taken.
    #[must_use]
    pub fn sent(&self) -> u32 {
        self.sent
    }

    /// The transcript since the last call: `S: ` and the server's lines, `C: ` and ours, `*: ` and
    /// what happened; at most 8 KiB, without passwords, messages and control characters.
    #[must_use]
    pub fn take_transcript(&mut self) -> String {
        self.wire.transcript.take()
    }

    /// Ends it politely, within two seconds.
    pub async fn quit(mut self) {
        if self.is_usable {
            self.wire.quit(GOODBYE).await;
        }
    }
}

impl Stage {
    /// What stopped a session here.
    pub(super) fn end(self, cause: impl Into<Cause>) -> End {
        End { stage: self, cause: cause.into() }
    }
}
