//! An SMTP client that says exactly what it is told, byte by byte: right or wrong.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::server::Server;

const PATIENCE: Duration = Duration::from_mins(1);

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}

/// One of the relay's ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Port {
    /// With STARTTLS, as 587.
    StartTls,
    /// With TLS from the first byte, as 465.
    Implicit,
}

impl Port {
    pub const BOTH: [Self; 2] = [Self::StartTls, Self::Implicit];

    /// Where it is.
    #[must_use]
    pub fn address(self, server: &Server) -> &str {
        server.dev_output(match self {
            Self::StartTls => "smtpStarttls",
            Self::Implicit => "smtpTls",
        })
    }
}

pub struct Smtp {
    stream: Box<dyn Stream>,
    read: Vec<u8>,
}

/// What the server said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmtpReply {
    /// As in 250.
    pub code: u16,
    /// The lines without the code, joined by line breaks.
    pub text: String,
}

impl Smtp {
    /// Connects, says hello and nothing else: after TLS, before AUTH.
    ///
    /// # Panics
    /// The server is not there, or not polite.
    pub async fn secured(server: &Server, port: Port) -> Self {
        Self::behind_proxy(server, port, b"").await
    }

    /// The same for a client of a proxy, which first writes `header`.
    ///
    /// # Panics
    /// The server is not there, or not polite.
    pub async fn behind_proxy(server: &Server, port: Port, header: &[u8]) -> Self {
        let stream = TcpStream::connect(port.address(server)).await;
        let mut client = Self::over(stream.expect("the relay listens"));
        client.write(header).await.expect("the header is written");
        if port == Port::Implicit {
            client = client.shake_hands(server).await;
        }
        client.reply().await.expect("a greeting").assert(220);
        if port == Port::StartTls {
            client.say("EHLO plain.example").await.assert(250);
            client.say("STARTTLS").await.assert(220);
            client = client.shake_hands(server).await;
        }
        client.say("EHLO client.example").await.assert(250);
        client
    }

    /// The same, and logged in with the key of `dev`.
    pub async fn authenticated(server: &Server, port: Port) -> Self {
        let mut client = Self::secured(server, port).await;
        client.log_in(server.key()).await.assert(235);
        client
    }

    /// Connects to the port with STARTTLS; nothing is said or read.
    ///
    /// # Panics
    /// Nobody listens.
    pub async fn plain(server: &Server) -> Self {
        let stream = TcpStream::connect(Port::StartTls.address(server)).await;
        Self::over(stream.expect("the relay listens"))
    }

    /// Connects to the listener for reports; nothing is said or read.
    ///
    /// # Panics
    /// Nobody listens.
    pub async fn reports(server: &Server) -> Self {
        let stream = TcpStream::connect(server.dev_output("bounces")).await;
        Self::over(stream.expect("the listener for reports listens"))
    }

    /// Connects to the port with TLS; nothing is said or read after the handshake.
    ///
    /// # Errors
    /// Nobody listens, or the certificate is not of the server's own authority.
    pub async fn try_implicit(server: &Server) -> io::Result<Self> {
        let stream = TcpStream::connect(Port::Implicit.address(server)).await?;
        Self::over(stream).try_shake_hands(server).await
    }

    /// One session over TLS: logs in, offers one message, and answers the reply to it, or the first one that refuses.
    ///
    /// # Errors
    /// The server is gone: nobody knows whether it took the message.
    pub async fn try_send(
        server: &Server,
        key: &str,
        (from, to): (&str, &str),
        message: &str,
    ) -> io::Result<SmtpReply> {
        let mut client = Self::try_implicit(server).await?;
        let greeting = client.reply().await?;
        if greeting.code >= 400 {
            return Ok(greeting);
        }
        let login = format!("AUTH PLAIN {}", base64(format!("\0{key}\0{key}").as_bytes()));
        for line in ["EHLO client.example", &login] {
            let reply = client.try_say(line).await?;
            if reply.code >= 400 {
                return Ok(reply);
            }
        }
        client.offer((from, to), message).await
    }

    /// Offers a message in a session that is logged in; answers the reply to it, or the first one that refuses.
    ///
    /// # Errors
    /// The server is gone.
    pub async fn offer(
        &mut self,
        (from, to): (&str, &str),
        message: &str,
    ) -> io::Result<SmtpReply> {
        let envelope: [&str; 3] =
            [&format!("MAIL FROM:<{from}>"), &format!("RCPT TO:<{to}>"), "DATA"];
        for line in envelope {
            let reply = self.try_say(line).await?;
            if reply.code >= 400 {
                return Ok(reply);
            }
        }
        self.write(format!("{message}.\r\n").as_bytes()).await?;
        self.reply().await
    }

    async fn try_say(&mut self, line: &str) -> io::Result<SmtpReply> {
        self.write(format!("{line}\r\n").as_bytes()).await?;
        self.reply().await
    }

    fn over(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> Self {
        Self { stream: Box::new(stream), read: Vec::new() }
    }

    /// Shakes hands on what is there, trusting the server's own authority.
    ///
    /// # Panics
    /// The handshake fails.
    pub async fn shake_hands(self, server: &Server) -> Self {
        self.try_shake_hands(server).await.expect("a handshake")
    }

    async fn try_shake_hands(self, server: &Server) -> io::Result<Self> {
        let connector = TlsConnector::from(tls(server));
        let name = ServerName::try_from("localhost").expect("a name");
        Ok(Self::over(connector.connect(name, self.stream).await?))
    }

    /// `AUTH PLAIN` with that key as user name and password.
    pub async fn log_in(&mut self, key: &str) -> SmtpReply {
        let initial = base64(format!("\0{key}\0{key}").as_bytes());
        self.say(&format!("AUTH PLAIN {initial}")).await
    }

    /// Sends a line and reads the reply.
    ///
    /// # Panics
    /// The server closes.
    pub async fn say(&mut self, line: &str) -> SmtpReply {
        self.write(format!("{line}\r\n").as_bytes()).await.expect("the server reads");
        self.reply().await.expect("a reply to the command")
    }

    /// A whole transaction; `message` is dot-stuffed here. Answers the last reply.
    pub async fn send(&mut self, from: &str, to: &[&str], message: &str) -> SmtpReply {
        self.say(&format!("MAIL FROM:<{from}>")).await.assert(250);
        for to in to {
            self.say(&format!("RCPT TO:<{to}>")).await.assert(250);
        }
        self.say("DATA").await.assert(354);
        self.content(message).await
    }

    /// The message after DATA.
    ///
    /// # Panics
    /// The server closes.
    pub async fn content(&mut self, message: &str) -> SmtpReply {
        let stuffed = message.replace("\r\n.", "\r\n..");
        let stuffed = stuffed.strip_prefix('.').map_or(stuffed.clone(), |it| format!("..{it}"));
        let end = if stuffed.ends_with("\r\n") { ".\r\n" } else { "\r\n.\r\n" };
        self.write(format!("{stuffed}{end}").as_bytes()).await.expect("the server reads");
        self.reply().await.expect("a reply to the message")
    }

    /// Writes bytes.
    pub async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await?;
        self.stream.flush().await
    }

    /// Reads one reply.
    ///
    /// # Errors
    /// The server closed before it was whole, or did not answer for a minute.
    pub async fn reply(&mut self) -> io::Result<SmtpReply> {
        let mut lines = Vec::new();
        loop {
            let line = tokio::time::timeout(PATIENCE, self.line()).await??;
            let malformed = || io::Error::other(format!("no reply: {line:?}"));
            let (code, rest) = line.split_at_checked(3).ok_or_else(malformed)?;
            let code = code.parse().map_err(|_| malformed())?;
            let (separator, text) = rest.split_at_checked(1).unwrap_or((" ", ""));
            lines.push(text.to_owned());
            if separator == " " {
                return Ok(SmtpReply { code, text: lines.join("\n") });
            }
        }
    }

    /// Reads until the server closes; answers what else it said.
    ///
    /// # Errors
    /// It does not close within a minute.
    pub async fn end(&mut self) -> io::Result<String> {
        let mut rest = std::mem::take(&mut self.read);
        // A peer that is cut off may end without a goodbye of TLS.
        match tokio::time::timeout(PATIENCE, self.stream.read_to_end(&mut rest)).await {
            Ok(Ok(_) | Err(_)) => Ok(String::from_utf8_lossy(&rest).into_owned()),
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    async fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = self.read.windows(2).position(|it| it == b"\r\n") {
                let line: Vec<u8> = self.read.drain(..end + 2).take(end).collect();
                return String::from_utf8(line).map_err(io::Error::other);
            }
            let read = self.stream.read_buf(&mut self.read).await?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

impl SmtpReply {
    /// Fails unless it has that code.
    ///
    /// # Panics
    /// It has another one.
    #[track_caller]
    pub fn assert(&self, code: u16) {
        assert_eq!(self.code, code, "{}", self.text);
    }

    /// Fails unless it begins like that, as in `550 5.7.1 FORBIDDEN`.
    ///
    /// # Panics
    /// It begins otherwise.
    #[track_caller]
    pub fn assert_begins(&self, beginning: &str) {
        let whole = format!("{} {}", self.code, self.text);
        assert!(whole.starts_with(beginning), "{whole:?} should begin with {beginning:?}");
    }

    /// The identifier in `250 2.0.0 Ok: queued as msg_…`.
    ///
    /// # Panics
    /// It is no such reply.
    #[track_caller]
    #[must_use]
    pub fn message_id(&self) -> String {
        self.assert_begins("250 2.0.0 Ok: queued as msg_");
        self.text.split(' ').nth(4).expect("an identifier").to_owned()
    }
}

/// What trusts nobody but the server's own authority.
fn tls(server: &Server) -> Arc<rustls::ClientConfig> {
    let mut roots = rustls::RootCertStore::empty();
    let file = CertificateDer::from_pem_file(server.dev_output("caFile")).expect("a certificate");
    roots.add(file).expect("an authority");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has them");
    Arc::new(builder.with_root_certificates(roots).with_no_client_auth())
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}
