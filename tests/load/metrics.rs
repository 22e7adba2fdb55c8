//! What the server counts itself, from `/metrics`.

use std::io;
use std::net::SocketAddr;

use crate::client::Connection;

/// Counters since the server's start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Transactions that stored sends.
    pub commits: u64,
    /// Messages that were delivered.
    pub delivered: u64,
    /// Messages that wait.
    pub waiting: u64,
}

/// Asks for them.
pub async fn read(address: SocketAddr) -> io::Result<Counters> {
    Ok(parse(&text(address).await?))
}

/// What `/metrics` says.
pub async fn text(address: SocketAddr) -> io::Result<String> {
    let mut connection = Connection::open(address).await?;
    let answer = connection.exchange(b"GET /metrics HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n").await?;
    if answer.status != 200 {
        return Err(io::Error::other(format!("/metrics answers {}", answer.status)));
    }
    Ok(String::from_utf8_lossy(answer.body).into_owned())
}

fn parse(text: &str) -> Counters {
    let value = |series: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        line.and_then(|value| value.split('.').next()?.parse().ok()).unwrap_or(0)
    };
    Counters {
        commits: value("waxwing_commit_group_size_count"),
        delivered: value(r#"waxwing_deliveries_total{state="delivered"}"#),
        waiting: value("waxwing_queue_length"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_read_and_absent_ones_are_nothing() {
        let text = "# TYPE x counter\nwaxwing_deliveries_total{state=\"delivered\"} 12\n\
                    waxwing_queue_length 3\n";
        let counters = Counters { commits: 0, delivered: 12, waiting: 3 };
        assert_eq!(parse(text), counters);
    }
}
