//! Two accounts on one server: what the sends of a quiet one take, alone and while the other one makes
//! noise.

use std::io;
use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::task::JoinSet;

use crate::args::{Mode, NeighboursArgs, Noise, Setup, Template};
use crate::client::Connection;
use crate::drive::{Answers, drive};
use crate::figures;
use crate::requests::Requests;
use crate::waxwing::{Waxwing, binary, publish};

const BATCH: u32 = 500;
const ATTACHMENT: usize = 7 << 20;
const UNFINISHED: usize = 10_000_000;
const FILLING: u32 = 4;
/// Until the noise is at its height.
const SWELL: Duration = Duration::from_secs(2);
/// A noisy client that is refused comes again, but not at once.
const AGAIN: Duration = Duration::from_millis(10);

pub async fn measure(args: &NeighboursArgs) -> io::Result<Value> {
    let waxwing = Waxwing::start(&args.setup).await?;
    let subject = waxwing.subject();
    let quiet = quiet_key(&args.setup, &waxwing).await?;
    let requests = Arc::new(Requests::new(Template::Line, Mode::Hold, &quiet).await?);
    let noise = Arc::new(noise(args.noise, subject.api_key));
    if args.noise == Noise::Lists {
        let batch = self::noise(Noise::Batches, subject.api_key);
        fill(subject.address, &batch, args.messages / BATCH).await?;
    }
    drive(subject.address, &requests, args.connections, None, args.sends).await?;
    let alone = drive(subject.address, &requests, args.connections, None, args.sends).await?;
    let answered = Arc::new(AtomicU64::new(0));
    let mut clients = JoinSet::new();
    for _ in 0..args.noisy {
        clients.spawn(make(args.noise, subject.address, Arc::clone(&noise), Arc::clone(&answered)));
    }
    tokio::time::sleep(SWELL).await;
    let before = answered.load(Ordering::Relaxed);
    let beside = drive(subject.address, &requests, args.connections, None, args.sends).await?;
    let answered = answered.load(Ordering::Relaxed) - before;
    clients.shutdown().await;
    waxwing.stop().await?;
    Ok(json!({
        "noise": args.noise.as_str(),
        "noisyConnections": args.noisy,
        "noiseAnswered": answered,
        "alone": quiet_figures(&alone),
        "besideTheNoise": quiet_figures(&beside),
    }))
}

fn quiet_figures(answers: &Answers) -> Value {
    let micros = |percent| figures::percentile(&answers.latencies, percent);
    json!({
        "p50Micros": micros(50), "p95Micros": micros(95), "longestMicros": micros(100),
        "statuses": answers.statuses,
    })
}

/// The request that the noisy account makes, as often as it can.
fn noise(noise: Noise, key: &str) -> Vec<u8> {
    let message = |more: Value| {
        let mut message = json!({
            "to": "noise@example.com", "type": "EMAIL", "template": "load-line",
            "data": {"code": "1", "minutes": 1},
        });
        if let Value::Object(more) = more {
            message.as_object_mut().expect("an object").extend(more);
        }
        message
    };
    let (line, body) = match noise {
        Noise::Batches => {
            let batch: Vec<Value> = (0..BATCH).map(|_| message(Value::Null)).collect();
            ("POST /messages/send/batch", Value::from(batch).to_string())
        }
        Noise::Large => {
            let file = json!({
                "filename": "noise.bin", "contentType": "application/octet-stream",
                "content": "QUJD".repeat(ATTACHMENT / 3),
            });
            ("POST /messages/send", message(json!({"attachments": [file]})).to_string())
        }
        Noise::Lists => ("GET /v1/messages?tag=nowhere&limit=50", String::new()),
        Noise::Unfinished => ("POST /messages/send", " ".repeat(UNFINISHED)),
    };
    let head = format!(
        "{line} HTTP/1.1\r\nhost: 127.0.0.1\r\nx-api-key: {key}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    [head, body].concat().into_bytes()
}

/// Makes noise until it is stopped. A server that closes the connection sees another one.
async fn make(noise: Noise, address: SocketAddr, request: Arc<Vec<u8>>, answered: Arc<AtomicU64>) {
    loop {
        let made = async {
            if noise == Noise::Unfinished {
                let mut stream = TcpStream::connect(address).await?;
                stream.write_all(&request[..request.len() - 1]).await?;
                return std::future::pending().await;
            }
            let mut connection = Connection::open(address).await?;
            while connection.exchange(&request).await?.status < 300 {
                answered.fetch_add(1, Ordering::Relaxed);
            }
            io::Result::Ok(())
        };
        drop(made.await);
        tokio::time::sleep(AGAIN).await;
    }
}

async fn fill(address: SocketAddr, batch: &[u8], batches: u32) -> io::Result<()> {
    let mut filling = JoinSet::new();
    for part in 0..FILLING {
        let batch = batch.to_vec();
        filling.spawn(async move {
            let mut connection = Connection::open(address).await?;
            for _ in (part..batches).step_by(FILLING as usize) {
                let status = connection.exchange(&batch).await?.status;
                if status != 200 {
                    return Err(io::Error::other(format!("a batch is answered with {status}")));
                }
            }
            Ok(())
        });
    }
    while let Some(filled) = filling.join_next().await {
        filled??;
    }
    Ok(())
}

/// An account of its own, with the sandbox domain and the template.
async fn quiet_key(setup: &Setup, waxwing: &Waxwing) -> io::Result<String> {
    let binary = binary(setup).await?;
    let cli = async |arguments: &[&str]| {
        let mut command = Command::new(&binary);
        command.args(arguments).arg("--json").arg("--data-dir").arg(waxwing.data());
        let output = command.stdin(Stdio::null()).kill_on_drop(true).output().await?;
        if !output.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        serde_json::from_slice::<Value>(&output.stdout).map_err(io::Error::from)
    };
    let sender = "hello@sandbox.test";
    let account =
        cli(&["account", "create", "--name", "Quiet", "--plan", "pro", "--sender", sender]).await?;
    let account = account["id"].as_str().unwrap_or_default();
    cli(&["credits", "grant", "--account", account, "1000000"]).await?;
    cli(&["domain", "add", "--account", account, "sandbox.test", "--sandbox"]).await?;
    publish(&binary, waxwing.data(), None, account, Template::Line).await?;
    let key = cli(&["key", "create", "--account", account]).await?;
    let key = key["key"].as_str();
    key.map(str::to_owned).ok_or_else(|| io::Error::other("the key is not said"))
}
