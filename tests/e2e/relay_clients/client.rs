//! What a client is to the tests: a way to send, and its words for what went wrong.

use std::path::{Path, PathBuf};

use waxwing_tests::Server;

use super::run::Said;

/// A client that we did not write.
pub struct Client {
    pub name: &'static str,
    /// Whether this machine has what it needs; where not, the argument is noted as not tested.
    pub usable: fn(&str) -> bool,
    pub send: fn(&Endpoint, &Letter) -> Said,
    /// Makes a message with a file itself, and sends it; none where a client only carries them.
    pub compose: Option<fn(&Endpoint, &Composition) -> Said>,
    /// Sends a letter to each recipient by itself, over connections that it keeps open.
    pub send_each: Option<fn(&Endpoint, &Letter) -> Said>,
    /// How it calls a login that was refused.
    pub denied: &'static str,
    /// How it calls a certificate that it does not trust.
    pub distrusts: &'static str,
    /// Whether it knows SMTPUTF8.
    pub utf8: Utf8,
    /// How many `Received` fields a message has that came through it.
    pub hops: usize,
}

/// What a client does with an address that is not ASCII.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Utf8 {
    /// It asks for SMTPUTF8.
    Spoken,
    /// It writes the address as if it were ASCII.
    Unknown,
}

/// One of the relay's ports, as a client is told to use it.
pub struct Endpoint {
    pub port: Port,
    /// As in `127.0.0.1`.
    pub host: String,
    pub number: String,
    /// Whom to trust; none for whom the machine trusts.
    pub ca_file: Option<PathBuf>,
    /// User name and password.
    pub key: String,
}

/// How TLS begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Port {
    StartTls,
    Tls,
}

/// What a client is told to send, and to whom.
pub struct Letter {
    pub from: String,
    pub to: Vec<String>,
    pub raw: Vec<u8>,
}

/// What a client is told to make a message of.
pub struct Composition {
    pub from: String,
    pub to: String,
    pub subject: String,
    pub text: String,
    pub filename: String,
    pub file: Vec<u8>,
}

impl Client {
    /// Whether it can be tested here; where not, that is noted.
    ///
    /// # Panics
    /// It cannot, and `CI` is set.
    pub fn is_here(&self) -> bool {
        (self.usable)(&format!("{} as a client of the relay", self.name))
    }
}

impl Endpoint {
    /// A port of this server, with all that a client has to know.
    pub fn of(server: &Server, port: Port) -> Self {
        let address = match port {
            Port::StartTls => server.smtp_starttls(),
            Port::Tls => server.smtp_tls(),
        };
        let (host, number) = address.rsplit_once(':').expect("an address has a port");
        Self {
            port,
            host: host.to_owned(),
            number: number.to_owned(),
            ca_file: Some(server.ca_file()),
            key: server.key().to_owned(),
        }
    }

    /// The same, with the machine's own trust only.
    pub fn of_a_stranger(self) -> Self {
        Self { ca_file: None, ..self }
    }

    /// The same, with a key of the right form that nobody has.
    pub fn with_wrong_key(self) -> Self {
        let (prefix, secret) = self.key.rsplit_once('_').expect("a key has a secret");
        let secret: String = secret.chars().rev().collect();
        Self { key: format!("{prefix}_{secret}"), ..self }
    }

    /// The CA file as an argument.
    pub fn ca(&self) -> Option<&str> {
        self.ca_file.as_deref().and_then(Path::to_str)
    }
}

impl Port {
    /// Both.
    pub const ALL: [Self; 2] = [Self::StartTls, Self::Tls];

    /// A word for the addresses of its letters.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::StartTls => "starttls",
            Self::Tls => "tls",
        }
    }

    /// SASL's name of the login that is tried on it: each port has another.
    pub fn mechanism(self) -> &'static str {
        match self {
            Self::StartTls => "PLAIN",
            Self::Tls => "LOGIN",
        }
    }
}

impl Letter {
    /// Whether an address of the envelope is not ASCII.
    pub fn is_utf8(&self) -> bool {
        !self.from.is_ascii() || self.to.iter().any(|to| !to.is_ascii())
    }

    /// The message without the line break at its end, for clients that add one to any message.
    pub fn open_ended(&self) -> &[u8] {
        self.raw.strip_suffix(b"\r\n").expect("a letter ends in a line break")
    }
}
