//! The thread that gives running guests their sense of time, and sleeps while none runs.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};
use std::time::Duration;

use wasmtime::EngineWeak;

/// How often the CPU time of a running guest is read.
const TICK: Duration = Duration::from_millis(5);
/// The pause between ticks while no guest is counted as running. The ticks go on, so that a guest which is missing in the
/// count is stopped, too; they are few, because each tick wakes an idle core.
const IDLE_TICK: Duration = Duration::from_secs(2);

/// Ticks for one engine. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Ticker(Arc<State>);

#[derive(Debug, Default)]
struct State {
    running: AtomicUsize,
    thread: OnceLock<Thread>,
}

/// A guest that runs on this thread; no more when this is dropped.
#[derive(Debug)]
pub struct Running<'a>(&'a State);

impl Ticker {
    /// Ticks until the engine is gone.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(engine: EngineWeak) -> io::Result<Self> {
        let ticker = Self::default();
        let state = Arc::clone(&ticker.0);
        let tick = move || {
            while let Some(engine) = engine.upgrade() {
                engine.increment_epoch();
                drop(engine);
                if !state.has_guests() {
                    thread::park_timeout(IDLE_TICK);
                }
                // A guest that wakes this thread gets a whole tick before the epoch moves. A guest that starts during the sleep
                // wakes no thread.
                thread::sleep(TICK);
            }
        };
        let handle = thread::Builder::new().name("plugin-ticker".to_owned()).spawn(tick)?;
        ticker.0.thread.get_or_init(|| handle.thread().clone());
        Ok(ticker)
    }

    /// A guest runs from now on.
    pub fn run(&self) -> Running<'_> {
        if self.0.running.fetch_add(1, Ordering::SeqCst) == 0
            && let Some(thread) = self.0.thread.get()
        {
            thread.unpark();
        }
        Running(&self.0)
    }
}

impl State {
    fn has_guests(&self) -> bool {
        self.running.load(Ordering::SeqCst) > 0
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
    }
}
