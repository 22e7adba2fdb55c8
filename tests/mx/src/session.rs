//! One connection: the dialog up to the envelope.

mod data;
mod login;
mod path;
mod transaction;

use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::yield_now;

use crate::behaviour::{Behaviour, Demand, Keeps, StartTlsFault, Tls};
use crate::certificate::Certificate;
use crate::record::{Moment, Open, Shared, Speaker};
use crate::reply::{Reply, Says, Then, is_positive};
use crate::situation::{Recipient, Situation, Stage};
use crate::wire::{LineEnd, Over, Wire};

/// Commands behind which a client must wait (RFC 2920 section 3.1).
const LAST_OF_A_GROUP: [&str; 7] = ["EHLO", "HELO", "DATA", "STARTTLS", "AUTH", "QUIT", "NOOP"];
/// Turns in which the ends of other connections are noticed that came before this one.
const TURNS: usize = 6;

pub(crate) struct Session {
    shared: Arc<Shared>,
    changes: watch::Receiver<Arc<Behaviour>>,
    behaviour: Arc<Behaviour>,
    wire: Wire,
    number: usize,
    open: Option<Open>,
    greeted: bool,
    tls: bool,
    server_name: Option<String>,
    helo: Option<String>,
    user: Option<String>,
    sender: Option<Recipient>,
    recipients: Vec<Recipient>,
    /// Messages that were ended, and those of them that were taken.
    transactions: usize,
    taken: usize,
}

/// Where it stands, beside what the session knows.
struct Place<'a> {
    stage: Stage,
    recipient: Option<&'a str>,
    seen: usize,
}

impl From<Stage> for Place<'_> {
    fn from(stage: Stage) -> Self {
        Self { stage, recipient: None, seen: 0 }
    }
}

/// Serves a connection to its end.
pub(crate) async fn serve(stream: TcpStream, shared: Arc<Shared>) {
    let number = shared.connected();
    // Else a client that closes one connection and opens another would seem to have two.
    for _ in 0..TURNS {
        yield_now().await;
    }
    // Without it octets would be sent in company.
    let _it_is_only_slower = stream.set_nodelay(true);
    let mut changes = shared.behaviour();
    let behaviour = changes.borrow_and_update().clone();
    let mut session = Session {
        open: Some(shared.open()),
        shared,
        changes,
        behaviour,
        wire: Wire::new(stream),
        number,
        greeted: false,
        tls: false,
        server_name: None,
        helo: None,
        user: None,
        sender: None,
        recipients: Vec::new(),
        transactions: 0,
        taken: 0,
    };
    session.note(Speaker::Event, "connected");
    let Over = session.run().await;
    session.note(Speaker::Event, "closed");
}

impl Session {
    async fn run(&mut self) -> Over {
        match self.dialog().await {
            Ok(never) => match never {},
            Err(over) => over,
        }
    }

    async fn dialog(&mut self) -> Result<std::convert::Infallible, Over> {
        if let Tls::Implicit(certificate) = self.behaviour.tls.clone() {
            self.secure(&certificate).await?;
        }
        let among = self.open.as_ref().map_or(0, |it| it.among);
        let usual = if self.behaviour.connections.is_some_and(|most| among > most) {
            Reply::new(421, "4.7.0 too many connections from you")
        } else {
            Reply::new(220, &format!("{} ESMTP", self.behaviour.name))
        };
        self.greeted = is_positive(self.answer(Stage::Connect.into(), usual).await?);
        loop {
            let (line, ended) = self.wire.line().await?;
            self.behaviour = self.changes.borrow_and_update().clone();
            self.note(Speaker::Client, &line);
            self.note_violation(&line, ended);
            self.command(&line).await?;
        }
    }

    async fn command(&mut self, line: &str) -> Result<(), Over> {
        let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
        match verb.to_ascii_uppercase().as_str() {
            "QUIT" => {
                self.answer(Stage::Quit.into(), Reply::new(221, "2.0.0 bye").then_close()).await?;
            }
            _ if !self.greeted => self.refuse(503, "5.5.1 there is no service here").await?,
            "EHLO" => self.hello(Stage::Ehlo, rest).await?,
            "HELO" => self.hello(Stage::Helo, rest).await?,
            "STARTTLS" => self.start_tls().await?,
            "AUTH" => self.log_in(rest).await?,
            "MAIL" => self.mail(rest).await?,
            "RCPT" => self.rcpt(rest).await?,
            "DATA" => self.data().await?,
            "RSET" => {
                self.reset();
                self.answer(Stage::Rset.into(), Reply::ok()).await?;
            }
            "NOOP" => {
                self.answer(Stage::Noop.into(), Reply::ok()).await?;
            }
            _ => self.refuse(500, "5.5.2 no such command").await?,
        }
        Ok(())
    }

    async fn hello(&mut self, stage: Stage, name: &str) -> Result<(), Over> {
        self.reset();
        let mut text = self.behaviour.name.clone();
        if stage == Stage::Ehlo {
            for extension in self.extensions() {
                text.push('\n');
                text.push_str(&extension);
            }
        }
        if is_positive(self.answer(stage.into(), Reply::new(250, &text)).await?) {
            self.helo = Some(name.to_owned());
        }
        Ok(())
    }

    fn extensions(&self) -> Vec<String> {
        let mut extensions = self.behaviour.extensions.clone();
        if let Some(size) = self.behaviour.size {
            extensions.push(format!("SIZE {size}"));
        }
        if matches!(self.behaviour.tls, Tls::Upgrade(_)) && !self.tls {
            extensions.push("STARTTLS".to_owned());
        }
        if let Some(login) = &self.behaviour.login
            && (self.tls || login.tls == Demand::No)
        {
            extensions.push(format!("AUTH {}", login.mechanisms));
        }
        extensions
    }

    async fn start_tls(&mut self) -> Result<(), Over> {
        let Tls::Upgrade(certificate) = self.behaviour.tls.clone() else {
            return self.refuse(502, "5.5.1 STARTTLS is not offered").await;
        };
        if self.tls {
            return self.refuse(503, "5.5.1 TLS is there already").await;
        }
        let fault = self.behaviour.start_tls_fault.clone();
        let usual = match &fault {
            Some(StartTlsFault::Refused) => Reply::new(454, "4.7.0 no TLS now"),
            Some(StartTlsFault::Injection(text)) => {
                Reply::octets(format!("220 2.0.0 go ahead\r\n{text}").as_bytes())
            }
            Some(StartTlsFault::Garbage | StartTlsFault::Closes) | None => {
                Reply::new(220, "2.0.0 go ahead")
            }
        };
        if !is_positive(self.answer(Stage::StartTls.into(), usual).await?) {
            return Ok(());
        }
        match fault {
            Some(StartTlsFault::Garbage) => {
                // Garbage that came with the 220 would be another fault: an injection.
                self.wire.fill().await?;
                self.wire.write(b"this is no handshake, and never will be one\r\n");
                Err(self.wire.wait_for_end().await)
            }
            Some(StartTlsFault::Closes) => Err(self.wire.close().await),
            Some(StartTlsFault::Refused | StartTlsFault::Injection(_)) | None => {
                self.secure(&certificate).await?;
                self.reset();
                (self.helo, self.user) = (None, None);
                Ok(())
            }
        }
    }

    async fn secure(&mut self, certificate: &Certificate) -> Result<(), Over> {
        match self.wire.shake_hands(certificate).await {
            Ok((ahead, name)) => {
                if ahead > 0 {
                    self.shared.violation(self.number, "clear text behind STARTTLS");
                }
                let name_shown = name.as_deref().unwrap_or("no name");
                self.note(Speaker::Event, &format!("TLS, for {name_shown}"));
                (self.tls, self.server_name) = (true, name);
                Ok(())
            }
            Err(error) => {
                self.note(Speaker::Event, &format!("no TLS: {error}"));
                Err(Over)
            }
        }
    }

    /// Answers: the script's way, or the usual one. The code that was answered.
    async fn answer(&mut self, place: Place<'_>, usual: Reply) -> Result<Option<u16>, Over> {
        let reply = self.decide(&place, usual).await?;
        self.say(&place, &reply).await?;
        Ok(reply.code())
    }

    async fn decide(&mut self, place: &Place<'_>, usual: Reply) -> Result<Reply, Over> {
        let stage = place.stage;
        self.shared.call(|it| it == Moment::Before(stage), &self.situation(place));
        loop {
            self.behaviour = self.changes.borrow_and_update().clone();
            let scripted = self.behaviour.scripted(&self.situation(place));
            let reply = scripted.unwrap_or_else(|| usual.clone());
            if reply.says != Says::NeverAnything {
                return Ok(reply);
            }
            self.note(Speaker::Event, "silence");
            self.wire.stay_silent(&mut self.changes).await?;
        }
    }

    async fn say(&mut self, place: &Place<'_>, reply: &Reply) -> Result<(), Over> {
        let last = reply.then == Then::Close;
        if last {
            // The client may open the next one as soon as it has read this.
            self.open = None;
        }
        if self.behaviour.keeps == Keeps::Everything {
            self.note_reply(reply);
        }
        if last && reply.says == Says::Nothing {
            return Err(Over);
        }
        self.wire.say(reply).await?;
        let stage = place.stage;
        if self.shared.has_hooks() {
            self.wire.flush().await?;
            self.shared.call(|it| it == Moment::After(stage), &self.situation(place));
        }
        if last { Err(self.wire.close().await) } else { Ok(()) }
    }

    /// A reply that no script is asked about: the client is out of step.
    async fn refuse(&mut self, code: u16, text: &str) -> Result<(), Over> {
        let reply = Reply::new(code, text);
        self.note_reply(&reply);
        self.wire.say(&reply).await
    }

    fn situation<'a>(&'a self, place: &Place<'a>) -> Situation<'a> {
        Situation {
            stage: place.stage,
            connection: self.number,
            transactions: self.transactions,
            sender: self.sender.as_ref().map(|it| it.address.as_str()),
            recipient: place.recipient,
            recipients: &self.recipients,
            seen: place.seen,
            tls: self.tls,
            user: self.user.as_deref(),
        }
    }

    fn reset(&mut self) {
        self.sender = None;
        self.recipients.clear();
    }

    /// Notes what a client may not do.
    fn note_violation(&self, line: &str, ended: LineEnd) {
        let more = !self.wire.rest().is_empty();
        let verb = line.split(' ').next().unwrap_or_default().to_ascii_uppercase();
        let pipelines = self.helo.is_some() && self.behaviour.offers("PIPELINING");
        let fault = if ended == LineEnd::BareLf {
            "a line that ends in LF alone"
        } else if more && !pipelines {
            "pipelining that was not offered"
        } else if more && LAST_OF_A_GROUP.contains(&verb.as_str()) {
            "more behind a command that ends a group"
        } else {
            return;
        };
        self.shared.violation(self.number, &format!("{fault}: {line}"));
    }

    fn note_reply(&self, reply: &Reply) {
        match &reply.says {
            Says::Text(..) | Says::Octets(_) => {
                for line in String::from_utf8_lossy(&reply.wire()).lines() {
                    self.note(Speaker::Server, line);
                }
            }
            Says::EndlessLines(_) | Says::EndlessLine(_) => {
                self.note(Speaker::Event, "a reply without end");
            }
            Says::Nothing | Says::NeverAnything => self.note(Speaker::Event, "no reply"),
        }
    }

    fn note(&self, speaker: Speaker, text: &str) {
        if self.behaviour.keeps == Keeps::Everything {
            self.shared.note(self.number, speaker, text);
        }
    }
}
