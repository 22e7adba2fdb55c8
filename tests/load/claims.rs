//! `waxwing-load claims`: how many messages workers lease in a second from a very long queue on PostgreSQL, in turn with
//! short queues, and by which plans. `pgbench` runs the statements of the store that find, lease and correct; what a lease
//! also writes of the message and its event is not in it.

mod plan;

use std::io;

use serde_json::{Value, json};

use crate::args::ClaimsArgs;
use crate::figures;
use crate::nodes::OnPostgres;
use crate::postgres::{Bench, Database, filled};
use crate::server::Installation;
use crate::waxwing::binary;

const LANES: &str = include_str!("claims/lanes.sql");
const DUE: &str = include_str!("claims/due.sql");
const LEASE: &str = include_str!("claims/lease.sql");
const CLAIM: &str = include_str!("claims/claim.sql");
/// Messages of one lease, and the lanes that they are of, as a round of the server has them.
const MAX_LEASES: u32 = 64;
const MAX_LANES: u32 = 16;
/// Messages that are due, one for each domain after the other; nothing of them but what the queue has.
const FILL: &str = "
    TRUNCATE queue, lanes;
    DELETE FROM totals WHERE name = 'queue' AND part <> 0;
    UPDATE totals SET value = 0 WHERE name = 'queue';
    INSERT INTO queue (message_id, account_id, lane, due_at, octets)
        SELECT decode(lpad(to_hex({now} - 60000), 12, '0') || lpad(to_hex(i), 20, '0'), 'hex'), a.id,
               'd' || i % {domains} || '.example', {now} - 60000 + i % 50000, 8192
        FROM generate_series(CAST(1 AS BIGINT), {messages}) AS i, (SELECT id FROM accounts ORDER BY id LIMIT 1) AS a";
const NOW: &str = "CAST(floor(extract(epoch FROM now()) * 1000) AS BIGINT)";
const LEASED: &str = "SELECT count(*) FROM queue WHERE lease_owner IS NOT NULL";

/// How fast one queue was leased.
struct Step {
    workers: u32,
    leases: u64,
    leases_per_second: u64,
    database_nanos: u64,
}

/// Measures what the arguments ask for.
pub async fn measure(args: &ClaimsArgs) -> io::Result<Value> {
    let database = Database::start(&args.setup)?;
    make_tables(args, &database).await?;
    let short_domains = u64::from(args.domains) * u64::from(args.short) / u64::from(args.messages);
    let short_domains = u32::try_from(short_domains.max(1)).map_err(io::Error::other)?;
    let short = async || queue(args, &database, (args.short, short_domains)).await;
    let before = short().await?;
    let long = queue(args, &database, (args.messages, args.domains)).await?;
    fill(&database, (args.messages, args.domains)).await?;
    let plans = plan::explain(&database).await?;
    let after = short().await?;
    let ratios = long.iter().zip(before.iter().zip(&after)).map(|(long, (before, after))| {
        let short = u64::midpoint(before.leases_per_second, after.leases_per_second);
        let ratio = figures::ratio(long.leases_per_second, short);
        json!({"workers": long.workers, "leasesPerSecond": ratio})
    });
    let all = |steps: &[Step]| steps.iter().map(Step::to_json).collect::<Vec<_>>();
    Ok(json!({
        "protocol": "claims",
        "messages": args.messages,
        "domains": args.domains,
        "shortMessages": args.short,
        "postgres": database.settings().await?,
        "long": all(&long),
        "shortBefore": all(&before),
        "shortAfter": all(&after),
        "ratios": ratios.collect::<Vec<_>>(),
        "plans": plans,
    }))
}

/// A first start makes the tables, and an account.
async fn make_tables(args: &ClaimsArgs, database: &Database) -> io::Result<()> {
    let (binary, data) = (binary(&args.setup).await?, args.setup.work_dir()?);
    let settings = OnPostgres::new(&args.setup, database, 1);
    let installation = Installation { binary: &binary, data: data.path() };
    installation.start(&settings).await?.stop().await
}

/// Leases messages of one queue, with each number of workers.
async fn queue(
    args: &ClaimsArgs,
    database: &Database,
    (messages, domains): (u32, u32),
) -> io::Result<Vec<Step>> {
    let mut steps = Vec::new();
    for &workers in &args.workers {
        fill(database, (messages, domains)).await?;
        let transactions = (args.claims / workers).max(1);
        let script = claim(workers);
        let bench = Bench { script: &script, clients: workers, transactions };
        let benched = database.bench(&bench).await?;
        let count = database.ask(LEASED).await?;
        let leases: u64 = count.parse().map_err(io::Error::other)?;
        if leases == 0 {
            return Err(io::Error::other("nothing was leased"));
        }
        let transactions_of_all = u64::from(workers) * u64::from(transactions);
        steps.push(Step {
            workers,
            leases,
            leases_per_second: leases * benched.transactions_in_1000_s
                / (1_000 * transactions_of_all),
            database_nanos: figures::share(benched.cpu, leases),
        });
    }
    Ok(steps)
}

async fn fill(database: &Database, (messages, domains): (u32, u32)) -> io::Result<()> {
    let (messages, domains) = (messages.to_string(), domains.to_string());
    let values = [("now", NOW), ("messages", &*messages), ("domains", &*domains)];
    database.ask(&filled(FILL, &values)).await?;
    database.ask("VACUUM ANALYZE queue, lanes").await.map(|_| ())
}

/// What one worker of so many does, in the language of `pgbench`. Each has lanes of its own, as nodes have shares.
fn claim(workers: u32) -> String {
    let own = format!("\n  AND (hashtext(lane) & 2147483647) % {workers} = :client_id");
    let all_starts = "json_array_elements(CAST(CAST(:starts AS TEXT) AS JSON)) AS l (value)";
    let lanes_of_a_claim = MAX_LANES.to_string();
    let each = (MAX_LEASES / MAX_LANES).to_string();
    let values = [
        ("lanes", LANES.trim_end()),
        ("due", DUE.trim_end()),
        ("lease", LEASE.trim_end()),
        ("own", own.as_str()),
        ("all_starts", all_starts),
        ("starts", ":starts"),
        ("ids", "CAST(:ids AS BYTEA[])"),
        ("owner", "'node-' || CAST(:client_id AS TEXT)"),
        ("lanes_of_a_claim", lanes_of_a_claim.as_str()),
        ("each", each.as_str()),
        ("now", NOW),
    ];
    filled(CLAIM, &values)
}

impl Step {
    fn to_json(&self) -> Value {
        json!({
            "workers": self.workers,
            "leases": self.leases,
            "leasesPerSecond": self.leases_per_second,
            "databaseCpuMicrosPerLease": figures::micros(self.database_nanos),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The statements of the store, as it has them for PostgreSQL.
    const STORE: &str = include_str!("../../host/src/store/queue.rs");

    fn in_one_line(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn messages_are_found_and_leased_by_the_statements_of_the_store() {
        let store = in_one_line(STORE)
            .replace(" INDEXED BY lanes_by_due", "")
            .replace("IN (SELECT unhex(value) FROM json_each($4))", "= ANY($4)");
        let due = [("starts", "$1"), ("now", "$2"), ("each", "$3")];
        let lease = [("owner", "$1"), ("ids", "$4"), ("now", "$3")];
        let lanes = [("now", "$1"), ("own", "")];
        let lanes = filled(LANES, &lanes)
            .replace("(0, '', decode('', 'hex'))", "($2, $3, $4)")
            .replace("LIMIT 256", "LIMIT $5");
        let lease = filled(&LEASE.replace("{now} + 60000", "$2"), &lease);
        for statement in [lanes, filled(DUE, &due), lease] {
            let statement = in_one_line(&statement);
            assert!(store.contains(&statement), "the store has no {statement}");
        }
    }

    #[test]
    fn the_script_of_a_worker_has_no_name_left() {
        let script = claim(3);
        let names: Vec<&str> = script.split('{').skip(1).collect();
        assert!(names.iter().all(|it| it.starts_with('}')), "{names:?}");
        assert!(script.contains("% 3 = :client_id"), "{script}");
    }
}
