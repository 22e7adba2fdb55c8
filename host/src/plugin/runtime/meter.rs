//! CPU time of guests: each poll of a call is measured on the thread that it runs on, so what
//! other tasks and other processes take is not counted.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use metrics::Counter;

use super::ticker::Ticker;

/// A sum of CPU time. Cheap to clone.
#[derive(Clone)]
pub struct CpuTime {
    nanos: Arc<AtomicU64>,
    counter: Counter,
    ticker: Ticker,
}

/// The CPU time of one call until now, without what other tasks take while it lets them go first.
#[derive(Debug, Clone, Default)]
pub struct CallTime {
    spent: Arc<AtomicU64>,
    /// The thread's CPU time when the call began or went on; it stays on that thread until it yields.
    since: Arc<AtomicU64>,
}

impl CallTime {
    /// A call begins now, on this thread.
    pub fn begin(&self) {
        self.spent.store(0, Ordering::Relaxed);
        self.since.store(thread_cpu_nanos(), Ordering::Relaxed);
    }

    /// What it has taken until now.
    pub fn look(&self) -> Duration {
        let now = thread_cpu_nanos();
        let more = now.saturating_sub(self.since.swap(now, Ordering::Relaxed));
        let before = self.spent.fetch_add(more, Ordering::Relaxed);
        Duration::from_nanos(before.saturating_add(more))
    }

    /// Lets other tasks go first.
    pub fn step_back(&self) -> impl Future<Output = ()> + Send + 'static {
        let since = Arc::clone(&self.since);
        async move {
            tokio::task::yield_now().await;
            since.store(thread_cpu_nanos(), Ordering::Relaxed);
        }
    }
}

struct Measured<F> {
    of: Pin<Box<F>>,
    sum: CpuTime,
}

impl CpuTime {
    /// A sum that `/metrics` shows for a plugin in a slot.
    #[must_use]
    pub fn of_plugin(slot: &str, plugin: &str, ticker: &Ticker) -> Self {
        let counter = metrics::counter!(
            "waxwing_plugin_cpu_seconds_total",
            "slot" => slot.to_owned(), "plugin" => plugin.to_owned()
        );
        Self { nanos: Arc::default(), counter, ticker: ticker.clone() }
    }

    /// A sum that nobody else sees.
    #[must_use]
    pub fn unseen(ticker: &Ticker) -> Self {
        Self { nanos: Arc::default(), counter: Counter::noop(), ticker: ticker.clone() }
    }

    /// The sum until now.
    #[must_use]
    pub fn total(&self) -> Duration {
        Duration::from_nanos(self.nanos.load(Ordering::Relaxed))
    }

    /// What is counted are whole microseconds, and no part of one is lost; `/metrics` shows them as seconds.
    fn add(&self, nanos: u64) {
        let before = self.nanos.fetch_add(nanos, Ordering::Relaxed);
        self.counter.increment(before.saturating_add(nanos) / 1_000 - before / 1_000);
    }

    /// Runs a call, gives it its ticks, and adds the CPU time that it takes.
    pub fn of<F: Future + Send>(&self, call: F) -> impl Future<Output = F::Output> + Send {
        Measured { of: Box::pin(call), sum: self.clone() }
    }
}

impl std::fmt::Debug for CpuTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("CpuTime").field(&self.total()).finish()
    }
}

impl<F: Future> Future for Measured<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        let _running = this.sum.ticker.run();
        let before = thread_cpu_nanos();
        let polled = this.of.as_mut().poll(context);
        let took = thread_cpu_nanos().saturating_sub(before);
        this.sum.add(took);
        polled
    }
}

#[cfg(unix)]
fn thread_cpu_nanos() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let nanos = time.tv_sec.saturating_mul(1_000_000_000).saturating_add(time.tv_nsec);
    u64::try_from(nanos).unwrap_or(0)
}

/// Without a clock for a thread's CPU time, running time stands for it.
#[cfg(not(unix))]
fn thread_cpu_nanos() -> u64 {
    use std::sync::LazyLock;
    use std::time::Instant;
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(START.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOME: Duration = Duration::from_millis(100);

    fn work() {
        let begun = thread_cpu_nanos();
        while u128::from(thread_cpu_nanos() - begun) < SOME.as_nanos() {}
    }

    #[test]
    fn a_call_that_is_not_running_takes_no_time() {
        let time = CallTime::default();
        time.begin();
        work();
        assert!(time.look() >= SOME);
        time.begin();
        std::thread::sleep(SOME);
        assert!(time.look() < SOME / 2);
    }

    #[tokio::test]
    async fn what_others_do_while_it_steps_back_is_not_its_own() {
        let time = CallTime::default();
        time.begin();
        tokio::join!(time.step_back(), async { work() });
        assert!(time.look() < SOME / 2);
        work();
        assert!(time.look() >= SOME);
    }
}
