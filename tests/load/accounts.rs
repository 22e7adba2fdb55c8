//! Many accounts with many templates: what a send costs with a few templates, and in turn with all of them
//! at random, or while accounts change.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::MissedTickBehavior;

use crate::args::{AccountsArgs, Mode, Template};
use crate::client::Connection;
use crate::figures::{self, Summary};
use crate::process;
use crate::requests::{Requests, TEMPLATES_FOLDER};
use crate::round::{self, Burst};
use crate::waxwing::Waxwing;

/// More than any run spends.
const CREDITS: u32 = 100_000_000;

pub async fn measure(args: &AccountsArgs) -> io::Result<Value> {
    let waxwing = Waxwing::start(&args.setup).await?;
    let subject = waxwing.subject();
    let opening = Opening {
        address: subject.address,
        operator: subject.api_key,
        accounts: args.accounts,
        templates: args.templates,
        template: args.template,
    };
    let accounts = opening.open_all().await?;
    let filled = process::memory(waxwing.pid())?;
    let few = Arc::new(requests(args, &accounts, args.few as usize).await?);
    let all = Arc::new(requests(args, &accounts, usize::MAX).await?);
    let other = if args.changes.is_some() { &few } else { &all };
    let burst = Burst::held(args.template, args.connections, args.sends);
    let ids = accounts.iter().map(|it| it.id.clone()).collect();
    let mut changes = Changes { waxwing: &waxwing, accounts: ids, made: 0 };
    for warm_up in [other, &few] {
        round::waxwing(&burst, &waxwing, warm_up).await?;
    }
    let (mut plain, mut others) = (Vec::new(), Vec::new());
    for _ in 0..args.rounds {
        plain.push(round::waxwing(&burst, &waxwing, &few).await?);
        others.push(match args.changes {
            None => round::waxwing(&burst, &waxwing, other).await?,
            Some(rate) => tokio::select! {
                round = round::waxwing(&burst, &waxwing, other) => round?,
                ended = changes.run(rate) => {
                    ended?;
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            },
        });
    }
    let (memory, changes) = (process::memory(waxwing.pid())?, changes.made);
    waxwing.stop().await?;
    let second = if args.changes.is_some() { "whileAccountsChange" } else { "allTemplates" };
    Ok(json!({
        "accounts": args.accounts,
        "templates": args.accounts * args.templates,
        "few": args.few,
        "changesPerSecond": args.changes,
        "changes": changes,
        "fewTemplates": Summary::of(&plain).to_json(),
        second: Summary::of(&others).to_json(),
        "ratios": figures::ratios(&others, &plain),
        "filledMemoryMb": figures::mebibytes(filled.resident_kib),
        "peakMemoryMb": figures::mebibytes(memory.peak_kib),
    }))
}

/// An account that was opened.
pub struct Account {
    id: String,
    pub key: String,
}

/// Accounts to open, each with credits, a domain, a key and its templates.
pub struct Opening<'a> {
    pub address: SocketAddr,
    /// The key of an operator.
    pub operator: &'a str,
    pub accounts: u32,
    /// Of each account.
    pub templates: u32,
    pub template: Template,
}

impl Opening<'_> {
    pub async fn open_all(&self) -> io::Result<Vec<Account>> {
        let mut api = Api::open(self.address).await?;
        let operator = self.operator;
        let draft = draft(self.template)?;
        let mut accounts = Vec::new();
        for number in 0..self.accounts {
            let sender = format!("hello@a{number}.test");
            let account =
                json!({"name": format!("Account {number}"), "plan": "pro", "sender": sender});
            let id = text(&api.post(operator, "/v1/accounts", &account).await?, "id")?;
            let grant = json!({"accountId": id, "amount": CREDITS});
            api.post(operator, "/v1/credits/grants", &grant).await?;
            let scopes = json!({"scopes": ["send", "admin"]});
            let key = api.post(operator, &format!("/v1/keys?account={id}"), &scopes).await?;
            let key = text(&key, "key")?;
            let domain = json!({"name": format!("a{number}.test"), "sandbox": true});
            api.post(&key, "/v1/domains", &domain).await?;
            for number in 0..self.templates {
                let slug = slug(number);
                let template = json!({"slug": slug, "draft": draft});
                api.post(&key, "/v1/templates", &template).await?;
                api.post(&key, &format!("/v1/templates/{slug}/publish"), &json!({})).await?;
            }
            accounts.push(Account { id, key });
        }
        Ok(accounts)
    }
}

/// The slug of a template by its number.
pub fn slug(number: u32) -> String {
    format!("load-{number:0>3}")
}

/// The parts of a template of `load/templates`.
fn draft(template: Template) -> io::Result<Value> {
    let part = |name: &str| {
        let file = format!("{TEMPLATES_FOLDER}/{}/{name}.liquid", template.folder());
        match std::fs::read_to_string(file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            read => read.map(Some),
        }
    };
    let mut draft = json!({});
    for name in ["subject", "html", "text"] {
        if let Some(text) = part(name)? {
            draft[name] = text.into();
        }
    }
    Ok(draft)
}

/// One request for each of the first so many templates.
async fn requests(args: &AccountsArgs, accounts: &[Account], most: usize) -> io::Result<Requests> {
    let mut all = Vec::new();
    for account in accounts {
        for number in 0..args.templates {
            all.push((account.key.as_str(), slug(number)));
        }
    }
    all.truncate(most);
    Requests::of_templates(args.template, Mode::Hold, &all).await
}

/// Changes of accounts, each of which makes the server read that account's facts again.
struct Changes<'a> {
    waxwing: &'a Waxwing,
    accounts: Vec<String>,
    made: usize,
}

impl Changes<'_> {
    /// Changes one account after the other, from the first on, for as long as it is polled.
    async fn run(&mut self, rate: u32) -> io::Result<()> {
        // One of its own for each round: the server ends a connection that says nothing for long.
        let mut api = Api::open(self.waxwing.subject().address).await?;
        let key = self.waxwing.subject().api_key;
        let mut pace = tokio::time::interval(Duration::from_secs(1) / rate);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            pace.tick().await;
            let path = format!("/v1/accounts/{}", self.accounts[self.made % self.accounts.len()]);
            let change = json!({"name": format!("Changed {}", self.made)});
            api.call("PATCH", key, &path, &change).await?;
            self.made += 1;
        }
    }
}

/// JSON over one connection.
struct Api(Connection);

impl Api {
    async fn open(address: SocketAddr) -> io::Result<Self> {
        Connection::open(address).await.map(Self)
    }

    async fn post(&mut self, key: &str, path: &str, body: &Value) -> io::Result<Value> {
        self.call("POST", key, path, body).await
    }

    async fn call(
        &mut self,
        method: &str,
        key: &str,
        path: &str,
        body: &Value,
    ) -> io::Result<Value> {
        let body = body.to_string();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: {key}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let answer = self.0.exchange(request.as_bytes()).await?;
        if answer.status >= 300 {
            let words = String::from_utf8_lossy(answer.body);
            return Err(io::Error::other(format!("{method} {path}: {} {words}", answer.status)));
        }
        serde_json::from_slice(answer.body).map_err(io::Error::from)
    }
}

fn text(answer: &Value, member: &str) -> io::Result<String> {
    let text = answer[member].as_str().map(str::to_owned);
    text.ok_or_else(|| io::Error::other(format!("the answer has no {member}: {answer}")))
}
