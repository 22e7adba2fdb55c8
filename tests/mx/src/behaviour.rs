//! What a server offers, demands, answers and does wrong, as plain data.

use std::fmt;
use std::sync::Arc;

use crate::certificate::Certificate;
use crate::reply::Reply;
use crate::situation::{Situation, Stage};

/// How a server behaves. Built by chaining; [`Behaviour::new`] is a good MX without TLS.
#[derive(Debug, Clone)]
pub struct Behaviour {
    pub(crate) name: String,
    pub(crate) extensions: Vec<String>,
    pub(crate) size: Option<usize>,
    pub(crate) tls: Tls,
    pub(crate) start_tls_fault: Option<StartTlsFault>,
    pub(crate) tls_demanded: Demand,
    pub(crate) login: Option<Login>,
    pub(crate) scripts: Vec<Script>,
    pub(crate) cuts: Vec<Cut>,
    pub(crate) end_of_connection: Option<(usize, Farewell)>,
    pub(crate) connections: Option<usize>,
    pub(crate) keeps: Keeps,
}

/// How STARTTLS fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartTlsFault {
    /// `454 4.7.0`.
    Refused,
    /// 220, and then octets that are no TLS.
    Garbage,
    /// 220, and then the connection closes.
    Closes,
    /// 220 with this in clear text behind it, in one packet; then TLS goes on (CVE-2011-0411).
    Injection(String),
}

/// What a server does when a connection has had its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Farewell {
    /// It closes behind the last reply.
    Closes,
    /// It answers 421 to the next MAIL and closes.
    Says421,
}

#[derive(Debug, Clone)]
pub(crate) enum Tls {
    None,
    Upgrade(Certificate),
    Implicit(Certificate),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Demand {
    No,
    Yes,
}

/// What is kept of what comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keeps {
    Everything,
    Counts,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Login {
    pub user: String,
    pub password: String,
    pub mechanisms: String,
    pub tls: Demand,
}

type Answers<T> = Arc<dyn Fn(&Situation<'_>) -> Option<T> + Send + Sync>;

#[derive(Clone)]
pub(crate) struct Script(Answers<Reply>);

#[derive(Clone)]
pub(crate) struct Cut(Answers<usize>);

impl Behaviour {
    /// Takes everything; offers PIPELINING, 8BITMIME, SMTPUTF8, ENHANCEDSTATUSCODES and SIZE.
    /// CHUNKING is never offered.
    #[must_use]
    pub fn new() -> Self {
        let extensions = ["PIPELINING", "8BITMIME", "SMTPUTF8", "ENHANCEDSTATUSCODES"];
        Self {
            name: "mx.test".to_owned(),
            extensions: extensions.map(str::to_owned).to_vec(),
            size: Some(64 << 20),
            tls: Tls::None,
            start_tls_fault: None,
            tls_demanded: Demand::No,
            login: None,
            scripts: Vec::new(),
            cuts: Vec::new(),
            end_of_connection: None,
            connections: None,
            keeps: Keeps::Everything,
        }
    }

    /// For load: counts messages and octets, keeps neither content nor dialog, in bounded memory.
    #[must_use]
    pub fn sink() -> Self {
        Self { keeps: Keeps::Counts, ..Self::new() }
    }

    /// The name in its greeting and in its answer to EHLO.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Self { name: name.to_owned(), ..self }
    }

    /// Offers one more extension, as in `DSN`.
    #[must_use]
    pub fn with(mut self, extension: &str) -> Self {
        self.extensions.push(extension.to_owned());
        self
    }

    /// Offers an extension no more, nor takes its parameters: PIPELINING, 8BITMIME, SMTPUTF8, SIZE, …
    #[must_use]
    pub fn without(mut self, extension: &str) -> Self {
        self.extensions.retain(|it| !it.eq_ignore_ascii_case(extension));
        if extension.eq_ignore_ascii_case("SIZE") {
            self.size = None;
        }
        self
    }

    /// Takes messages of at most so many octets, and says so; 552 to larger ones.
    #[must_use]
    pub fn size(self, octets: usize) -> Self {
        Self { size: Some(octets), ..self }
    }

    /// Offers STARTTLS.
    #[must_use]
    pub fn start_tls(self, certificate: Certificate) -> Self {
        Self { tls: Tls::Upgrade(certificate), ..self }
    }

    /// Speaks TLS from the first octet. It counts for connections that begin from then on.
    #[must_use]
    pub fn implicit_tls(self, certificate: Certificate) -> Self {
        Self { tls: Tls::Implicit(certificate), ..self }
    }

    /// Offers STARTTLS, but it fails. With a certificate set before, an injection goes on with that.
    #[must_use]
    pub fn start_tls_fails(self, fault: StartTlsFault) -> Self {
        let tls = match self.tls {
            Tls::Upgrade(certificate) => Tls::Upgrade(certificate),
            Tls::None | Tls::Implicit(_) => {
                Tls::Upgrade(Certificate::self_signed(&[self.name.as_str()]))
            }
        };
        Self { tls, start_tls_fault: Some(fault), ..self }
    }

    /// `530 5.7.0` to MAIL without TLS.
    #[must_use]
    pub fn demand_tls(self) -> Self {
        Self { tls_demanded: Demand::Yes, ..self }
    }

    /// Demands a login by AUTH PLAIN or LOGIN: 535 to another one, `530 5.7.0` to MAIL without.
    #[must_use]
    pub fn login(self, user: &str, password: &str) -> Self {
        let login = Login {
            user: user.to_owned(),
            password: password.to_owned(),
            mechanisms: "PLAIN LOGIN".to_owned(),
            tls: Demand::No,
        };
        Self { login: Some(login), ..self }
    }

    /// The mechanisms that it offers for the login, as in `LOGIN`.
    #[must_use]
    pub fn mechanisms(mut self, mechanisms: &str) -> Self {
        if let Some(login) = &mut self.login {
            mechanisms.clone_into(&mut login.mechanisms);
        }
        self
    }

    /// Offers the login under TLS only; `538 5.7.11` else.
    #[must_use]
    pub fn login_under_tls(mut self) -> Self {
        if let Some(login) = &mut self.login {
            login.tls = Demand::Yes;
        }
        self
    }

    /// Asks `script` at each stage what to answer; the first script that answers counts, and what
    /// none answers is answered as a good server does.
    #[must_use]
    pub fn script(
        mut self,
        script: impl Fn(&Situation<'_>) -> Option<Reply> + Send + Sync + 'static,
    ) -> Self {
        self.scripts.push(Script(Arc::new(script)));
        self
    }

    /// Always this reply at a stage.
    #[must_use]
    pub fn answer(self, stage: Stage, reply: Reply) -> Self {
        self.script(move |it| (it.stage == stage).then(|| reply.clone()))
    }

    /// This code at a stage.
    #[must_use]
    pub fn reject(self, stage: Stage, code: u16, text: &str) -> Self {
        self.answer(stage, Reply::new(code, text))
    }

    /// This code to RCPT of one address, in whatever case.
    #[must_use]
    pub fn reject_recipient(self, address: &str, code: u16, text: &str) -> Self {
        let (address, reply) = (address.to_lowercase(), Reply::new(code, text));
        self.script(move |it| {
            (it.recipient.map(str::to_lowercase).as_deref() == Some(address.as_str()))
                .then(|| reply.clone())
        })
    }

    /// `451 4.7.1` to the first RCPTs of each recipient.
    #[must_use]
    pub fn greylist(self, times: usize) -> Self {
        self.script(move |it| {
            (it.stage == Stage::Rcpt && it.seen < times)
                .then(|| Reply::new(451, "4.7.1 greylisted, come again"))
        })
    }

    /// `421 4.3.2` instead of a greeting.
    #[must_use]
    pub fn storm_421(self) -> Self {
        self.reject(Stage::Connect, 421, "4.3.2 no service today")
    }

    /// Cuts each message after so many octets of its data, before the final dot.
    #[must_use]
    pub fn cut_data_after(self, octets: usize) -> Self {
        self.cut_data_when(move |_| Some(octets))
    }

    /// The same where `cut` says after how many.
    #[must_use]
    pub fn cut_data_when(
        mut self,
        cut: impl Fn(&Situation<'_>) -> Option<usize> + Send + Sync + 'static,
    ) -> Self {
        self.cuts.push(Cut(Arc::new(cut)));
        self
    }

    /// Takes so many messages on a connection.
    #[must_use]
    pub fn messages_per_connection(self, messages: usize, farewell: Farewell) -> Self {
        Self { end_of_connection: Some((messages, farewell)), ..self }
    }

    /// Takes so many connections at one time, `421 4.7.0` to others.
    #[must_use]
    pub fn connections_at_one_time(self, connections: usize) -> Self {
        Self { connections: Some(connections), ..self }
    }

    pub(crate) fn scripted(&self, situation: &Situation<'_>) -> Option<Reply> {
        self.scripts.iter().find_map(|script| (script.0)(situation))
    }

    pub(crate) fn cut_after(&self, situation: &Situation<'_>) -> Option<usize> {
        self.cuts.iter().find_map(|cut| (cut.0)(situation))
    }

    pub(crate) fn offers(&self, extension: &str) -> bool {
        if extension == "SIZE" {
            return self.size.is_some();
        }
        let word = |it: &String| it.split(' ').next().unwrap_or_default().to_ascii_uppercase();
        self.extensions.iter().any(|it| word(it) == extension)
    }
}

impl Default for Behaviour {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Script")
    }
}

impl fmt::Debug for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cut")
    }
}
