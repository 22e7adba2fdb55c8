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

/// The CPU time of one call, without what other tasks take while they go first. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct CallTime(Arc<Spent>);

#[derive(Debug, Default)]
struct Spent {
    /// In the polls that have ended.
    nanos: AtomicU64,
    /// The thread's CPU time at the begin of the current poll; a poll stays on its thread.
    since: AtomicU64,
}

impl CallTime {
    /// Another call begins.
    pub fn begin(&self) {
        self.0.nanos.store(0, Ordering::Relaxed);
    }

    /// What the call has taken until now. Only code that runs inside the call may ask.
    pub fn look(&self) -> Duration {
        let since = self.0.since.load(Ordering::Relaxed);
        let spent = self.0.nanos.load(Ordering::Relaxed);
        Duration::from_nanos(spent.saturating_add(thread_cpu_nanos().saturating_sub(since)))
    }
}

/// Measures the CPU time of one call of a plugin instance.
#[derive(Debug)]
pub struct CallMeter {
    /// Of all calls of the plugin.
    pub sum: CpuTime,
    /// Of this call, for its time limit.
    pub call: CallTime,
}

impl CallMeter {
    /// Runs a call, gives the call its ticks, and adds the CPU time that the call takes.
    pub fn of<F: Future + Send>(self, call: F) -> impl Future<Output = F::Output> + Send {
        Measured { of: Box::pin(call), meter: self }
    }
}

struct Measured<F> {
    of: Pin<Box<F>>,
    meter: CallMeter,
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
}

impl std::fmt::Debug for CpuTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("CpuTime").field(&self.total()).finish()
    }
}

impl<F: Future> Future for Measured<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Self { of, meter: CallMeter { sum, call } } = &mut *self;
        let _running = sum.ticker.run();
        // Each reading of the thread's clock is a system call: these two serve the plugin's sum and the time limit.
        let before = thread_cpu_nanos();
        call.0.since.store(before, Ordering::Relaxed);
        let polled = of.as_mut().poll(context);
        let took = thread_cpu_nanos().saturating_sub(before);
        call.0.nanos.fetch_add(took, Ordering::Relaxed);
        sum.add(took);
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

    fn meter() -> CallMeter {
        CallMeter { sum: CpuTime::unseen(&Ticker::default()), call: CallTime::default() }
    }

    fn work() {
        let begun = thread_cpu_nanos();
        while u128::from(thread_cpu_nanos() - begun) < SOME.as_nanos() {}
    }

    #[tokio::test]
    async fn a_call_that_is_not_running_takes_no_time() {
        let meter = meter();
        let (sum, call) = (meter.sum.clone(), meter.call.clone());
        meter
            .of(async {
                work();
                assert!(call.look() >= SOME);
                std::thread::sleep(SOME);
                assert!(call.look() < SOME * 3 / 2);
            })
            .await;
        assert!(sum.total() >= SOME);
        call.begin();
        let again = CallMeter { sum, call: call.clone() };
        again.of(async { assert!(call.look() < SOME / 2, "it is another call") }).await;
    }

    #[tokio::test]
    async fn what_others_do_while_it_steps_back_is_not_its_own() {
        let meter = meter();
        let (sum, call) = (meter.sum.clone(), meter.call.clone());
        let it = meter.of(async {
            work();
            tokio::task::yield_now().await;
            let before = call.look();
            assert!(before >= SOME, "what it took before it stepped back counts");
            work();
            before..call.look()
        });
        let (took, ()) = tokio::join!(it, async { work() });
        assert!(took.start < SOME * 3 / 2);
        assert!(took.end >= SOME * 2);
        assert!(sum.total() < SOME * 5 / 2);
    }
}
