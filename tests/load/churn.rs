//! `waxwing-load churn`: how large the tables of the queue on PostgreSQL become while messages come, are leased and go,
//! and what autovacuum does about it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::time::{Instant, MissedTickBehavior};

use crate::accounts::{Opening, slug};
use crate::args::{ChurnArgs, Mode};
use crate::drive::drive;
use crate::nodes::Servers;
use crate::postgres::Database;
use crate::requests::Requests;
use crate::{figures, metrics, process};

/// Seconds of sends that are begun at one time.
const CHUNK_SECONDS: u32 = 2;
/// A table with its indexes, and what became of its rows. HOT updates are those that touch no index.
const TABLES: &str = "
    SELECT json_object_agg(relname, json_build_object(
        'tableBytes', pg_table_size(relid), 'indexBytes', pg_indexes_size(relid),
        'live', n_live_tup, 'dead', n_dead_tup, 'inserted', n_tup_ins, 'updated', n_tup_upd,
        'hotUpdated', n_tup_hot_upd, 'deleted', n_tup_del, 'autovacuums', autovacuum_count))
    FROM pg_stat_user_tables WHERE relname IN ('queue', 'lanes', 'totals', 'accounts', 'usage', 'sent')";

pub async fn measure(args: &ChurnArgs) -> io::Result<Value> {
    let database = Database::start(&args.setup)?;
    let servers = Servers::start(&args.setup, &database, 1).await?;
    let server = servers.first()?;
    let (address, pid) = (server.address, server.pid);
    let opening = Opening {
        address,
        operator: &server.api_key,
        accounts: 1,
        templates: 1,
        template: args.template,
    };
    let opened = opening.open_all().await?;
    let all: Vec<(&str, String)> = opened.iter().map(|it| (it.key.as_str(), slug(0))).collect();
    let requests = Requests::of_templates(args.template, Mode::Deliver, &all).await?;
    let mut sends = Sends { address, requests: Arc::new(requests), made: 0 };
    let begin = [process::cpu(&[pid])?, process::cpu(&[database.pid()])?];
    let looks = tokio::select! {
        looks = look(args, &database, address) => looks?,
        ended = sends.run(args) => {
            ended?;
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    };
    let end = [process::cpu(&[pid])?, process::cpu(&[database.pid()])?];
    let delivered = metrics::read(address).await?.delivered;
    let settings = database.settings().await?;
    servers.stop().await?;
    let each = |at: usize| {
        let cpu = end[at].saturating_sub(begin[at]);
        figures::micros(figures::share(cpu, delivered))
    };
    Ok(json!({
        "protocol": "churn",
        "minutes": args.minutes,
        "ratePerSecond": args.rate,
        "template": args.template.as_str(),
        "postgres": settings,
        "delivered": delivered,
        "serverCpuMicrosPerMessage": each(0),
        "databaseCpuMicrosPerMessage": each(1),
        "looks": looks,
    }))
}

/// Looks at the tables again and again until the minutes are over.
async fn look(
    args: &ChurnArgs,
    database: &Database,
    address: SocketAddr,
) -> io::Result<Vec<Value>> {
    let start = Instant::now();
    let mut pace = tokio::time::interval(args.every());
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut looks = Vec::new();
    // The first look is at the empty tables.
    for _ in 0..=args.looks() {
        pace.tick().await;
        let counters = metrics::read(address).await?;
        looks.push(json!({
            "seconds": start.elapsed().as_secs(),
            "delivered": counters.delivered,
            "waiting": counters.waiting,
            "tables": database.ask_json(TABLES).await?,
        }));
    }
    Ok(looks)
}

/// Mail that is sent meanwhile.
struct Sends {
    address: SocketAddr,
    requests: Arc<Requests>,
    made: u32,
}

impl Sends {
    /// Sends for as long as it is polled.
    async fn run(&mut self, args: &ChurnArgs) -> io::Result<()> {
        loop {
            let chunk = args.rate * CHUNK_SECONDS;
            let sent =
                drive(self.address, &self.requests, args.connections, Some(args.rate), chunk);
            let answers = sent.await?;
            if answers.statuses.keys().any(|it| *it != 201) {
                let message = format!("after {} sends: {:?}", self.made, answers.statuses);
                return Err(io::Error::other(message));
            }
            self.made += chunk;
        }
    }
}
