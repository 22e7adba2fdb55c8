//! `waxwing top`: the running server live in a terminal. It reads what Prometheus reads, twice, and shows the difference.

mod sample;

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _};
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use super::error::CliError;
use super::output::{is_gone, say, text};
use super::plugin::{Connection, OnlineError, OnlineServer};
use sample::{Sample, Span};

/// Destinations and plugins that fit a screen.
const ROWS: usize = 10;
/// From how many destinations the longest queues are chosen.
const DESTINATIONS: u32 = 500;
/// The histogram of the steps.
const STEP: &str = "waxwing_step_seconds";
const STEPS: [&str; 6] = ["accept", "policy", "render", "commit", "deliver", "event"];

/// Watch the running server: rates, the time of each step, the queue by destination, plugins
#[derive(Debug, Args)]
pub struct Top {
    /// Seconds between two looks
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=60))]
    every: u64,
    /// Look this many times and end; without it, until Ctrl-C
    #[arg(long)]
    times: Option<u32>,
    #[command(flatten)]
    server: OnlineServer,
}

/// Shows the figures of the server until the user ends it, and goes on when the server was restarted.
pub async fn run(top: Top) -> Result<(), CliError> {
    let mut connection = top.server.connect()?;
    let mut before = Some(metrics(&connection).await?);
    let mut shown = 0;
    while !is_gone() && top.times.is_none_or(|times| shown < times) {
        tokio::time::sleep(Duration::from_secs(top.every)).await;
        let seen = match (look(&connection).await, before.take()) {
            (Ok((now, queue)), Some(earlier)) => {
                let seen = seen(&Span::between(&earlier, &now), &queue);
                before = Some(now);
                seen
            }
            // Rates begin anew with a server that answers again.
            (Ok((now, _)), None) => {
                before = Some(now);
                continue;
            }
            (Err(error), _) => {
                // A server that was started again has another secret, and may have another address.
                if let Ok(again) = top.server.connect() {
                    connection = again;
                }
                json!({"error": error.to_string()})
            }
        };
        if top.server.output.is_json() {
            say(seen);
        } else {
            let clear = if io::stdout().is_terminal() { "\x1b[H\x1b[2J" } else { "" };
            say(format!("{clear}{}", screen(&seen, top.every)));
        }
        shown += 1;
    }
    Ok(())
}

async fn metrics(connection: &Connection) -> Result<Sample, OnlineError> {
    let shown = connection.bytes("/v1/metrics").await?;
    Ok(Sample::read(&String::from_utf8_lossy(&shown)))
}

/// The metrics, and the destinations with the longest queues.
async fn look(connection: &Connection) -> Result<(Sample, Vec<Value>), OnlineError> {
    let now = metrics(connection).await?;
    let mut queue = connection.items("/v1/queue", &[], DESTINATIONS, None).await?;
    queue.sort_by_key(|it| std::cmp::Reverse(it["messages"].as_u64()));
    queue.truncate(ROWS);
    Ok((now, queue))
}

/// What has happened between two looks.
fn seen(span: &Span<'_>, queue: &[Value]) -> Value {
    let steps = STEPS.map(|step| {
        let [half, most] = [50, 99].map(|of_100| span.within(STEP, step, of_100));
        json!({
            "step": step, "perSecond": span.rate(&format!("{STEP}_count"), &[("step", step)]),
            "p50Seconds": half, "p99Seconds": most,
        })
    });
    let by = |metric: &str, label: &str| -> Value {
        span.labels(metric, label)
            .map(|it| (it.to_owned(), json!(span.rate(metric, &[(label, it)]))))
            .collect()
    };
    let plugins: Vec<Value> = span
        .labels("waxwing_plugin_calls_total", "slot")
        .take(ROWS)
        .map(|slot| {
            let cpu = span.rate("waxwing_plugin_cpu_seconds_total", &[("slot", slot)]);
            let calls = span.rate("waxwing_plugin_calls_total", &[("slot", slot)]);
            let outcomes = span.labels("waxwing_plugin_calls_total", "outcome");
            let failing = outcomes.filter(|it| *it != "ok").map(|outcome| {
                span.rate("waxwing_plugin_calls_total", &[("slot", slot), ("outcome", outcome)])
            });
            json!({
                "slot": slot, "callsPerSecond": calls, "failingPerSecond": sample::total(failing),
                "cpuMicrosecondsPerCall": sample::ratio(cpu, calls).map(sample::microseconds),
            })
        })
        .collect();
    json!({
        "refusedPerSecond": by("waxwing_refusals_total", "code"),
        "attemptsPerSecond": by("waxwing_deliveries_total", "state"),
        "waiting": span.now("waxwing_queue_length"),
        "oldestDueSeconds": span.now("waxwing_queue_oldest_due_seconds"),
        "httpConnections": span.now("waxwing_http_connections"),
        "smtpConnections": span.now("waxwing_smtp_connections"),
        "steps": steps, "plugins": plugins, "queue": queue,
    })
}

fn screen(seen: &Value, every: u64) -> String {
    if let Some(error) = seen["error"].as_str() {
        return format!(
            "The server does not answer: {error}\nTried again every {every} s. Ctrl-C ends.\n"
        );
    }
    let mut lines = String::new();
    let number =
        |value: &Value| value.as_f64().map_or_else(|| "-".to_owned(), |it| format!("{it:.1}"));
    let rates = |rates: &Value| {
        let rates = rates.as_object().into_iter().flatten();
        let named: Vec<String> =
            rates.map(|(name, rate)| format!("{name} {}", number(rate))).collect();
        if named.is_empty() { "none yet".to_owned() } else { named.join(", ") }
    };
    let count =
        |value: &Value| value.as_f64().map_or_else(|| "-".to_owned(), |it| format!("{it:.0}"));
    let oldest = number(&seen["oldestDueSeconds"]);
    let [waiting, http, smtp] =
        ["waiting", "httpConnections", "smtpConnections"].map(|it| count(&seen[it]));
    let mut line = |text: String| {
        let _infallible = writeln!(lines, "{text}");
    };
    line(format!("Rates are per second, over the last {every} s. Ctrl-C ends.\n"));
    line(format!("attempts     {}", rates(&seen["attemptsPerSecond"])));
    line(format!("refused      {}", rates(&seen["refusedPerSecond"])));
    line(format!("queue        {waiting} messages wait; the oldest has been due for {oldest} s"));
    line(format!("connections  {http} of HTTP, {smtp} of SMTP\n"));
    line(format!("{:<24}{:>10}{:>14}{:>14}", "step", "rate", "half within", "99 % within"));
    for step in seen["steps"].as_array().into_iter().flatten() {
        let [half, most] = ["p50Seconds", "p99Seconds"].map(|it| time(&step[it]));
        let (name, rate) = (text(step, "step"), number(&step["perSecond"]));
        line(format!("{name:<24}{rate:>10}{half:>14}{most:>14}"));
    }
    line(format!("\n{:<24}{:>10}{:>14}{:>14}", "plugin", "calls", "CPU a call", "failing"));
    for plugin in seen["plugins"].as_array().into_iter().flatten() {
        let [calls, cpu, failing] =
            ["callsPerSecond", "cpuMicrosecondsPerCall", "failingPerSecond"]
                .map(|it| number(&plugin[it]));
        line(format!(
            "{:<24}{calls:>10}{:>14}{failing:>14}",
            text(plugin, "slot"),
            format!("{cpu} µs")
        ));
    }
    line(format!("\n{:<24}{:>10}  why", "destination", "waiting"));
    let queue = seen["queue"].as_array().map(Vec::as_slice).unwrap_or_default();
    if queue.is_empty() {
        line("nothing waits".to_owned());
    }
    for destination in queue {
        let more = if destination["hasMore"] == true { "+" } else { "" };
        let [domain, messages, why] =
            ["domain", "messages", "explanation"].map(|it| text(destination, it));
        line(format!("{domain:<24}{:>10}  {why}", format!("{messages}{more}")));
    }
    lines
}

/// A bound of a histogram, as a time.
fn time(seconds: &Value) -> String {
    match seconds.as_f64() {
        None => "-".to_owned(),
        Some(it) if it < 1.0 => format!("{} ms", sample::milliseconds(it)),
        Some(it) => format!("{it} s"),
    }
}
