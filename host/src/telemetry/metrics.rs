//! Prometheus metrics, served by the API at `/metrics`.

use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

/// Seconds, from a warm plugin call to a stuck delivery.
const SECONDS: [f64; 14] =
    [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];
const GROUP: [f64; 9] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

/// Starts collecting.
///
/// # Errors
/// This process collects already.
pub fn start() -> Result<PrometheusHandle, BuildError> {
    let handle = PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)?
        .set_buckets_for_metric(Matcher::Full("waxwing_commit_group_size".to_owned()), &GROUP)?
        .install_recorder()?;
    describe();
    Ok(handle)
}

fn describe() {
    use metrics::{describe_counter, describe_gauge, describe_histogram};
    describe_histogram!("waxwing_step_seconds", "Time of one step of a message's journey");
    describe_histogram!("waxwing_http_seconds", "Time from a request's headers to its answer");
    describe_histogram!("waxwing_commit_group_size", "Requests in one transaction");
    describe_counter!("waxwing_http_requests_total", "Requests by route and status");
    describe_counter!("waxwing_refusals_total", "Refusals by code");
    describe_counter!("waxwing_deliveries_total", "Delivery attempts by the state they led to");
    describe_counter!("waxwing_plugin_failures_total", "Calls in which a plugin failed closed");
    describe_gauge!("waxwing_http_connections", "HTTP connections now");
    describe_counter!(
        "waxwing_http_connections_refused_total",
        "HTTP connections refused, by the bound that was reached"
    );
    describe_gauge!("waxwing_smtp_connections", "SMTP connections now");
    describe_counter!(
        "waxwing_smtp_connections_refused_total",
        "SMTP connections refused, by the bound that was reached, or for their PROXY header"
    );
    describe_counter!("waxwing_smtp_logins_total", "Logins over SMTP; failed ones are refusals");
    describe_counter!("waxwing_smtp_handshakes_failed_total", "TLS handshakes that failed");
    describe_counter!(
        "waxwing_smtp_out_of_memory_total",
        "Messages refused because smtp.memory_bytes was used up"
    );
    describe_gauge!(
        "waxwing_tls_certificate_expires_seconds",
        "When the live TLS certificate ends, Unix time"
    );
    describe_counter!("waxwing_dns_queries_total", "DNS queries by outcome");
    describe_counter!("waxwing_domain_checks_total", "Checks of sender domains by result");
    describe_gauge!("waxwing_queue_length", "Messages that wait for an attempt or a moment");
    describe_gauge!(
        "waxwing_queue_oldest_due_seconds",
        "For how long the longest waiting message has been due; 0 when nothing is due"
    );
    describe_gauge!("waxwing_database_bytes", "Bytes of the database without its write-ahead log");
    describe_gauge!(
        "waxwing_database_free_bytes",
        "Bytes of the database that are free to use again"
    );
    describe_counter!("waxwing_dropped_total", "What retention has dropped, by what it was");
}
