//! A policy host: HTTPS on loopback that answers whatever it is told to.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use super::*;

/// What it does with a request.
#[derive(Debug, Clone)]
pub enum Answer {
    /// Sends this, and closes the connection.
    Bytes(String),
    /// Sends this and then nothing, for ever.
    Stall(String),
}

/// A running policy host. Dropped, it stops.
pub struct PolicyHost {
    address: SocketAddr,
    certificate: CertificateDer<'static>,
    state: Arc<State>,
    task: JoinHandle<()>,
}

struct State {
    acceptor: TlsAcceptor,
    answer: Mutex<Answer>,
    requests: AtomicUsize,
}

impl PolicyHost {
    /// One with a certificate for `mta-sts.example.com`, and `mta-sts.example.com` at its address.
    pub async fn start(world: &World) -> Self {
        world.address("mta-sts.example.com", "127.0.0.1");
        Self::named("mta-sts.example.com").await
    }

    /// One with a certificate for a name.
    pub async fn named(name: &str) -> Self {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new([name.to_owned()]).expect("a name");
        let certificate = params.self_signed(&key).expect("a certificate").der().clone();
        let private_key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], private_key)
            .expect("a pair");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        let state = Arc::new(State {
            acceptor: TlsAcceptor::from(Arc::new(config)),
            answer: Mutex::new(Answer::Bytes(String::new())),
            requests: AtomicUsize::new(0),
        });
        let serving = Arc::clone(&state);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(Arc::clone(&serving).serve(stream));
            }
        });
        Self { address, certificate, state, task }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How often it was asked.
    pub fn requests(&self) -> usize {
        self.state.requests.load(Ordering::SeqCst)
    }

    /// Answers so from now on.
    pub fn answers(&self, answer: Answer) {
        *self.state.answer.lock().unwrap_or_else(PoisonError::into_inner) = answer;
    }

    /// Serves a policy with these hosts.
    pub fn serves(&self, mode: &str, mx: &[&str], max_age: u32) {
        let mut lines = vec!["version: STSv1".to_owned(), format!("mode: {mode}")];
        lines.extend(mx.iter().map(|it| format!("mx: {it}")));
        lines.push(format!("max_age: {max_age}"));
        let policy = lines.join("\n");
        self.answers(Answer::Bytes(response("200 OK", "text/plain; charset=utf-8", &policy)));
    }

    /// A client that trusts its certificate.
    pub fn trusting(&self) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone()).expect("a certificate");
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth()
    }
}

impl Drop for PolicyHost {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl State {
    async fn serve(self: Arc<Self>, stream: TcpStream) {
        // A client that does not trust us goes away in the handshake.
        let Ok(mut stream) = self.acceptor.accept(stream).await else { return };
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            if stream.read_buf(&mut request).await.unwrap_or(0) == 0 {
                return;
            }
        }
        let wanted = b"GET /.well-known/mta-sts.txt HTTP/1.1\r\n";
        assert!(request.starts_with(wanted), "{}", String::from_utf8_lossy(&request));
        self.requests.fetch_add(1, Ordering::SeqCst);
        let answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (Answer::Bytes(bytes) | Answer::Stall(bytes)) = &answer;
        // A client that has heard enough goes away, too.
        if stream.write_all(bytes.as_bytes()).await.is_err() || stream.flush().await.is_err() {
            return;
        }
        match answer {
            Answer::Bytes(_) => drop(stream.shutdown().await),
            Answer::Stall(_) => drop(stream.read_buf(&mut request).await),
        }
    }
}

/// A response as it is sent.
pub fn response(status: &str, media_type: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )
}
