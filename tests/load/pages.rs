//! `waxwing-load pages`: how long the dashboard's pages take for an account with a million messages, while mail is
//! being sent; and what a browser has to load for the first of them.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use reqwest::header::{ACCEPT_ENCODING, COOKIE, SET_COOKIE};
use reqwest::{Client, redirect};
use serde_json::{Value, json};
use tokio::time::MissedTickBehavior;

use crate::args::{Mode, PagesArgs, StoreKind, Template};
use crate::client::Connection;
use crate::postgres::Database;
use crate::requests::Requests;
use crate::waxwing::Waxwing;
use crate::{figures, history};

/// Of a list, `lists_per_second` is 50.
const PAUSE: Duration = Duration::from_millis(30);

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
    let database = match args.store {
        StoreKind::File => None,
        StoreKind::Postgres => Some(Database::start(&args.setup)?),
    };
    let fill = async |data: &Path| match &database {
        None => history::fill(data, args.messages).await,
        Some(it) => history::fill_postgres(it, args.messages).await,
    };
    let url = database.as_ref().map(Database::url);
    let waxwing = Waxwing::start_on(&args.setup, url).await?.changed(fill).await?;
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
        "store": args.store.as_str(),
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
