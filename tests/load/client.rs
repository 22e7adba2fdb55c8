//! HTTP/1.1 over one connection that is kept: just what two servers on loopback need, so that the
//! generator costs little beside them.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// An answer's body may be that long.
const MAX_BODY_BYTES: usize = 1 << 20;

/// A connection, and what was read from it.
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    filled: usize,
}

/// An answer. Its body is in the connection's buffer until the next exchange.
pub struct Answer<'a> {
    pub status: u16,
    pub body: &'a [u8],
}

impl Connection {
    pub async fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: vec![0; 8 << 10], filled: 0 })
    }

    /// Sends a whole request and reads the whole answer.
    pub async fn exchange(&mut self, request: &[u8]) -> io::Result<Answer<'_>> {
        self.stream.write_all(request).await?;
        self.filled = 0;
        let head = loop {
            self.fill().await?;
            if let Some(end) = find(&self.buffer[..self.filled], b"\r\n\r\n") {
                break end + 4;
            }
        };
        let status = status(&self.buffer[..head])?;
        let end = head + content_length(&self.buffer[..head])?;
        while self.filled < end {
            self.fill().await?;
        }
        Ok(Answer { status, body: &self.buffer[head..end] })
    }

    async fn fill(&mut self) -> io::Result<()> {
        if self.filled == self.buffer.len() {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        match self.stream.read(&mut self.buffer[self.filled..]).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            read => {
                self.filled += read;
                Ok(())
            }
        }
    }
}

fn status(head: &[u8]) -> io::Result<u16> {
    let digits = head.get(9..12).and_then(|digits| std::str::from_utf8(digits).ok());
    digits.and_then(|digits| digits.parse().ok()).ok_or_else(|| malformed("no status"))
}

fn content_length(head: &[u8]) -> io::Result<usize> {
    const NAME: &[u8] = b"content-length:";
    let line = head
        .split(|byte| *byte == b'\n')
        .find(|line| line.len() > NAME.len() && line[..NAME.len()].eq_ignore_ascii_case(NAME))
        .ok_or_else(|| malformed("no content-length"))?;
    std::str::from_utf8(&line[NAME.len()..])
        .ok()
        .and_then(|value| value.trim().parse().ok())
        .filter(|length| *length <= MAX_BODY_BYTES)
        .ok_or_else(|| malformed("a content-length that is no number, or too large"))
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the answer has {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_an_answer_is_read() {
        let head = b"HTTP/1.1 201 Created\r\nDate: now\r\nContent-Length: 42\r\n\r\n";
        assert_eq!(status(head).expect("a status"), 201);
        assert_eq!(content_length(head).expect("a length"), 42);
        assert!(content_length(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }
}
