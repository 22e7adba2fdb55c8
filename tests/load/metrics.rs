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
    /// CPU of the renderer's calls, in microseconds.
    pub render_micros: u64,
    /// CPU of the plan policy's calls, in microseconds.
    pub plan_micros: u64,
}

/// CPU of the floor's rendering, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FloorCounters {
    pub data: u64,
    pub render: u64,
}

/// Asks for them.
pub async fn read(address: SocketAddr) -> io::Result<Counters> {
    Ok(parse(&text(address).await?))
}

/// The floor's.
pub async fn read_floor(address: SocketAddr) -> io::Result<FloorCounters> {
    let text = text(address).await?;
    Ok(FloorCounters {
        data: value(&text, "floor_data_cpu_nanoseconds_total"),
        render: value(&text, "floor_render_cpu_nanoseconds_total"),
    })
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
    Counters {
        commits: value(text, "waxwing_commit_group_size_count"),
        delivered: value(text, r#"waxwing_deliveries_total{state="delivered"}"#),
        waiting: value(text, "waxwing_queue_length"),
        render_micros: cpu_of_slot(text, "liquid-renderer"),
        plan_micros: cpu_of_slot(text, "plan-policy"),
    }
}

fn value(text: &str, series: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.map_or(0, whole)
}

/// Of all plugins that the slot has had.
fn cpu_of_slot(text: &str, slot: &str) -> u64 {
    let label = format!("slot=\"{slot}\"");
    let series = text.lines().filter_map(|line| {
        let (labels, value) =
            line.strip_prefix("waxwing_plugin_cpu_seconds_total{")?.split_once("} ")?;
        labels.contains(&label).then(|| micros(value))
    });
    series.sum()
}

/// Of seconds with six digits behind the point.
fn micros(value: &str) -> u64 {
    value.replace('.', "").parse().unwrap_or(0)
}

fn whole(value: &str) -> u64 {
    value.split('.').next().and_then(|value| value.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_read_and_absent_ones_are_nothing() {
        let text = "# TYPE x counter\nwaxwing_deliveries_total{state=\"delivered\"} 12\n\
                    waxwing_queue_length 3\n\
                    waxwing_plugin_cpu_seconds_total{slot=\"plan-policy\",plugin=\"a\"} 0.000004\n\
                    waxwing_plugin_cpu_seconds_total{slot=\"plan-policy\",plugin=\"b\"} 1.000005\n";
        let counters =
            Counters { delivered: 12, waiting: 3, plan_micros: 1_000_009, ..Counters::default() };
        assert_eq!(parse(text), counters);
    }
}
