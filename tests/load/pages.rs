//! `waxwing-load pages`: how long the dashboard's pages take for an account with a million messages, while mail is
//! being sent; and what a browser has to load for the first of them.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use reqwest::header::{ACCEPT_ENCODING, COOKIE, SET_COOKIE};
use reqwest::{Client, redirect};
use serde_json::{Value, json};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection as _};
use tokio::time::MissedTickBehavior;

use crate::args::{Mode, PagesArgs, Template};
use crate::client::Connection;
use crate::figures;
use crate::requests::Requests;
use crate::waxwing::Waxwing;

/// Of a list, `lists_per_second` is 50.
const PAUSE: Duration = Duration::from_millis(30);
/// Over which the messages are spread.
const DAYS: i64 = 29;
/// Rows of one transaction.
const BATCH: u32 = 100_000;
/// Changes in the audit log, and addresses of the suppression list.
const OTHER_ROWS: u32 = 100_000;
const DAY_MS: i64 = 86_400_000;

/// What of a page is measured.
#[derive(Debug)]
struct Measured {
    path: String,
    /// Ascending, in microseconds.
    micros: Vec<u64>,
    bytes: usize,
}

/// Somebody who is logged in, and what the browser keeps.
struct Visitor {
    client: Client,
    base: String,
    cookie: String,
}

pub async fn measure(args: &PagesArgs) -> io::Result<Value> {
    let fill = async |data: &Path| fill(data, args.messages).await;
    let waxwing = Waxwing::start(&args.setup).await?.changed(fill).await?;
    let visitor = Visitor::log_in(&waxwing).await?;
    let paths = visitor.paths().await?;
    let mut sends = Sends::new(&waxwing).await?;
    let measuring = async {
        let mut pages = Vec::new();
        for path in paths {
            pages.push(visitor.measure(path, args.requests).await?);
        }
        Ok::<_, io::Error>(pages)
    };
    let pages = tokio::select! {
        pages = measuring => pages?,
        ended = sends.run(args.rate) => {
            ended?;
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    };
    let first_load = visitor.first_load().await?;
    let sent = sends.made;
    waxwing.stop().await?;
    let worst = pages.iter().map(|it| it.percentile(95)).max().unwrap_or_default();
    Ok(json!({
        "protocol": "pages",
        "messages": args.messages,
        "requestsOfEach": args.requests,
        "sentMeanwhile": sent,
        "worstP95Millis": millis(worst),
        "firstLoadBytes": first_load,
        "pages": pages.iter().map(Measured::to_json).collect::<Vec<_>>(),
    }))
}

impl Measured {
    fn percentile(&self, percent: usize) -> u64 {
        figures::percentile(&self.micros, percent)
    }

    fn to_json(&self) -> Value {
        json!({
            "path": self.path,
            "p50Millis": millis(self.percentile(50)),
            "p95Millis": millis(self.percentile(95)),
            "maxMillis": millis(self.percentile(100)),
            "bytes": self.bytes,
        })
    }
}

fn millis(micros: u64) -> f64 {
    figures::millis(Duration::from_micros(micros))
}

impl Visitor {
    async fn log_in(waxwing: &Waxwing) -> io::Result<Self> {
        let client = Client::builder().redirect(redirect::Policy::none()).build();
        let client = client.map_err(io::Error::other)?;
        let base = format!("http://{}", waxwing.subject().address);
        let (email, password) = waxwing.person()?;
        let answer = client
            .post(format!("{base}/login"))
            .header("sec-fetch-site", "same-origin")
            .body(format!("email={}&password={password}", email.replace('@', "%40")))
            .send()
            .await
            .map_err(io::Error::other)?;
        let cookie = answer.headers().get(SET_COOKIE).and_then(|it| it.to_str().ok());
        let cookie = cookie.and_then(|it| it.split(';').next()).map(str::to_owned);
        let cookie = cookie.ok_or_else(|| io::Error::other("the log-in was refused"))?;
        Ok(Self { client, base, cookie })
    }

    /// A page as it travels.
    async fn get(&self, path: &str) -> io::Result<Vec<u8>> {
        let request = self.client.get(format!("{}{path}", self.base));
        let request = request.header(COOKIE, &self.cookie).header(ACCEPT_ENCODING, "gzip");
        let answer = request.send().await.map_err(io::Error::other)?;
        if answer.status() != 200 {
            return Err(io::Error::other(format!("{path} is answered {}", answer.status())));
        }
        Ok(answer.bytes().await.map_err(io::Error::other)?.to_vec())
    }

    async fn measure(&self, path: String, requests: u32) -> io::Result<Measured> {
        let (mut micros, mut bytes) = (Vec::new(), 0);
        for _ in 0..requests {
            let begin = Instant::now();
            bytes = self.get(&path).await?.len();
            micros.push(u64::try_from(begin.elapsed().as_micros()).unwrap_or(u64::MAX));
            tokio::time::sleep(PAUSE).await;
        }
        micros.sort_unstable();
        Ok(Measured { path, micros, bytes })
    }

    /// Every page that shows something of the account or of the server, with its filters.
    async fn paths(&self) -> io::Result<Vec<String>> {
        let mut paths: Vec<String> = PATHS.iter().map(|it| (*it).to_owned()).collect();
        let links = |html: &[u8], start: &str| {
            let html = String::from_utf8_lossy(html).into_owned();
            let links = html.split("href=\"").filter_map(|it| it.split('"').next());
            let found = links.filter(|it| it.starts_with(start)).last();
            found.map(|it| it.replace("&#38;", "&"))
        };
        for (list, start) in LINKED {
            let html = self.get(list).await?;
            paths.extend(links(&html, start));
        }
        // The part that a page asks for by itself.
        let html = String::from_utf8_lossy(&self.get("/app/messages").await?).into_owned();
        let live = html.split("data-live=\"").nth(1).and_then(|it| it.split('"').next());
        paths.extend(live.map(|it| it.replace("&#38;", "&")));
        Ok(paths)
    }

    /// Bytes of the list of messages with everything that it loads.
    async fn first_load(&self) -> io::Result<Value> {
        let page = self.get("/app/messages").await?;
        let html = String::from_utf8_lossy(&page).into_owned();
        let mut assets = 0;
        for rest in html.split("=\"/assets/").skip(1) {
            let name = rest.split('"').next().unwrap_or_default();
            assets += self.get(&format!("/assets/{name}")).await?.len();
        }
        Ok(json!({"page": page.len(), "assets": assets, "all": page.len() + assets}))
    }
}

const PATHS: [&str; 31] = [
    "/app",
    "/app/messages",
    "/app/messages?state=bounced,failed",
    "/app/messages?state=deferred",
    "/app/messages?state=scheduled,queued,sending",
    "/app/messages?q=load-000000007%40example.com",
    "/app/messages?q=nobody%40example.com",
    "/app/messages?q=nothing+like+this",
    "/app/messages?q=state:suppressed+since:2d",
    "/app/templates",
    "/app/new-template",
    "/app/domains",
    "/app/keys",
    "/app/webhooks",
    "/app/suppressions",
    "/app/suppressions?q=load-00005",
    "/app/suppressions?kind=complaint",
    "/app/credits",
    "/app/brand",
    "/app/inbox",
    "/app/team",
    "/app/audit",
    "/app/audit?q=nothing",
    "/app/profile",
    "/ops",
    "/ops/accounts",
    "/ops/queue",
    "/ops/plugins/plan-policy",
    "/ops/decisions",
    "/ops/decisions?q=plugin:nothing",
    "/ops/audit",
];

/// On each list the last link that begins so.
const LINKED: [(&str, &str); 6] = [
    ("/app/messages", "/app/messages/msg_"),
    ("/app/messages", "/app/messages?after="),
    ("/app/messages?state=bounced,failed", "/app/messages/msg_"),
    ("/app/templates", "/app/templates/load"),
    ("/ops/accounts", "/ops/accounts/acc_"),
    ("/ops/decisions", "/ops/decisions/dec_"),
];

/// Mail that is sent meanwhile.
struct Sends {
    connection: Connection,
    requests: Requests,
    made: u32,
}

impl Sends {
    async fn new(waxwing: &Waxwing) -> io::Result<Self> {
        let subject = waxwing.subject();
        let requests = Requests::new(Template::Line, Mode::Deliver, subject.api_key).await?;
        let connection = Connection::open(subject.address).await?;
        Ok(Self { connection, requests, made: 0 })
    }

    /// Sends for as long as it is polled.
    async fn run(&mut self, rate: u32) -> io::Result<()> {
        let mut pace = tokio::time::interval(Duration::from_secs(1) / rate);
        pace.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut request = Vec::new();
        loop {
            pace.tick().await;
            self.requests.write(self.made, &mut request);
            let status = self.connection.exchange(&request).await?.status;
            if status != 201 {
                return Err(io::Error::other(format!("a send is answered {status}")));
            }
            self.made += 1;
        }
    }
}

/// Messages of the last weeks, as if they had been sent long ago; and as many changes and suppressions as a large account
/// may have. The rows of a message that only its own page reads are not there.
async fn fill(data: &Path, messages: u32) -> io::Result<()> {
    let options = SqliteConnectOptions::new().filename(data.join("waxwing.db"));
    let mut database = options.connect().await.map_err(io::Error::other)?;
    let now = SystemTime::UNIX_EPOCH.elapsed().map_err(io::Error::other)?.as_millis();
    let now = i64::try_from(now).map_err(io::Error::other)?;
    let first = now - DAYS * DAY_MS;
    let step = (DAYS * DAY_MS - 60_000) / i64::from(messages);
    let batch = usize::try_from(BATCH).unwrap_or(usize::MAX);
    for begin in (0..messages).step_by(batch) {
        sqlx::query(MESSAGES)
            .bind(begin)
            .bind(messages.min(begin + BATCH))
            .bind(first)
            .bind(step.max(1))
            .execute(&mut database)
            .await
            .map_err(io::Error::other)?;
    }
    let body = lz4_flex::compress_prepend_size(BODY);
    sqlx::query(
        "INSERT INTO bodies (message_id, bytes) SELECT id, ?1 FROM messages ORDER BY id LIMIT 1",
    )
    .bind(body)
    .execute(&mut database)
    .await
    .map_err(io::Error::other)?;
    for statement in COUNTS {
        sqlx::query(statement).execute(&mut database).await.map_err(io::Error::other)?;
    }
    for statement in OTHERS {
        sqlx::query(statement)
            .bind(OTHER_ROWS)
            .bind(now)
            .execute(&mut database)
            .await
            .map_err(io::Error::other)?;
    }
    database.close().await.map_err(io::Error::other)
}

/// Of all of them.
const BODY: &[u8] = b"From: hello@sandbox.test\r\nTo: load@example.com\r\nSubject: Your order\r\n\
    Content-Type: text/html; charset=utf-8\r\n\r\n<p>Thank you.</p>\r\n";

/// The numbers `?1` to `?2` without it; the time of number 0 `?3`; from one to the next `?4`.
const MESSAGES: &str = "
    INSERT INTO messages (id, period, account_id, key_id, channel, sender, domain_id, recipient, subject, route,
                          state, reason, credits, decisions, body_of, created_at, updated_at)
    WITH RECURSIVE n (i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?2)
    SELECT unhex(printf('%012X%020X', ?3 + i * ?4, i)), (?3 + i * ?4) / 3600000, d.account_id,
           (SELECT min(id) FROM keys k WHERE k.account_id = d.account_id), 'api', 'hello@' || d.name, d.id,
           printf('load-%09d@example.com', i % 200000), printf('Your order %d', i), 'sandbox',
           CASE WHEN i % 200 < 3 THEN 'bounced' WHEN i % 200 = 3 THEN 'failed' WHEN i % 200 = 4 THEN 'suppressed'
                ELSE 'delivered' END,
           '250 2.0.0 Ok', 1, '[]', unhex(printf('%012X%020X', ?3, 0)), ?3 + i * ?4, ?3 + i * ?4 + 900
    FROM n, domains d WHERE d.kind = 'sandbox'";
const COUNTS: [&str; 3] = [
    "INSERT INTO sent (period, state, account_id, changes)
     SELECT period, 'accepted', account_id, count(*) FROM messages GROUP BY period, account_id
     ON CONFLICT DO UPDATE SET changes = changes + excluded.changes",
    "INSERT INTO sent (period, state, account_id, changes)
     SELECT period, state, account_id, count(*) FROM messages WHERE state <> 'accepted'
     GROUP BY period, state, account_id
     ON CONFLICT DO UPDATE SET changes = changes + excluded.changes",
    "INSERT INTO usage (day, account_id, sent)
     SELECT created_at / 86400000, account_id, count(*) FROM messages GROUP BY 1, 2
     ON CONFLICT DO UPDATE SET sent = sent + excluded.sent",
];
/// So many rows `?1`, at the moment `?2`.
const OTHERS: [&str; 2] = [
    "INSERT INTO suppressions (account_id, address, kind, reason, created_at)
     WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1)
     SELECT d.account_id, printf('load-%09d@gone.example', i),
            CASE WHEN i % 1000 = 0 THEN 'complaint' ELSE 'bounce' END, '550 5.1.1 no such user', ?2
     FROM n, domains d WHERE d.kind = 'sandbox'",
    "INSERT INTO audit (created_at, account_id, actor, action, subject)
     WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1)
     SELECT ?2, d.account_id, 'command-line', 'add_suppression', printf('load-%d@example.com', i)
     FROM n, domains d WHERE d.kind = 'sandbox'",
];
