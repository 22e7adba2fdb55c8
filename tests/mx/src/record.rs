//! What a server has seen, and what its connections share.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::watch;

use crate::behaviour::{Behaviour, Keeps};
use crate::situation::{Received, Situation, Stage};

/// Lines of the dialog that are kept; those behind them are counted nowhere.
const LINES: usize = 200_000;

/// One line of a dialog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// On which connection, from 1.
    pub connection: usize,
    /// Who said it.
    pub speaker: Speaker,
    /// Without its end.
    pub text: String,
}

/// Who says a line of a dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// The one under test.
    Client,
    Server,
    /// Nobody: it is what happened, such as a handshake.
    Event,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.speaker {
            Speaker::Client => 'C',
            Speaker::Server => 'S',
            Speaker::Event => '*',
        };
        write!(f, "{} {mark} {}", self.connection, self.text)
    }
}

/// When a hook is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    Before(Stage),
    After(Stage),
    /// So many octets of a message's data have come.
    Octets(usize),
}

type Hook = Box<dyn FnMut(&Situation<'_>) + Send>;

pub(crate) struct Shared {
    behaviour: watch::Sender<Arc<Behaviour>>,
    taken: watch::Sender<usize>,
    hooks: Mutex<Vec<(Moment, Hook)>>,
    record: Mutex<Record>,
    connections: AtomicUsize,
    open: AtomicUsize,
    most: AtomicUsize,
    octets: AtomicU64,
}

#[derive(Default)]
struct Record {
    messages: Vec<Received>,
    dialog: Vec<Line>,
    violations: Vec<String>,
    seen: HashMap<String, usize>,
}

/// A connection that counts as open until this is dropped.
pub(crate) struct Open {
    shared: Arc<Shared>,
    /// How many are open, this one included.
    pub among: usize,
}

impl Shared {
    pub fn new(behaviour: Behaviour) -> Arc<Self> {
        Arc::new(Self {
            behaviour: watch::Sender::new(Arc::new(behaviour)),
            taken: watch::Sender::new(0),
            hooks: Mutex::default(),
            record: Mutex::default(),
            connections: AtomicUsize::new(0),
            open: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            octets: AtomicU64::new(0),
        })
    }

    pub fn set(&self, behaviour: Behaviour) {
        self.behaviour.send_replace(Arc::new(behaviour));
    }

    pub fn behaviour(&self) -> watch::Receiver<Arc<Behaviour>> {
        self.behaviour.subscribe()
    }

    pub fn taken(&self) -> watch::Receiver<usize> {
        self.taken.subscribe()
    }

    /// The number of a connection that has come.
    pub fn connected(&self) -> usize {
        self.connections.fetch_add(1, Ordering::SeqCst) + 1
    }

    pub fn open(self: &Arc<Self>) -> Open {
        let among = self.open.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(among, Ordering::SeqCst);
        Open { shared: Arc::clone(self), among }
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub fn open_now(&self) -> usize {
        self.open.load(Ordering::SeqCst)
    }

    pub fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }

    pub fn octets(&self) -> u64 {
        self.octets.load(Ordering::SeqCst)
    }

    pub fn messages(&self) -> Vec<Received> {
        self.record().messages.clone()
    }

    pub fn dialog(&self) -> Vec<Line> {
        self.record().dialog.clone()
    }

    pub fn violations(&self) -> Vec<String> {
        self.record().violations.clone()
    }

    /// Keeps a message that was taken, or perhaps was.
    pub fn take(&self, keeps: Keeps, message: Received, octets: usize) {
        self.octets.fetch_add(u64::try_from(octets).unwrap_or(u64::MAX), Ordering::SeqCst);
        if keeps == Keeps::Everything {
            self.record().messages.push(message);
        }
        self.taken.send_modify(|it| *it += 1);
    }

    /// How often a recipient came before; from now on once more.
    pub fn see(&self, recipient: &str) -> usize {
        let mut record = self.record();
        let seen = record.seen.entry(recipient.to_lowercase()).or_default();
        *seen += 1;
        *seen - 1
    }

    pub fn note(&self, connection: usize, speaker: Speaker, text: &str) {
        let mut record = self.record();
        if record.dialog.len() < LINES {
            record.dialog.push(Line { connection, speaker, text: text.to_owned() });
        }
    }

    pub fn violation(&self, connection: usize, text: &str) {
        let mut record = self.record();
        if record.violations.len() < LINES {
            record.violations.push(format!("{connection}: {text}"));
        }
    }

    pub fn forget(&self) {
        *self.record() = Record::default();
        self.taken.send_replace(0);
        self.connections.store(0, Ordering::SeqCst);
        self.most.store(self.open_now(), Ordering::SeqCst);
        self.octets.store(0, Ordering::SeqCst);
    }

    pub fn hook(&self, moment: Moment, hook: Hook) {
        self.hooks().push((moment, hook));
    }

    pub fn has_hooks(&self) -> bool {
        !self.hooks().is_empty()
    }

    pub fn forget_hooks(&self) {
        self.hooks().clear();
    }

    /// Calls the hooks of a moment, outside of the lock: a hook may add others.
    pub fn call(&self, at: impl Fn(Moment) -> bool, situation: &Situation<'_>) {
        let mut due: Vec<(Moment, Hook)> = self.hooks().extract_if(.., |it| at(it.0)).collect();
        for (_, hook) in &mut due {
            hook(situation);
        }
        if !due.is_empty() {
            self.hooks().append(&mut due);
        }
    }

    fn hooks(&self) -> MutexGuard<'_, Vec<(Moment, Hook)>> {
        self.hooks.lock().expect("no hook runs under the lock")
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().expect("nothing panics under the lock")
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.shared.open.fetch_sub(1, Ordering::SeqCst);
    }
}
