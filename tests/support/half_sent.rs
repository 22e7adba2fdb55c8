//! A request of which the server has read the head and looked who asks, and whose body is still to come.

use std::fmt::Write as _;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::server::Server;

const PATIENCE: Duration = Duration::from_mins(1);

/// It is ended by its body.
#[derive(Debug)]
pub struct HalfSent {
    connection: TcpStream,
    body: Vec<u8>,
}

impl Server {
    /// Sends all but the body of a request, as in `POST /v1/keys`, and waits until the server asks for the body. None where
    /// the server answers without it.
    ///
    /// # Panics
    /// The server says nothing.
    pub async fn begin(
        &self,
        request: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Option<HalfSent> {
        let (host, length) = (self.address(), body.len());
        let mut head = format!(
            "{request} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {length}\r\nConnection: close\r\n\
             Expect: 100-continue\r\n"
        );
        for (name, value) in headers {
            write!(head, "{name}: {value}\r\n").expect("a string takes everything");
        }
        head.push_str("\r\n");
        let mut connection = TcpStream::connect(host).await.expect("connected");
        connection.write_all(head.as_bytes()).await.expect("written");
        let mut said = Vec::new();
        let reading = async {
            while !said.windows(4).any(|it| it == b"\r\n\r\n") {
                assert_ne!(connection.read_buf(&mut said).await.expect("readable"), 0, "{request}");
            }
        };
        tokio::time::timeout(PATIENCE, reading).await.expect("the server says something");
        said.starts_with(b"HTTP/1.1 100 ").then(|| HalfSent { connection, body: body.to_vec() })
    }
}

impl HalfSent {
    /// Sends the body, and reads what the server answers.
    ///
    /// # Panics
    /// There is no answer.
    pub async fn end(mut self) -> String {
        self.connection.write_all(&self.body).await.expect("written");
        let mut answer = Vec::new();
        let reading = self.connection.read_to_end(&mut answer);
        let read = tokio::time::timeout(PATIENCE, reading).await;
        read.expect("the answer comes").expect("readable");
        String::from_utf8_lossy(&answer).into_owned()
    }
}
