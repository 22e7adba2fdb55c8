//! An SMTP server for the tests and the load tool, which misbehaves on demand: an MX, a smarthost or
//! a sink on loopback.
//!
//! - [`MxServer::start`] takes a [`Behaviour`]: what is offered (STARTTLS, AUTH, extensions), what is
//!   answered ([`Behaviour::script`], asked with the [`Situation`] at each [`Stage`]), what is cut.
//!   [`MxServer::set`] exchanges it while connections run; a [`Reply::silence`] lasts until then.
//! - [`MxServer::stop`] lets its port refuse, [`MxServer::start_again`] opens it again.
//! - [`MxServer::on`], [`MxServer::after`] and [`MxServer::after_octets`] call a test back on the
//!   server's thread, before and after a reply: it can kill the one who sends between two steps.
//! - What came: [`MxServer::messages`], [`MxServer::dialog`], [`MxServer::violations`] (what a client
//!   may not do), and counts. [`Behaviour::sink`] only counts.
//!
//! It runs on a thread and a clock of its own: it needs nothing of the runtime of the test.

mod behaviour;
mod certificate;
mod listener;
mod record;
mod reply;
mod session;
mod situation;
mod wire;

#[cfg(test)]
mod tests;

pub use behaviour::{Behaviour, Farewell, StartTlsFault};
pub use certificate::{Authority, Certificate};
pub use record::{Line, Speaker};
pub use reply::Reply;
pub use situation::{Received, Recipient, Situation, Stage};

use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::sync::{mpsc as orders, oneshot};

use crate::listener::Order;
use crate::record::{Moment, Shared};

/// A running server. Dropped, it stops and leaves no thread, task or socket.
pub struct MxServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    orders: Option<orders::UnboundedSender<Order>>,
    thread: Option<JoinHandle<()>>,
}

impl MxServer {
    /// Starts a server on a free port of 127.0.0.1.
    ///
    /// # Panics
    /// No port or no thread is to be had.
    #[must_use]
    pub fn start(behaviour: Behaviour) -> Self {
        Self::start_on((Ipv4Addr::LOCALHOST, 0).into(), behaviour)
    }

    /// Starts a server there; port 0 picks a free one.
    ///
    /// # Panics
    /// The port or a thread is not to be had.
    #[must_use]
    pub fn start_on(address: SocketAddr, behaviour: Behaviour) -> Self {
        let shared = Shared::new(behaviour);
        let (sender, orders) = orders::unbounded_channel();
        let (started, address_found) = mpsc::sync_channel(1);
        let shared_too = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("mx-server".to_owned())
            .spawn(move || listener::run(address, &shared_too, orders, &started))
            .expect("a thread can be started");
        let address = address_found.recv().expect("the server starts");
        Self { address, shared, orders: Some(sender), thread: Some(thread) }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Behaves otherwise from now on, also on connections that are open: at their next stage.
    pub fn set(&self, behaviour: Behaviour) {
        self.shared.set(behaviour);
    }

    /// Cuts all connections and lets the port refuse others; the port stays its own.
    pub fn stop(&self) {
        self.order(Order::Stop);
    }

    /// Listens again on the same port.
    pub fn start_again(&self) {
        self.order(Order::Start);
    }

    /// Cuts all connections that are open.
    pub fn cut_connections(&self) {
        self.order(Order::Cut);
    }

    /// Calls `hook` on the server's thread whenever that stage is reached, before the reply is
    /// written or decided: the hook may set another behaviour.
    pub fn on(&self, stage: Stage, hook: impl FnMut(&Situation<'_>) + Send + 'static) {
        self.shared.hook(Moment::Before(stage), Box::new(hook));
    }

    /// Calls `hook` on the server's thread whenever a reply at that stage has been sent.
    pub fn after(&self, stage: Stage, hook: impl FnMut(&Situation<'_>) + Send + 'static) {
        self.shared.hook(Moment::After(stage), Box::new(hook));
    }

    /// Calls `hook` on the server's thread whenever at least so many octets of a message's data have
    /// come; at least 1.
    pub fn after_octets(&self, octets: usize, hook: impl FnMut(&Situation<'_>) + Send + 'static) {
        self.shared.hook(Moment::Octets(octets.max(1)), Box::new(hook));
    }

    /// Calls no hook any more.
    pub fn forget_hooks(&self) {
        self.shared.forget_hooks();
    }

    /// The messages whose final dot came and that were not refused, in their order. The connection
    /// may have been cut instead of a reply: [`Received::reply`]. None in a sink.
    #[must_use]
    pub fn messages(&self) -> Vec<Received> {
        self.shared.messages()
    }

    /// How many such messages came, in a sink too.
    #[must_use]
    pub fn message_count(&self) -> usize {
        *self.shared.taken().borrow()
    }

    /// Octets of their content.
    #[must_use]
    pub fn octets(&self) -> u64 {
        self.shared.octets()
    }

    /// How many connections came.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.shared.connections()
    }

    /// How many connections are open.
    #[must_use]
    pub fn open_connections(&self) -> usize {
        self.shared.open_now()
    }

    /// The most connections that were open at one time.
    #[must_use]
    pub fn most_at_one_time(&self) -> usize {
        self.shared.most()
    }

    /// What was said and what happened, the first 200,000 lines, without the content of messages.
    #[must_use]
    pub fn dialog(&self) -> Vec<Line> {
        self.shared.dialog()
    }

    /// The lines of clients.
    #[must_use]
    pub fn commands(&self) -> Vec<String> {
        let said = self.dialog().into_iter().filter(|it| it.speaker == Speaker::Client);
        said.map(|it| it.text).collect()
    }

    /// What clients did that they may not: pipelining that was not offered, bare line feeds, …
    #[must_use]
    pub fn violations(&self) -> Vec<String> {
        self.shared.violations()
    }

    /// Begins to count, to list and to greylist afresh; hooks and behaviour stay.
    pub fn forget(&self) {
        self.shared.forget();
    }

    /// Waits for so many messages in all, by the system's clock, without holding up a runtime. In a
    /// sink the answer is empty.
    ///
    /// # Panics
    /// They do not come in time; the dialog is shown.
    pub async fn wait_for_messages(&self, messages: usize, patience: Duration) -> Vec<Received> {
        let mut taken = self.shared.taken();
        let (alarm, alarmed) = oneshot::channel::<()>();
        self.send(Order::Alarm(patience, alarm));
        tokio::select! {
            come = taken.wait_for(|it| *it >= messages) => drop(come),
            _ = alarmed => self.missing(messages, patience),
        }
        self.messages()
    }

    /// The same for tests without a runtime.
    ///
    /// # Panics
    /// They do not come in time; the dialog is shown. Or it is called inside of a runtime.
    #[must_use]
    pub fn block_for_messages(&self, messages: usize, patience: Duration) -> Vec<Received> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(self.wait_for_messages(messages, patience))
    }

    fn missing(&self, messages: usize, patience: Duration) {
        let come = self.message_count();
        if come >= messages {
            return;
        }
        let mut dialog = String::new();
        for line in self.dialog() {
            writeln!(dialog, "  {line}").expect("a string takes everything");
        }
        assert_eq!(come, messages, "messages within {patience:?}; the dialog:\n{dialog}");
    }

    fn order(&self, order: fn(mpsc::SyncSender<()>) -> Order) {
        let (done, is_done) = mpsc::sync_channel(1);
        self.send(order(done));
        // Nothing is sent: the other end is dropped.
        let _it_is_dropped_when_done = is_done.recv();
    }

    fn send(&self, order: Order) {
        let orders = self.orders.as_ref().expect("it is there until it is dropped");
        assert!(orders.send(order).is_ok(), "the server runs");
    }
}

impl std::fmt::Debug for MxServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MxServer").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Drop for MxServer {
    fn drop(&mut self) {
        drop(self.orders.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the server's thread has been printed; a second one would abort the test.
            drop(thread.join());
        }
    }
}
