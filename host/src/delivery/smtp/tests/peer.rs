//! The other side. Its script has a step on each line:
//!
//! - `S: text` is said, `S| text` without a line end after it;
//! - `C: text` must be heard; `data` hears a message with its final dot, `octets N` a part of one;
//! - `TLS` shakes hands; `drip text` is said for ever, an octet at a time, `flood text` at once;
//! - `close` hangs up, `reset` at once, `wait` until the client does. So does the end of the script.

use std::future::pending;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use rcgen::{CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::{HandshakeKind, ServerConfig, SupportedProtocolVersion};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use super::super::*;
use super::impatient;

/// The name in the peer's certificate.
pub const HOST: &str = "mx.example";

/// A peer that waits for its client.
pub struct Peer {
    pub address: SocketAddr,
    pub timeouts: Timeouts,
    task: JoinHandle<Heard>,
}

/// What came of a script.
#[derive(Debug, Default)]
pub struct Heard {
    /// The messages, with dots as they came over the wire.
    pub messages: Vec<String>,
    /// How hands were shaken.
    pub handshakes: Vec<HandshakeKind>,
}

/// An authority, and what it has signed.
pub struct Trust {
    pub client: TlsClient,
    pub server: Arc<ServerConfig>,
    pub old_server: Arc<ServerConfig>,
}

pub static TRUST: LazyLock<Trust> = LazyLock::new(|| {
    let (ca, server, old_server) = authority();
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("ca.pem");
    std::fs::write(&path, ca).expect("written");
    let client = TlsClient::new(Some(&path)).expect("an authority");
    Trust { client, server, old_server }
});

/// A certificate authority, and servers for TLS 1.2 and 1.3, and for TLS 1.2 alone.
fn authority() -> (String, Arc<ServerConfig>, Arc<ServerConfig>) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let issuer = CertifiedIssuer::self_signed(params, key).expect("an authority");
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new([HOST.to_owned()]).expect("a name");
    let certificate = params.signed_by(&key, &issuer).expect("a certificate");
    let server = |versions: &[&'static SupportedProtocolVersion]| {
        let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).expect("a key");
        let provider = Arc::new(aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key);
        Arc::new(config.expect("a pair"))
    };
    let old = server(&[&rustls::version::TLS12]);
    (issuer.pem(), server(rustls::ALL_VERSIONS), old)
}

impl Peer {
    pub async fn plays(script: &str) -> Self {
        Self::plays_with(script, &TRUST.server).await
    }

    pub async fn plays_with(script: &str, tls: &Arc<ServerConfig>) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let steps = script.lines().map(|line| line.trim_start().to_owned());
        let steps: Vec<String> = steps.filter(|line| !line.is_empty()).collect();
        let acceptor = TlsAcceptor::from(Arc::clone(tls));
        let task = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.expect("a client");
            stream.set_nodelay(true).expect("an option");
            play(&steps, stream, acceptor).await
        });
        Self { address, timeouts: Timeouts::default(), task }
    }

    pub fn with_little_time(mut self) -> Self {
        self.timeouts = impatient();
        self
    }

    pub fn dial(&self, security: Security) -> Dial<'static> {
        let hello = "out.example";
        Dial { address: self.address, local: None, host: HOST, hello, security, login: None }
    }

    pub async fn open(&self, security: Security) -> Result<Session, Broken> {
        self.open_with(&self.dial(security)).await
    }

    pub async fn open_with(&self, dial: &Dial<'_>) -> Result<Session, Broken> {
        Session::open(dial, &TRUST.client, &self.timeouts).await
    }

    /// A session without TLS.
    pub async fn session(&self) -> Session {
        self.open(Security::Plain).await.expect("a session")
    }

    /// What was heard, when the script is at its end; panics where it was left.
    pub async fn heard(self) -> Heard {
        self.task.await.expect("the client keeps to the script")
    }
}

/// What is said of a session but for the address.
pub fn shown(transcript: &str) -> String {
    let lines = transcript.lines().filter(|line| !line.starts_with("*: connecting to 127.0.0.1:"));
    lines.flat_map(|line| [line, "\n"]).collect()
}

async fn play(steps: &[String], tcp: TcpStream, acceptor: TlsAcceptor) -> Heard {
    let mut heard = Heard::default();
    let at = steps.iter().position(|step| step == "TLS").unwrap_or(steps.len());
    let (before, after) = steps.split_at(at);
    let mut tcp = BufReader::new(tcp);
    perform(before, &mut tcp, &mut heard).await;
    if before.iter().any(|step| step == "reset") {
        tcp.get_ref().set_zero_linger().expect("an option");
    }
    if let Some((_, after)) = after.split_first() {
        let tls = acceptor.accept(tcp.into_inner()).await;
        let Ok(tls) = tls else { return heard };
        heard.handshakes.extend(tls.get_ref().1.handshake_kind());
        let mut tls = BufReader::new(tls);
        perform(after, &mut tls, &mut heard).await;
        // The client may have gone without a word.
        drop(tls.shutdown().await);
    }
    heard
}

async fn perform<S>(steps: &[String], stream: &mut BufReader<S>, heard: &mut Heard)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    for step in steps {
        if let Some(text) = step.strip_prefix("S: ") {
            say(stream, &format!("{text}\r\n")).await;
        } else if let Some(text) = step.strip_prefix("S| ") {
            say(stream, &text.replace("\\r\\n", "\r\n")).await;
        } else if let Some(text) = step.strip_prefix("C: ") {
            let mut line = String::new();
            stream.read_line(&mut line).await.expect("a line");
            assert_eq!(line, format!("{text}\r\n"));
        } else if let Some(text) = step.strip_prefix("drip ") {
            drip(stream, text).await;
        } else if let Some(text) = step.strip_prefix("flood ") {
            let text = text.replace("\\r\\n", "\r\n").repeat(100);
            while stream.write_all(text.as_bytes()).await.is_ok() {}
        } else if let Some(count) = step.strip_prefix("octets ") {
            let mut octets = vec![0; count.parse().expect("a number")];
            stream.read_exact(&mut octets).await.expect("so many octets");
        } else {
            match step.as_str() {
                "data" => heard.messages.push(data(stream).await),
                "wait" => {
                    let mut rest = Vec::new();
                    // However the client ends it.
                    drop(stream.read_to_end(&mut rest).await);
                    assert_eq!(String::from_utf8_lossy(&rest), "");
                }
                "close" | "reset" => return,
                "linger" => pending().await,
                other => panic!("no step of a script: {other}"),
            }
        }
    }
}

async fn say<S: AsyncWrite + Unpin>(stream: &mut S, text: &str) {
    stream.write_all(text.as_bytes()).await.expect("the client listens");
    stream.flush().await.expect("the client listens");
}

/// Says it for ever, an octet at a time: each comes before a time-out, and all of it never.
async fn drip<S: AsyncWrite + Unpin>(stream: &mut S, text: &str) {
    let mut beat = tokio::time::interval(Duration::from_millis(5));
    for octet in text.bytes().cycle() {
        beat.tick().await;
        if stream.write_all(&[octet]).await.is_err() || stream.flush().await.is_err() {
            return;
        }
    }
}

async fn data<S: AsyncRead + Unpin>(stream: &mut BufReader<S>) -> String {
    let mut message = String::new();
    loop {
        let octets = stream.read_line(&mut message).await.expect("a line");
        assert!(octets > 0, "the final dot is missing: {message}");
        if octets == 3 && message.ends_with(".\r\n") {
            return message;
        }
    }
}
