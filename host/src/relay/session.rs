//! Drives one SMTP session: reads, writes, shakes hands, keeps the time, and asks the journey what
//! the dialog wants to know. The replies are decided in `crates/smtp` and in [`super::reply`].

use std::net::IpAddr;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use waxwing_smtp::server::dialog::{
    Accepted, Credentials, Dialog, Dismissal, Mail, Security, Stage, Step,
};
use waxwing_smtp::server::reply::Answer;

use super::message;
use super::reply::{Moment, answer};
use super::transport::{self, End, ReadEvent};
use super::{BLOCK, Limits, Relay, UserName};
use crate::account::key::{ApiKey, Scope};
use crate::fair_share::Share;
use crate::id::RequestId;
use crate::journey;
use crate::journey::accept::FailedLogin;
use crate::journey::accept::authenticate::{Caller, has_address};
use crate::journey::accept::record_step;
use crate::journey::accept::refusal::{Refusal, Refused};
use crate::message::address::EmailAddress;
use crate::message::state::MessageState;
use crate::store::records::Acceptance;
use crate::trace::Arrival;

/// Room to read into: for commands, and for a message.
const COMMAND_READ_BYTES: usize = 1 << 10;
const CONTENT_READ_BYTES: usize = 32 << 10;
/// A buffer that an idle session keeps.
const IDLE_BUFFER_BYTES: usize = 4 << 10;
/// How long a transaction under way may take once the server stops.
const TRANSACTION_DRAIN: Duration = Duration::from_secs(25);

/// How the bytes of a new connection are protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// Plain until STARTTLS: port 587.
    StartTls,
    /// TLS from the first byte: port 465 (RFC 8314).
    Implicit,
}

struct Session<'a> {
    relay: &'a Relay,
    limits: Arc<Limits>,
    peer: IpAddr,
    stop: CancellationToken,
    dialog: Dialog,
    input: BytesMut,
    caller: Option<Caller>,
    /// The key of the login that has just failed, where it is known.
    refused_key: Option<Arc<ApiKey>>,
    recipients: usize,
    memory: Option<Share>,
    opened: Instant,
    /// When the last reply was sent.
    answered: Instant,
    content_since: Option<Instant>,
    stopping_since: Option<Instant>,
}

/// Serves a client until it, or the server, has had enough.
pub async fn serve(
    relay: &Relay,
    stream: TcpStream,
    peer: IpAddr,
    entry: Entry,
    tls: Arc<rustls::ServerConfig>,
    stop: CancellationToken,
) {
    let security = match entry {
        Entry::StartTls => Security::Plain,
        Entry::Implicit => Security::Tls,
    };
    let limits = relay.limits.load_full();
    let mut session = Session {
        relay,
        peer: peer.to_canonical(),
        stop,
        dialog: Dialog::new(Arc::clone(&limits.settings), security),
        limits,
        input: BytesMut::new(),
        caller: None,
        refused_key: None,
        recipients: 0,
        memory: None,
        opened: Instant::now(),
        answered: Instant::now(),
        content_since: None,
        stopping_since: None,
    };
    let mut stream = stream;
    if entry == Entry::StartTls {
        match session.talk(&mut stream).await {
            Ok(End::Handshake) => {}
            Ok(End::Closed) | Err(_) => return,
        }
    }
    let Some(mut secured) = session.shake_hands(stream, tls).await else { return };
    if entry == Entry::StartTls {
        session.dialog.secured(&mut session.input);
    }
    let ended = session.talk(&mut *secured).await;
    if ended.is_ok() {
        let closed = tokio::time::timeout(session.limits.bounds.idle, secured.shutdown()).await;
        drop(closed);
    }
}

impl Session<'_> {
    async fn shake_hands(
        &self,
        stream: TcpStream,
        tls: Arc<rustls::ServerConfig>,
    ) -> Option<Box<tokio_rustls::server::TlsStream<TcpStream>>> {
        let accepting = TlsAcceptor::from(tls).accept(stream);
        let deadline = self.opened + self.limits.bounds.login;
        let failure = tokio::select! {
            () = self.stop.cancelled() => return None,
            shaken = tokio::time::timeout_at(deadline, accepting) => match shaken {
                Ok(Ok(secured)) => return Some(Box::new(secured)),
                Ok(Err(error)) => error.to_string(),
                Err(_) => "it took too long".to_owned(),
            },
        };
        metrics::counter!("waxwing_smtp_handshakes_failed_total").increment(1);
        tracing::debug!(peer = %self.peer, failure, "TLS handshake with an SMTP client failed");
        None
    }

    /// Talks until the session is over, or wants another transport. An error means that the client is
    /// gone.
    async fn talk<S>(&mut self, stream: &mut S) -> std::io::Result<End>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        loop {
            let step = self.dialog.next(&mut self.input);
            self.log_refused(None);
            // A message that is handed over keeps its memory until it is stored.
            if !matches!(step, Step::Submit(_)) {
                self.cover();
            }
            match step {
                Step::Flush => self.write(stream).await?,
                Step::StartTls => {
                    self.write(stream).await?;
                    return Ok(End::Handshake);
                }
                Step::Close => {
                    self.write(stream).await?;
                    return Ok(End::Closed);
                }
                Step::Wait => {
                    self.write(stream).await?;
                    match self.listen(stream).await? {
                        ReadEvent::Input => {}
                        ReadEvent::End => return Ok(End::Closed),
                        ReadEvent::Dismissed(why) => self.dialog.dismiss(why),
                    }
                }
                Step::Authenticate(credentials) => {
                    let outcome = self.authenticate(&credentials).await;
                    let refusal = outcome.as_ref().err().cloned();
                    self.dialog
                        .authenticated(outcome.map_err(|it| self.refuse(Moment::Login, &it)));
                    self.log_refused(refusal.as_ref());
                }
                Step::Sender(sender) => {
                    let outcome = counted(self.check_sender(sender.as_ref()).await);
                    let refusal = outcome.as_ref().err().cloned();
                    self.dialog
                        .sender_checked(outcome.map_err(|it| self.refuse(Moment::Sender, &it)));
                    self.log_refused(refusal.as_ref());
                }
                Step::Recipient(_) => {
                    let outcome = counted(self.check_recipient());
                    let refusal = outcome.as_ref().err().cloned();
                    self.dialog.recipient_checked(
                        outcome.map_err(|it| self.refuse(Moment::Recipient, &it)),
                    );
                    self.log_refused(refusal.as_ref());
                }
                Step::Submit(mail) => {
                    let outcome = Box::pin(self.submit(*mail)).await.map_err(|it| it.refusal);
                    self.memory = None;
                    let refusal = outcome.as_ref().err().cloned();
                    if let Some(refusal) = &refusal {
                        count(refusal);
                    }
                    self.dialog.submitted(outcome.map_err(|it| self.refuse(Moment::End, &it)));
                    self.log_refused(refusal.as_ref());
                }
            }
        }
    }

    fn refuse(&self, moment: Moment, refusal: &Refusal) -> Answer {
        answer(moment, refusal, self.limits.unpaid)
    }

    /// One line for each refusal, so that an operator can help whoever has a printer, and fail2ban an
    /// address that guesses keys. What a client or a plugin wrote stands in none.
    fn log_refused(&mut self, refusal: Option<&Refusal>) {
        for reply in self.dialog.refused() {
            let of = self.caller.as_ref().map(|it| &it.key).or(self.refused_key.as_ref());
            // fail2ban reads this line: `peer` first, `reply` behind it (OPERATING.md has the filter).
            tracing::info!(
                peer = %self.peer,
                reply = reply.code(),
                enhanced = reply.enhanced().map(display),
                refusal = %refusal.map_or_else(|| reply.name(), |it| it.code().to_owned()),
                detail = refusal.and_then(Refusal::log_detail),
                key = of.map(|it| display(it.id)),
                account = of.map(|it| display(it.account_id)),
                cause = reply.cause(),
                "refused over SMTP"
            );
        }
        self.refused_key = None;
    }

    async fn write<S: AsyncWrite + Unpin>(&mut self, stream: &mut S) -> std::io::Result<()> {
        let timeout = self.limits.bounds.idle;
        let written = transport::write(stream, self.dialog.output(), timeout).await?;
        self.answered = written.unwrap_or(self.answered);
        Ok(())
    }

    /// Waits for the client, as long as where the session stands allows.
    async fn listen<S: AsyncRead + Unpin>(&mut self, stream: &mut S) -> std::io::Result<ReadEvent> {
        let stage = self.dialog.stage();
        let now = Instant::now();
        let room = if stage == Stage::Data { CONTENT_READ_BYTES } else { COMMAND_READ_BYTES };
        if stage == Stage::Data {
            self.content_since.get_or_insert(now);
        } else {
            self.content_since = None;
            if self.input.is_empty() && self.input.capacity() > IDLE_BUFFER_BYTES {
                self.input = BytesMut::new();
            }
        }
        if self.stop.is_cancelled() {
            self.stopping_since.get_or_insert(now);
            if matches!(stage, Stage::Login | Stage::Idle) {
                return Ok(ReadEvent::Dismissed(Dismissal::Stopping));
            }
        }
        let bounds = &self.limits.bounds;
        // A command has that time as a whole: bytes that never end it are silence too.
        let command = self.answered + bounds.idle;
        let deadline = match (stage, self.content_since) {
            (Stage::Login, _) => command.min(self.opened + bounds.login),
            (Stage::Data, Some(since)) => (now + bounds.idle).min(since + bounds.data),
            (Stage::Data | Stage::Idle | Stage::Transaction, _) => command,
        };
        let drain_end = self.stopping_since.map(|since| since + TRANSACTION_DRAIN);
        self.input.reserve(room);
        transport::listen(stream, &mut self.input, deadline, drain_end, &self.stop).await
    }

    /// Takes as much of the memory for messages as this one holds, or lets the message go.
    fn cover(&mut self) {
        let wanted = self.dialog.held_bytes().div_ceil(BLOCK);
        let Some(caller) = self.caller.as_ref().filter(|_| wanted > 0) else {
            self.memory = None;
            return;
        };
        let is_covered = if let Some(share) = &mut self.memory {
            wanted <= share.amount() || share.grow(wanted - share.amount())
        } else {
            self.memory = self.relay.memory.try_take(caller.key.account_id.into(), wanted);
            self.memory.is_some()
        };
        if !is_covered {
            metrics::counter!("waxwing_smtp_out_of_memory_total").increment(1);
            self.dialog.out_of_memory();
            self.memory = None;
        }
    }

    async fn authenticate(&mut self, credentials: &Credentials) -> Result<(), Refusal> {
        let (key, user) = match credentials {
            Credentials::Named { user, key } if !self.limits.user_names.is_empty() => {
                (Some(key.as_str()), Some(user.as_str()))
            }
            Credentials::Key(_) | Credentials::Named { .. } | Credentials::Unusable => {
                (credentials.key(), None)
            }
        };
        let accept = &self.relay.journey.accept;
        let mut logged_in = accept.log_in(key, self.peer, Scope::Send).await;
        if let (Ok(caller), Some(user)) = (&logged_in, user)
            && let Err(refusal) = self.check_user_name(caller, user).await
        {
            logged_in = Err(accept.failed_login(key, self.peer, refusal).await);
        }
        match logged_in {
            Ok(caller) => {
                self.caller = Some(caller);
                metrics::counter!("waxwing_smtp_logins_total").increment(1);
                Ok(())
            }
            Err(FailedLogin { refusal, key }) => {
                self.refused_key = key;
                count(&refusal);
                Err(refusal)
            }
        }
    }

    async fn check_user_name(&self, caller: &Caller, user: &str) -> Result<(), Refusal> {
        let facts = &self.relay.journey.accept.facts;
        for allowed in &self.limits.user_names {
            let fits = match allowed {
                UserName::ApiKey => user.eq_ignore_ascii_case("apikey"),
                UserName::Address => {
                    has_address(facts, caller, user).await.map_err(|refused| refused.refusal)?
                }
            };
            if fits {
                return Ok(());
            }
        }
        Err(Refusal::Unauthorized)
    }

    async fn check_sender(&mut self, sender: Option<&EmailAddress>) -> Result<(), Refusal> {
        self.recipients = 0;
        // A client may begin the next message in one piece with the end of the last one.
        self.content_since = None;
        let caller = self.caller()?;
        self.take_one(caller)?;
        let checked = self.relay.journey.check_sender(caller, sender).await;
        checked.map_err(|refused| refused.refusal)
    }

    /// The first recipient was taken from the rate limit with MAIL.
    fn check_recipient(&mut self) -> Result<(), Refusal> {
        self.recipients += 1;
        if self.recipients == 1 { Ok(()) } else { self.take_one(self.caller()?) }
    }

    fn take_one(&self, caller: &Caller) -> Result<(), Refusal> {
        let taken = self.relay.journey.accept.take_sends(caller, NonZeroU32::MIN);
        taken.map(|_| ()).map_err(|(refusal, _)| refusal)
    }

    async fn submit(&self, mail: Mail) -> Result<Accepted, Refused> {
        let start = std::time::Instant::now();
        let caller = self.caller()?;
        let now = self.relay.journey.accept.clock.now();
        let (items, idempotency) = message::read(mail, &self.limits.settings, now)?;
        let acceptance = Acceptance::Together;
        let id = RequestId::new(now);
        let arrival = Arrival::over_smtp(start);
        let request = journey::Request { id, idempotency, acceptance, arrival, items };
        record_step(journey::accept::Step::Accept, start);
        let sent = self.relay.journey.submit(caller, &request).await;
        let receipts = sent.map_err(message::by_header)?.items.into_iter();
        let receipts = receipts.collect::<Result<Vec<_>, _>>().map_err(message::by_header)?;
        let suppressed = receipts.iter().filter(|it| it.state == MessageState::Suppressed).count();
        Ok(Accepted {
            ids: receipts.iter().map(|it| it.message_id.to_string()).collect(),
            suppressed,
        })
    }

    fn caller(&self) -> Result<&Caller, Refusal> {
        self.caller.as_ref().ok_or(Refusal::Unauthorized)
    }
}

/// Each refusal once, as over HTTP.
fn count(refusal: &Refusal) {
    metrics::counter!("waxwing_refusals_total", "code" => refusal.code()).increment(1);
}

fn counted(answer: Result<(), Refusal>) -> Result<(), Refusal> {
    answer.inspect_err(count)
}
