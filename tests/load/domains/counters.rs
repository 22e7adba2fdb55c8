//! What the server counts of its checks, from `/metrics`.

use std::io;
use std::net::SocketAddr;

use crate::metrics;

/// Since the server's start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Checks that were written down.
    pub checks: u64,
    /// Queries that no answer came to.
    pub timed_out: u64,
}

/// Asks for them.
pub async fn read(address: SocketAddr) -> io::Result<Counters> {
    Ok(parse(&metrics::text(address).await?))
}

fn parse(text: &str) -> Counters {
    let sum = |series: &str| {
        let lines = text.lines().filter(|line| line.starts_with(series));
        lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok()).sum()
    };
    Counters {
        checks: sum("waxwing_domain_checks_total{"),
        timed_out: sum(r#"waxwing_dns_queries_total{outcome="timed-out"}"#),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_of_every_result_are_counted() {
        let text = "# TYPE waxwing_domain_checks_total counter\n\
                    waxwing_domain_checks_total{result=\"clear\"} 12\n\
                    waxwing_domain_checks_total{result=\"unclear\"} 3\n\
                    waxwing_dns_queries_total{outcome=\"timed-out\"} 2\n\
                    waxwing_dns_queries_total{outcome=\"noerror\"} 70\n";
        assert_eq!(parse(text), Counters { checks: 15, timed_out: 2 });
    }
}
