//! A client that says what it is told.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::PATIENCE;
use crate::{Authority, MxServer};

trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

pub struct Client {
    stream: Option<Box<dyn Stream>>,
    socket: TcpStream,
    read: Vec<u8>,
}

impl Client {
    pub fn connected(server: &MxServer) -> Self {
        Self::try_connect(server).expect("it listens")
    }

    pub fn try_connect(server: &MxServer) -> io::Result<Self> {
        let socket = TcpStream::connect(server.address())?;
        socket.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { stream: Some(Box::new(socket.try_clone()?)), socket, read: Vec::new() })
    }

    pub fn greeted(server: &MxServer) -> Self {
        let mut client = Self::connected(server);
        client.expect("220 ");
        client.hello();
        client
    }

    /// EHLO; the extensions.
    pub fn hello(&mut self) -> Vec<String> {
        self.write(b"EHLO client.example\r\n");
        let mut lines = vec![self.line().expect("a line")];
        while lines.last().is_some_and(|it| it.starts_with("250-")) {
            lines.push(self.line().expect("a line"));
        }
        lines.iter().skip(1).map(|it| it.get(4..).unwrap_or_default().to_owned()).collect()
    }

    #[track_caller]
    pub fn say(&mut self, line: &str, reply: &str) {
        self.write(format!("{line}\r\n").as_bytes());
        self.expect(reply);
    }

    /// A message of 15 octets.
    #[track_caller]
    pub fn send(&mut self, from: &str, to: &str, reply: &str) {
        self.say(&format!("MAIL FROM:<{from}>"), "250");
        self.say(&format!("RCPT TO:<{to}>"), "250");
        self.say("DATA", "354");
        self.say("a: b\r\n\r\nwords\r\n.", reply);
    }

    #[track_caller]
    pub fn expect(&mut self, reply: &str) {
        let line = self.line().expect("a reply");
        assert!(line.starts_with(reply), "{line:?} should begin with {reply:?}");
    }

    /// Nothing comes any more.
    #[track_caller]
    pub fn expect_end(&mut self) {
        match self.line() {
            Ok(line) => unreachable!("{line:?} instead of an end"),
            Err(error) => assert!(
                !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
                "it does not end"
            ),
        }
    }

    pub fn write(&mut self, octets: &[u8]) {
        let stream = self.stream.as_mut().expect("a stream");
        // A server that has gone does not read; the test sees it in what it answers.
        let _whether_anybody_reads = stream.write_all(octets).and_then(|()| stream.flush());
    }

    pub fn line(&mut self) -> io::Result<String> {
        loop {
            if let Some(end) = self.read.windows(2).position(|it| it == b"\r\n") {
                let line: Vec<u8> = self.read.drain(..end + 2).take(end).collect();
                return Ok(String::from_utf8_lossy(&line).into_owned());
            }
            self.fill()?;
        }
    }

    /// Reads until so many octets are there, or the end; what was read.
    pub fn octets(&mut self, octets: usize) -> Vec<u8> {
        while self.read.len() < octets && self.fill().is_ok() {}
        std::mem::take(&mut self.read)
    }

    fn fill(&mut self) -> io::Result<()> {
        let mut buffer = [0; 4_096];
        let read = self.stream.as_mut().expect("a stream").read(&mut buffer)?;
        self.read.extend_from_slice(&buffer[..read]);
        if read == 0 { Err(ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    /// TLS on what is there, for a server of that name.
    pub fn shake_hands(&mut self, authority: &Authority, name: &'static str) -> io::Result<()> {
        let mut roots = RootCertStore::empty();
        let root = CertificateDer::from_pem_slice(authority.pem().as_bytes());
        roots.add(root.expect("a certificate")).expect("an authority");
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("the provider has them")
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from(name).expect("a name");
        let connection = ClientConnection::new(Arc::new(config), name).expect("a client");
        let mut stream = StreamOwned::new(connection, self.socket.try_clone()?);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        self.stream = Some(Box::new(stream));
        Ok(())
    }
}
