//! A server with a domain of its own, a sink, and what it costs to bring messages from one to the other.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use tempfile::TempDir;
use tokio::process::Command;
use waxwing_mx::{Behaviour, MxServer, Reply, Stage};

use super::filling::{Bodies, Filling, Waiting};
use super::settings::Settings;
use crate::args::{Setup, Template};
use crate::process::{self, Memory};
use crate::server::{Installation, Server};
use crate::start::run;
use crate::{metrics, waxwing};

/// Mail comes from here; it is signed with two keys.
pub const DOMAIN: &str = "load.example";
pub const FROM: &str = "hello@load.example";
const POLL: Duration = Duration::from_millis(5);
/// A sink that gets nothing for so long never gets the rest.
const STUCK: Duration = Duration::from_mins(1);

/// A server's data with everything that deliveries need, and where they go.
pub struct Plant {
    binary: std::path::PathBuf,
    data: TempDir,
    settings: Settings,
    pub sink: MxServer,
    /// Lets nobody in.
    held: Option<MxServer>,
}

/// A server that is about to deliver.
pub struct Begun {
    pub server: Server,
    /// Before it delivers.
    pub memory: Memory,
    /// When it begins.
    pub begin: Instant,
    /// CPU so far.
    pub cpu: Duration,
}

impl Plant {
    /// Makes the data by a first start, which also compiles the plugins.
    pub async fn new(setup: &Setup) -> io::Result<Self> {
        let sink = MxServer::start(Behaviour::sink());
        let settings = Settings { sink: sink.address(), held: None, log: setup.log.clone() };
        let (binary, data) = (waxwing::binary(setup).await?, setup.work_dir()?);
        let plant = Self { binary, data, settings, sink, held: None };
        let installation = plant.installation();
        let server = installation.start(&plant.settings).await?;
        let account = server.account.clone();
        server.stop().await?;
        let add = ["domain", "add", "--account", &account, DOMAIN];
        installation.command(&plant.settings, &add).await?;
        let mut filling = plant.filling().await?;
        filling.verify(DOMAIN).await?;
        filling.close().await?;
        Ok(plant)
    }

    /// Another one with the same data and the same sink's behaviour.
    pub async fn copy(&self, setup: &Setup) -> io::Result<Self> {
        let (data, sink) = (setup.work_dir()?, MxServer::start(Behaviour::sink()));
        run(Command::new("cp").arg("-a").arg(self.data.path().join(".")).arg(data.path())).await?;
        let log = self.settings.log.clone();
        let settings = Settings { sink: sink.address(), held: None, log };
        Ok(Self { binary: self.binary.clone(), data, settings, sink, held: None })
    }

    /// The same with a server that says nothing to mail for [`HELD`](super::settings::HELD).
    pub fn with_held_up_domain(mut self) -> Self {
        let held = MxServer::start(Behaviour::sink().answer(Stage::Connect, Reply::silence()));
        self.settings.held = Some(held.address());
        self.held = Some(held);
        self
    }

    pub async fn filling(&self) -> io::Result<Filling> {
        Filling::open(self.data.path(), FROM).await
    }

    /// Fills the queue, starts the server, and is ready when the messages are due.
    pub async fn begin(
        &self,
        filling: &mut Filling,
        waiting: &[Waiting],
        bodies: Bodies,
    ) -> io::Result<Begun> {
        let due = filling.fill(waiting, bodies).await?;
        self.sink.forget();
        let server = self.installation().start(&self.settings).await?;
        let Ok(left) = due.duration_since(SystemTime::now()) else {
            return Err(io::Error::other("the server was not up when the messages were due"));
        };
        tokio::time::sleep(left).await;
        let cpu = process::cpu(&[server.pid])?;
        let memory = process::memory(server.pid)?;
        Ok(Begun { server, memory, begin: Instant::now(), cpu })
    }

    /// A server that sends what it is given from [`FROM`], with the templates of this generator.
    pub async fn serve(&self) -> io::Result<Server> {
        let installation = self.installation();
        let server = installation.start(&self.settings).await?;
        let change = ["account", "update", &server.account, "--sender", FROM];
        installation.command(&self.settings, &change).await?;
        for template in Template::ALL {
            waxwing::publish(&self.binary, self.data(), None, &server.account, template).await?;
        }
        Ok(server)
    }

    fn installation(&self) -> Installation<'_> {
        Installation { binary: &self.binary, data: self.data.path() }
    }

    /// The server's log, for when something is wrong.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.data.path().join("server.log")).unwrap_or_default()
    }

    pub fn data(&self) -> &Path {
        self.data.path()
    }
}

/// Waits until the sink has so many messages; answers when it had them.
pub async fn taken(sink: &MxServer, messages: u32) -> io::Result<Instant> {
    let wanted = usize::try_from(messages).map_err(io::Error::other)?;
    let mut progress = (Instant::now(), 0);
    loop {
        let count = sink.message_count();
        let now = Instant::now();
        if count >= wanted {
            return Ok(now);
        }
        if count > progress.1 {
            progress = (now, count);
        } else if now.duration_since(progress.0) > STUCK {
            return Err(io::Error::other(format!("the sink has {count} of {wanted} messages")));
        }
        tokio::time::sleep(POLL).await;
    }
}

/// Waits until the server has written down that nothing waits.
pub async fn written_down(server: &Server) -> io::Result<()> {
    let end = Instant::now() + STUCK;
    while metrics::read(server.address).await?.waiting > 0 {
        if Instant::now() > end {
            return Err(io::Error::other("the sink has everything, and messages still wait"));
        }
        tokio::time::sleep(POLL).await;
    }
    Ok(())
}
