//! What each bound is about, where its value stands, and what happens beyond it.

/// Where a value comes from.
#[derive(Debug, Clone, Copy)]
pub enum Place {
    /// A key of the configuration.
    Key(&'static str),
    /// A constant, by its file.
    Constant(&'static str, &'static str),
}

pub struct Section {
    pub title: &'static str,
    pub rows: &'static [Row],
}

#[derive(Clone, Copy)]
pub struct Row {
    pub what: &'static str,
    pub at: Place,
    /// In place of a default that the key does not have.
    pub otherwise: Option<&'static str>,
    pub beyond: &'static str,
}

/// Keys with a number that bounds nothing.
pub const NO_BOUNDS: [&str; 4] =
    ["delivery.port", "delivery.mta_sts_port", "plugins.sample_every", "credits.low"];

const fn key(key: &'static str, what: &'static str, beyond: &'static str) -> Row {
    Row { what, at: Place::Key(key), otherwise: None, beyond }
}

const fn or(row: Row, otherwise: &'static str) -> Row {
    Row { otherwise: Some(otherwise), ..row }
}

const fn code(
    file: &'static str,
    name: &'static str,
    what: &'static str,
    beyond: &'static str,
) -> Row {
    Row { what, at: Place::Constant(file, name), otherwise: None, beyond }
}

pub const SECTIONS: &[Section] = &[
    Section { title: "HTTP", rows: HTTP },
    Section { title: "One send", rows: SEND },
    Section { title: "SMTP relay", rows: RELAY },
    Section { title: "Bounces and complaints", rows: BOUNCES },
    Section { title: "Accepting and committing", rows: COMMIT },
    Section { title: "Delivery", rows: DELIVERY },
    Section { title: "DNS", rows: DNS },
    Section { title: "Sender domains", rows: DOMAINS },
    Section { title: "Webhooks", rows: WEBHOOKS },
    Section { title: "Plugins", rows: PLUGINS },
    Section { title: "Storage", rows: STORAGE },
    Section { title: "Stop", rows: STOP },
];

const HTTP: &[Row] = &[
    key(
        "limits.connections",
        "connections at one time",
        "503; `/healthz` and `/readyz` are answered",
    ),
    or(
        key(
            "limits.connections_per_ip",
            "connections of one address (each /64 of IPv6)",
            "the same",
        ),
        "half of `limits.connections`",
    ),
    code(
        "server/listeners/overflow.rs",
        "MAX_OVERFLOW",
        "connections beyond the two above that still get one answer",
        "a new one ends the oldest",
    ),
    key(
        "limits.connections",
        "bodies that are arriving; an account gets as many as it leaves free",
        "429",
    ),
    key(
        "limits.header_seconds",
        "time for the headers of a request, and of an idle connection",
        "the connection is closed",
    ),
    key("limits.body_seconds", "time for a body", "408"),
    key(
        "limits.write_seconds",
        "time for a client to take the next part of its answer",
        "the connection is closed",
    ),
    key("limits.body_bytes", "a body", "413"),
    key(
        "limits.body_memory_bytes",
        "memory for all bodies; an account gets as much as it leaves free",
        "waits, then 503",
    ),
    code("api/body.rs", "MEMORY_WAIT", "wait for that memory", "503"),
    code(
        "api/body.rs",
        "MAX_DRAINED_BYTES",
        "what is still read of a refused body, so that its client sees the answer",
        "the connection is closed",
    ),
    key(
        "limits.sends_per_second",
        "sends a second, for each key and for each account",
        "429 with `Retry-After`; over SMTP 452",
    ),
    key("limits.send_burst", "sends at once, for each key and for each account", "the same"),
    key(
        "limits.failed_logins",
        "failed logins of one address, over HTTP and SMTP together; half as many are forgiven each minute",
        "429; over SMTP 421. A valid key still works",
    ),
    key(
        "limits.lists_per_second",
        "pages of lists a second, for each account; twice as many at once",
        "429",
    ),
    code(
        "api/lists.rs",
        "MAX_PARALLEL_PAGES",
        "pages of lists that are read at one time",
        "waits, then 503",
    ),
    code("api/lists.rs", "PAGE_WAIT", "wait for one of them", "503"),
    code("store/database/sqlite.rs", "PAGE_TIME", "time to read a page of a list", "503"),
    code(
        "store/scan_batches.rs",
        "MAX_SCANNED_ROWS",
        "rows that one page of a list looks at",
        "the page ends early; `next` goes on from there",
    ),
    code("api/query.rs", "MAX_PAGE_ITEMS", "items of a page", "a larger `limit` counts as this"),
    code(
        "api/suppressions/parse.rs",
        "MAX_BATCH_ADDRESSES",
        "addresses of one request to the suppression list",
        "400",
    ),
    code(
        "api/readiness.rs",
        "PROBE_TIME",
        "time for the store to answer `/readyz`",
        "503 of `/readyz`",
    ),
    code("server/http.rs", "METRICS_CONNECTIONS", "connections of `http.metrics_listen`", "503"),
    code(
        "server/descriptors.rs",
        "RESERVED_DESCRIPTORS",
        "open files that are kept for other things than connections",
        "the server lowers the connections to what the system allows, and logs it",
    ),
];

const SEND: &[Row] = &[
    code("api/batch.rs", "MAX_BATCH_MESSAGES", "messages of a batch", "400"),
    code(
        "journey/accept/batches.rs",
        "BATCHED_MESSAGES",
        "messages of batches that are decided at one time; an account gets as many as it leaves free",
        "waits, then 503",
    ),
    code("journey/accept/batches.rs", "BATCH_WAIT", "wait for a place among them", "503"),
    code("journey/accept/submission.rs", "MAX_TAGS", "tags of a message", "400"),
    code("journey/accept/submission.rs", "MAX_TAG", "characters of a tag", "400"),
    code("journey/accept/submission.rs", "MAX_METADATA", "entries of `metadata`", "400"),
    code(
        "journey/accept/submission.rs",
        "MAX_METADATA_VALUE",
        "characters of one of its values",
        "400",
    ),
    code("journey/accept/submission.rs", "MAX_HEADERS", "further headers", "400"),
    code(
        "journey/accept/submission.rs",
        "MAX_HEADER_VALUE",
        "characters of a header's value",
        "400",
    ),
    code(
        "journey/accept/submission.rs",
        "MAX_SEND_AT_AHEAD",
        "how far ahead `sendAt` may be",
        "400",
    ),
    code("journey/accept/submission/attachments.rs", "MAX_ATTACHMENTS", "attachments", "400"),
    code(
        "journey/accept/submission/attachments.rs",
        "MAX_BYTES",
        "attachments of a message together, decoded",
        "400",
    ),
    code(
        "journey/commit/decide.rs",
        "ANSWERS_KEPT",
        "how long the answer to an idempotency key is kept",
        "the key makes a new message",
    ),
    code(
        "journey/accept/refusal.rs",
        "MAX_FAULTS",
        "faults that a refusal names one by one",
        "one more line says how many others there are",
    ),
    code(
        "journey/accept/abort.rs",
        "STALE_RETRIES",
        "how long a send is decided again while accounts, keys, domains or templates change",
        "503",
    ),
];

const RELAY: &[Row] = &[
    key(
        "smtp.connections",
        "connections at one time, over all of the relay's listeners",
        "421 on connecting",
    ),
    key(
        "smtp.connections_per_ip",
        "connections of one address (each /64 of IPv6)",
        "421 on connecting",
    ),
    key("smtp.login_seconds", "time from the connection to a login", "421"),
    key("smtp.idle_seconds", "silence", "421"),
    key("smtp.data_seconds", "time for a message", "421"),
    key("smtp.message_bytes", "a message", "552; far beyond it 421"),
    key("smtp.recipients", "recipients of a message", "452 for each further one"),
    key(
        "smtp.memory_bytes",
        "memory for messages that arrive, over all sessions; accounts share it fairly",
        "452",
    ),
    code("crates/smtp/src/server/line.rs", "MAX_LINE_OCTETS", "a command line", "500"),
    code(
        "crates/smtp/src/server/line.rs",
        "MAX_DISCARDED_OCTETS",
        "a command line without an end",
        "421",
    ),
    code("crates/smtp/src/server/dialog.rs", "MAX_ERRORS", "errors of a session", "421"),
    code(
        "crates/smtp/src/server/dialog.rs",
        "MAX_FAILED_LOGINS",
        "failed logins of a session",
        "421",
    ),
    code("crates/mail/src/field.rs", "MAX_HEADER", "the header of a message", "554"),
    code("crates/mail/src/field.rs", "MAX_FIELDS", "fields of a header", "554"),
    code("mail/raw.rs", "MAX_RECEIVED", "Received fields: a message that goes in circles", "554"),
    code(
        "server/smtp.rs",
        "MAX_PENDING_HEADERS",
        "connections of a port whose PROXY header is still to come",
        "the connection is closed",
    ),
    code(
        "server/smtp/proxy.rs",
        "MAX_WAIT",
        "time for a PROXY header",
        "the connection is closed; the log says why",
    ),
];

const BOUNCES: &[Row] = &[
    key("bounces.connections", "connections at one time", "421 on connecting"),
    key(
        "bounces.connections_per_ip",
        "connections of one address (each /64 of IPv6)",
        "421 on connecting",
    ),
    key("bounces.message_bytes", "a report", "552"),
    code("relay/bounces/dialog/command.rs", "MAX_RECIPIENTS", "recipients of a report", "452"),
    code(
        "relay/bounces/dialog.rs",
        "MAX_ERRORS",
        "errors of a session, and recipients that do not exist",
        "421",
    ),
    code(
        "crates/mail/src/report/dsn.rs",
        "MAX_RECIPIENTS",
        "recipients that are read from one delivery status notification",
        "the others are not read",
    ),
    code(
        "mail/dkim/verify.rs",
        "MAX_SIGNATURES",
        "signatures of a report that are verified",
        "the others are not looked at",
    ),
    key(
        "bounces.suppress_days",
        "how long a dead address is suppressed; 0 for ever",
        "messages to it are sent again",
    ),
    key(
        "bounces.complaint_days",
        "how long the address of somebody who complained is suppressed; 0 for ever",
        "messages to it are sent again",
    ),
];

const COMMIT: &[Row] = &[
    code(
        "journey/commit/batch/turns.rs",
        "MAX_MESSAGES_PER_COMMIT",
        "messages of one transaction (one more for each 16 KiB), unless it is one batch",
        "the next transaction takes them",
    ),
    code(
        "journey/commit/batch/turns.rs",
        "QUANTUM",
        "messages that one account puts into a transaction before the next account's turn",
        "its next turn takes them",
    ),
    code(
        "journey/commit/batch.rs",
        "MAX_QUEUED_JOBS",
        "requests that may arrive while a transaction is written",
        "further ones wait",
    ),
    code(
        "journey/commit/batch.rs",
        "MAX_WAITING_REFUSALS",
        "refusals that wait to be recorded",
        "dropped and counted (`waxwing_refusal_records_dropped_total`)",
    ),
    code(
        "journey/commit/batch.rs",
        "MAX_WAITING_SAMPLES",
        "recorded calls of plugins that wait to be written",
        "dropped and counted (`waxwing_plugin_samples_dropped_total`)",
    ),
    code(
        "store/database/inline.rs",
        "LOCK_WAIT",
        "wait for another process that writes to the database",
        "503, over SMTP 451",
    ),
    code(
        "store/facts.rs",
        "MAX_CACHED_FACTS",
        "keys, and as many accounts and domains, that are cached",
        "the least used is read again",
    ),
    code(
        "store/facts.rs",
        "MAX_CACHED_TEMPLATES",
        "templates that are cached",
        "the least used is read again",
    ),
];

const DELIVERY: &[Row] = &[
    key("delivery.concurrent", "attempts at one time", "messages wait in the queue"),
    key(
        "delivery.memory_bytes",
        "memory for messages that are being sent",
        "large ones wait in the queue; small ones pass them",
    ),
    key("delivery.connections", "connections to one destination", "messages wait in the queue"),
    key(
        "delivery.messages_per_connection",
        "messages over one connection",
        "it is closed, and a new one opened",
    ),
    or(
        key(
            "delivery.messages_per_minute",
            "messages a minute to one destination",
            "messages wait in the queue",
        ),
        "no bound",
    ),
    code(
        "delivery/attempt.rs",
        "CONVERSATION_TIME",
        "time that an attempt talks to hosts",
        "`deferred`",
    ),
    code(
        "delivery/attempt.rs",
        "ATTEMPT_TIME",
        "an attempt, whatever it does",
        "it is ended; `deferred`",
    ),
    code(
        "delivery/attempt.rs",
        "MAX_ADDRESSES_PER_HOST",
        "addresses of one host that an attempt tries",
        "the next host",
    ),
    code(
        "delivery/routing/mx.rs",
        "MAX_HOSTS",
        "mail exchangers of a domain",
        "the least preferred are not used",
    ),
    code(
        "crates/smtp/src/client/reader.rs",
        "MAX_OCTETS",
        "one reply of another server",
        "the connection is closed: the next host, or `deferred`",
    ),
    code(
        "crates/smtp/src/client/reader.rs",
        "MAX_LINES",
        "lines of one reply",
        "the connection is closed: the next host, or `deferred`",
    ),
    code(
        "delivery/queue/settlements.rs",
        "LEASE",
        "how long a worker holds a message",
        "another worker may take it",
    ),
    code(
        "delivery/queue/retry_schedule.rs",
        "GIVE_UP_AFTER",
        "how long a message is retried",
        "`failed`; refunded unless it may have arrived",
    ),
    code(
        "delivery/queue/retry_schedule.rs",
        "GIVE_UP_UNTRIED_AFTER",
        "how long a message waits whose destination could not be reached",
        "the same",
    ),
    code(
        "delivery/shaping/backoff.rs",
        "MAX_BACKOFF",
        "a back-off from hosts",
        "a probe decides whether it goes on",
    ),
    code(
        "delivery/shaping/backoff.rs",
        "MAX_ACCOUNT_BACKOFF",
        "a back-off of one account from hosts",
        "a probe decides whether it goes on",
    ),
    code(
        "delivery/shaping/destination.rs",
        "MAX_LARGE_MESSAGES",
        "large messages to one destination at one time",
        "they wait in the queue",
    ),
    code(
        "delivery/shaping/destination.rs",
        "MAX_IDLE",
        "how long an idle connection is kept",
        "it is closed",
    ),
    code(
        "delivery/shaping/requeue.rs",
        "MAX_REQUEUE",
        "waiting messages that become due at once after a recovery",
        "the others follow with the next success",
    ),
    code(
        "delivery/shaping/unresolved_domains.rs",
        "MAX_DOMAINS",
        "unresolved domains that are looked up again in the background",
        "their messages are retried by their schedule",
    ),
    code(
        "delivery/queue/lanes.rs",
        "MAX_KNOWN",
        "lanes of the queue that are kept in memory",
        "the sweep finds the others later",
    ),
    code(
        "delivery/routing/mx/sts_fetch.rs",
        "BYTES",
        "an MTA-STS policy",
        "it counts as one that could not be fetched",
    ),
    code(
        "server/inbox.rs",
        "MAX_SESSIONS",
        "sessions of the sandbox inbox",
        "clients wait for their greeting",
    ),
    code("inbox/smtp/session.rs", "MAX_MESSAGE", "a message of the sandbox inbox", "552"),
];

const DNS: &[Row] = &[
    key(
        "dns.timeout_ms",
        "time of one name server for one answer",
        "the next server, or the next round",
    ),
    key("dns.tries", "how often all servers are asked", "the lookup has failed"),
    key("dns.concurrent", "lookups at one time, of checks of sender domains", "further ones wait"),
    key(
        "dns.queries_per_second",
        "queries a second, of checks of sender domains",
        "further ones wait",
    ),
    key("dns.delivery_queries_per_second", "queries a second, of deliveries", "further ones wait"),
    code(
        "server/delivery.rs",
        "MAX_PARALLEL_LOOKUPS",
        "lookups at one time, of deliveries",
        "messages wait in the queue",
    ),
    code("dns/chain.rs", "MAX_ALIASES", "CNAMEs that are followed", "the lookup has failed"),
    code(
        "dns/chain.rs",
        "MAX_ANSWERS",
        "answers of one lookup that are kept",
        "the others are dropped",
    ),
    code("dns/chain.rs", "MAX_ANSWER_BYTES", "bytes of their data", "the others are dropped"),
];

const DOMAINS: &[Row] = &[
    key("domains.per_account", "domains of one account", "403"),
    key("domains.concurrent_checks", "checks at one time", "further ones wait"),
    code(
        "upkeep/verify_domains/account_permits.rs",
        "MAX_PARALLEL_CHECKS",
        "additions and checks that an account may have under way",
        "429",
    ),
    code(
        "upkeep/verify_domains/sweep.rs",
        "MAX_CHECK_TIME",
        "a check",
        "it is ended and made again",
    ),
    code(
        "upkeep/verify_domains/lookups.rs",
        "MAX_LOOKUP_TIME",
        "the lookups of a check together",
        "what is missing was not seen",
    ),
    code(
        "upkeep/verify_domains/evaluate.rs",
        "MAX_RECORDS",
        "records that a policy may require",
        "the policy has failed; the domain stays as it is",
    ),
    code(
        "upkeep/verify_domains/evaluate.rs",
        "MAX_ROUNDS",
        "rounds of further lookups",
        "the policy has failed; the domain stays as it is",
    ),
    code(
        "upkeep/verify_domains/evaluate.rs",
        "MAX_NAMES",
        "names of those rounds together",
        "the policy has failed; the domain stays as it is",
    ),
    code(
        "upkeep/verify_domains/rotate.rs",
        "MAX_RETIRED_KEYS",
        "retired DKIM keys of a domain",
        "409 for a rotation",
    ),
    key("domains.first_check_s", "the shortest pause between two checks", "the next check is due"),
    key("domains.check_every_s", "the longest pause between two checks", "a check is due"),
    key(
        "domains.grace_s",
        "how long a verified domain that fails goes on sending",
        "403 `DOMAIN_NOT_VERIFIED`; `domain.degraded`",
    ),
    key(
        "domains.give_up_s",
        "how long a domain that does not send is looked at",
        "`domain.failed`; checked on demand only",
    ),
];

const WEBHOOKS: &[Row] = &[
    key("webhooks.per_account", "webhooks of one account", "403"),
    key(
        "webhooks.concurrent",
        "requests at one time; failing and slow endpoints share a quarter",
        "deliveries wait",
    ),
    key(
        "webhooks.concurrent_per_webhook",
        "requests at one time to one webhook",
        "deliveries wait",
    ),
    code(
        "webhooks/sender/slots.rs",
        "MAX_UNPROVEN",
        "requests at one time to a webhook that fails, is slow or has no record yet",
        "deliveries wait",
    ),
    key("webhooks.timeout_s", "time of an endpoint to answer", "the attempt has failed"),
    code("webhooks/post.rs", "MAX_READ", "bytes of an answer that are read", "the rest is dropped"),
    code(
        "webhooks/schedule.rs",
        "MAX_RETRY_AFTER",
        "a `Retry-After` that is honoured",
        "it counts as this",
    ),
    key(
        "webhooks.disable_after_s",
        "how long a webhook may take nothing",
        "it is disabled; `webhook.disabled`",
    ),
    key(
        "webhooks.kept_days",
        "how long deliveries are kept",
        "they are deleted, and cannot be replayed",
    ),
    code("webhooks/manage.rs", "MAX_TYPES", "types of events that a webhook names", "400"),
    code("webhooks/guard.rs", "MAX_URL_CHARS", "characters of a URL", "400"),
    code(
        "webhooks/manage.rs",
        "MAX_PARALLEL_TESTS_OF_OWNER",
        "tests of one account at one time",
        "429",
    ),
];

const PLUGINS: &[Row] = &[
    or(
        key(
            "plugins.limits",
            "time, memory and output of one call, by kind",
            "503, or 400 where the data of the send is to blame; over SMTP 451 or 554",
        ),
        "[by kind](CONFIGURATION.md#pluginslimitsrenderer-pluginslimitsplan-pluginslimitsdomain)",
    ),
    code(
        "plugin/runtime/pool.rs",
        "MAX_PARALLEL_CALLS",
        "calls of one plugin at one time",
        "further ones wait",
    ),
    code(
        "plugin/runtime/engine.rs",
        "INSTANCES",
        "instances of all plugins together",
        "503, over SMTP 451",
    ),
    key("plugins.max_component_bytes", "a component", "rejected; the active version stays"),
    key(
        "plugins.compile_memory_bytes",
        "memory of one compilation",
        "rejected; the active version stays",
    ),
    key(
        "plugins.compile_seconds",
        "CPU time of one compilation",
        "rejected; the active version stays",
    ),
    code(
        "plugin/runtime/compiler.rs",
        "MAX_AT_ONE_TIME",
        "compilations at one time",
        "further ones wait",
    ),
    code("plugin/runtime/sandbox.rs", "LOG_LINES", "lines that one call logs", "dropped"),
    code(
        "plugin/runtime/log.rs",
        "MAX_LINES_PER_SECOND",
        "lines a second of one slot",
        "dropped and counted (`waxwing_plugin_log_dropped_total`)",
    ),
    code(
        "plugin/runtime/guest_metrics.rs",
        "MAX_SERIES",
        "series that a slot counts",
        "dropped and counted (`waxwing_plugin_count_dropped_total`)",
    ),
    code(
        "plugin/slots/rollback.rs",
        "TRAPS_TO_ROLL_BACK",
        "traps in a minute, on three inputs, of 2 % of the calls",
        "rolled back",
    ),
    code(
        "plugin/promotion/shadow.rs",
        "MAX_WAITING_CALLS",
        "calls that wait for a plugin in the shadow",
        "dropped and counted",
    ),
    code(
        "plugin/slots/start.rs",
        "MAX_WAITING_ORDERS",
        "orders that wait for the plugin manager",
        "the request waits",
    ),
    key("plugins.samples_kept", "recorded calls of each slot", "the oldest are deleted"),
    key("plugins.sample_days", "how long a recorded call is kept", "deleted"),
    key(
        "plugins.impact_calls",
        "recorded calls that a new plugin is compared on",
        "the others are not compared",
    ),
];

const STORAGE: &[Row] = &[
    key("retention.content_days", "how long content and conversations are kept", "deleted"),
    key(
        "retention.message_days",
        "how long a message is kept",
        "deleted, with its events, attempts and decisions; the ledger stays",
    ),
    code("upkeep/retention.rs", "WEEK", "how long decisions of refusals are kept", "deleted"),
    code(
        "upkeep/retention/pass.rs",
        "COUNTS_KEPT",
        "how long counts by hour and day are kept",
        "deleted",
    ),
];

const STOP: &[Row] = &[
    code(
        "server/listeners.rs",
        "REQUEST_DRAIN",
        "requests under way",
        "their connections are closed",
    ),
    code(
        "server/listeners.rs",
        "IDLE_DRAIN",
        "a client that sends no end of its request or does not read its answer",
        "its connection is closed",
    ),
    code(
        "server/smtp.rs",
        "DRAIN",
        "SMTP sessions",
        "their connections are closed; a message without a reply was not accepted",
    ),
    code(
        "server/start.rs",
        "DELIVERY_DRAIN",
        "deliveries under way",
        "they are ended; what may have arrived is sent again, with the same Message-ID",
    ),
    code(
        "webhooks/sender.rs",
        "SHUTDOWN_GRACE",
        "posts to webhooks",
        "they are ended, and made again after the start",
    ),
];
