//! The PROXY protocol, version 1 and 2: a proxy begins each connection with a header that names the client.
//!
//! <https://www.haproxy.org/download/3.2/doc/proxy-protocol.txt>. The header is read to its last octet and no
//! further: what follows it, often a TLS handshake, belongs to the session.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use ppp::{v1, v2};
use tokio::io::{AsyncRead, AsyncReadExt};

/// How long a connection may take for its header, which a proxy writes at once.
pub(super) const MAX_WAIT: Duration = Duration::from_secs(10);
/// What every header of both versions has at least: the signature of version 2.
const SIGNATURE: usize = v2::PROTOCOL_PREFIX.len();
/// A header of version 1 with its CRLF, as the protocol bounds it.
const MAX_V1: usize = 107;
/// The fixed part of version 2, with the length of the rest.
const FIXED_V2: usize = 16;
/// That rest: addresses (at most 216 octets) and what proxies add, such as the name of a TLS client.
const MAX_V2_REST: usize = 4_096;

/// Why the client's address of a proxied connection is not known.
#[derive(Debug, thiserror::Error)]
pub(super) enum ProxyHeaderError {
    #[error("the connection was closed before its first octet, as health checks do")]
    Nothing,
    #[error("the connection ended within its PROXY header")]
    Truncated,
    #[error("the connection broke: {0}")]
    Io(#[from] io::Error),
    #[error(
        "no PROXY header came within {} s; let the proxy send one (version 1 or 2), or take its \
         network out of smtp.trusted_proxies",
        .0.as_secs()
    )]
    Late(Duration),
    #[error(
        "the connection does not begin with a PROXY header; let the proxy send one (version 1 or 2), \
         or take its network out of smtp.trusted_proxies"
    )]
    Missing,
    #[error("the PROXY header has more than {0} octets")]
    TooLong(usize),
    #[error("{0} connections wait for their PROXY headers already")]
    TooMany(usize),
    #[error("the PROXY header of version 1 cannot be read: {0}")]
    V1(#[from] v1::BinaryParseError),
    #[error("the PROXY header of version 2 cannot be read: {0}")]
    V2(#[from] v2::ParseError),
}

/// The client that the header names, or the proxy itself where it names none: the proxy then speaks for
/// itself (LOCAL), or does not know the client (UNKNOWN).
pub(super) async fn client<S: AsyncRead + Unpin>(
    stream: &mut S,
    proxy: SocketAddr,
    wait: Duration,
) -> Result<SocketAddr, ProxyHeaderError> {
    let named = tokio::time::timeout(wait, read_header(stream)).await;
    Ok(named.map_err(|_| ProxyHeaderError::Late(wait))??.unwrap_or(proxy))
}

async fn read_header<S: AsyncRead + Unpin>(
    stream: &mut S,
) -> Result<Option<SocketAddr>, ProxyHeaderError> {
    let mut header = Vec::new();
    fill(stream, &mut header, SIGNATURE).await?;
    if header == v2::PROTOCOL_PREFIX {
        fill(stream, &mut header, FIXED_V2).await?;
        let rest = header.last_chunk().map_or(0, |length| usize::from(u16::from_be_bytes(*length)));
        if rest > MAX_V2_REST {
            return Err(ProxyHeaderError::TooLong(FIXED_V2 + MAX_V2_REST));
        }
        fill(stream, &mut header, FIXED_V2 + rest).await?;
        return of_v2(&header);
    }
    if !header.starts_with(b"PROXY ") {
        return Err(ProxyHeaderError::Missing);
    }
    while !header.ends_with(b"\r\n") {
        if header.len() == MAX_V1 {
            return Err(ProxyHeaderError::TooLong(MAX_V1));
        }
        let length = header.len() + 1;
        fill(stream, &mut header, length).await?;
    }
    of_v1(&header)
}

/// Reads until the header has `length` octets.
async fn fill<S: AsyncRead + Unpin>(
    stream: &mut S,
    header: &mut Vec<u8>,
    length: usize,
) -> Result<(), ProxyHeaderError> {
    let missing = u64::try_from(length - header.len()).unwrap_or(u64::MAX);
    let read = stream.take(missing).read_to_end(header).await;
    if header.is_empty() {
        // Some health checks end with a reset.
        return Err(ProxyHeaderError::Nothing);
    }
    read?;
    if header.len() < length { Err(ProxyHeaderError::Truncated) } else { Ok(()) }
}

fn of_v1(header: &[u8]) -> Result<Option<SocketAddr>, ProxyHeaderError> {
    // Whatever follows UNKNOWN is to be ignored; `ppp` counts the words.
    if header.starts_with(b"PROXY UNKNOWN ") {
        return Ok(None);
    }
    Ok(match v1::Header::try_from(header)?.addresses {
        v1::Addresses::Tcp4(it) => Some(SocketAddr::from((it.source_address, it.source_port))),
        v1::Addresses::Tcp6(it) => Some(SocketAddr::from((it.source_address, it.source_port))),
        v1::Addresses::Unknown => None,
    })
}

fn of_v2(header: &[u8]) -> Result<Option<SocketAddr>, ProxyHeaderError> {
    let header = v2::Header::try_from(header)?;
    if header.command == v2::Command::Local || header.protocol != v2::Protocol::Stream {
        return Ok(None);
    }
    Ok(match header.addresses {
        v2::Addresses::IPv4(it) => Some(SocketAddr::from((it.source_address, it.source_port))),
        v2::Addresses::IPv6(it) => Some(SocketAddr::from((it.source_address, it.source_port))),
        v2::Addresses::Unix(_) | v2::Addresses::Unspecified => None,
    })
}

#[cfg(test)]
mod tests;
