//! What both SMTP listeners do with a connection: write replies in time, and wait for the client.

use std::io;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use waxwing_smtp::server::dialog::Dismissal;

/// Why talking over one transport ended.
pub enum End {
    /// The client wants TLS.
    Handshake,
    /// The session is over.
    Closed,
}

/// What came of waiting for the client.
pub enum ReadEvent {
    /// More bytes, or the server stops: the caller looks again.
    Input,
    /// Nothing more will come.
    End,
    /// The server must say why it does not wait any longer.
    Dismissed(Dismissal),
}

/// Writes the replies that have gathered, and empties them; the moment of the write, where there were any.
pub async fn write<S: AsyncWrite + Unpin>(
    stream: &mut S,
    replies: &mut Vec<u8>,
    timeout: Duration,
) -> io::Result<Option<Instant>> {
    let output = std::mem::take(replies);
    if output.is_empty() {
        return Ok(None);
    }
    let writing = async {
        stream.write_all(&output).await?;
        stream.flush().await
    };
    tokio::time::timeout(timeout, writing).await??;
    Ok(Some(Instant::now()))
}

/// Reads more input, up to `deadline`, or up to `drain_end` where the server is stopping already.
pub async fn listen<S: AsyncRead + Unpin>(
    stream: &mut S,
    input: &mut BytesMut,
    deadline: Instant,
    drain_end: Option<Instant>,
    stop: &CancellationToken,
) -> io::Result<ReadEvent> {
    tokio::select! {
        read = stream.read_buf(input) => Ok(if read? == 0 { ReadEvent::End } else { ReadEvent::Input }),
        () = tokio::time::sleep_until(drain_end.map_or(deadline, |it| it.min(deadline))) => {
            let is_stopping = drain_end.is_some_and(|it| it <= deadline);
            Ok(ReadEvent::Dismissed(if is_stopping { Dismissal::Stopping } else { Dismissal::Idle }))
        }
        () = stop.cancelled(), if drain_end.is_none() => Ok(ReadEvent::Input),
    }
}
