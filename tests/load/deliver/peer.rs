//! Postfix: its queue is filled over SMTP and held, and released for the clock.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use waxwing_mx::{Behaviour, MxServer};

use super::plant::{FROM, taken};
use super::{Round, round};
use crate::args::{self, DeliverArgs, Pipelining, Resumption, Shape};
use crate::peers::{Peer, PeerSetup, postfix};
use crate::process;
use crate::smtp::{Clients, Letter, Login, Target, tls};

/// Sessions that fill the queue.
const SESSIONS: u32 = 16;
const POLL: Duration = Duration::from_millis(20);
/// A queue that is not empty for so long never will be.
const STUCK: Duration = Duration::from_mins(1);

/// A running Postfix and its sink.
pub struct Postfix {
    peer: Peer,
    sink: MxServer,
    target: Arc<Target>,
}

impl Postfix {
    /// Starts it with the certificate of the server whose data this is.
    pub async fn start(args: &DeliverArgs, data: &Path) -> io::Result<Self> {
        let sink = MxServer::start(Behaviour::sink());
        let authority = data.join("tls/ca.pem");
        let login = Login { user: FROM.to_owned(), password: "load".to_owned() };
        let peer_setup = PeerSetup {
            setup: &args.setup,
            sessions: SESSIONS,
            authority: &authority,
            login: login.clone(),
            relays_to: Some(sink.address()),
        };
        let peer = Peer::start(args::Peer::Postfix, &peer_setup).await?;
        let target = Target {
            address: peer.address(),
            login: login.line(),
            tls: tls(&authority, Resumption::Off)?,
            pipelining: Pipelining::On,
            letter: Letter::new(FROM, ""),
            pids: peer.pids(),
            spool: peer.spool(),
        };
        Ok(Self { peer, sink, target: Arc::new(target) })
    }

    /// Fills the queue, releases it, and measures until it is empty.
    pub async fn round(&self, messages: u32) -> io::Result<Round> {
        let clients = Clients::ready(&self.target, Shape::Reused, SESSIONS).await?;
        clients.send(messages).await?;
        let directory = self.peer.directory();
        postfix::release(directory).await?;
        self.sink.forget();
        let before = process::cpu(&self.peer.pids())?;
        let begin = Instant::now();
        postfix::deliver(directory).await?;
        let end = taken(&self.sink, messages).await?;
        while postfix::on_their_way(directory)? > 0 {
            if end.elapsed() > STUCK {
                return Err(io::Error::other("Postfix keeps messages that the sink has"));
            }
            tokio::time::sleep(POLL).await;
        }
        let cpu = process::cpu(&self.peer.pids())?.saturating_sub(before);
        let memory = process::resident(&self.peer.pids())?.divided_kib;
        Ok(round(messages, end.duration_since(begin), cpu, self.sink.connections(), memory))
    }

    pub async fn stop(self) -> io::Result<()> {
        self.peer.stop().await
    }
}
