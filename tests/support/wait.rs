//! Waiting for a condition, with a bound.

use std::future::Future;
use std::time::{Duration, Instant};

pub(crate) const POLL: Duration = Duration::from_millis(15);

/// Asks again and again until there is an answer.
///
/// # Panics
/// There is none within `bound`.
pub fn until<T>(what: &str, bound: Duration, mut ask: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(start.elapsed() < bound, "waited {bound:?} in vain: {what}");
        std::thread::sleep(POLL);
    }
}

/// The same for questions that wait themselves.
///
/// # Panics
/// There is no answer within `bound`.
pub async fn until_async<T, F>(what: &str, bound: Duration, mut ask: impl FnMut() -> F) -> T
where
    F: Future<Output = Option<T>>,
{
    let start = Instant::now();
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(start.elapsed() < bound, "waited {bound:?} in vain: {what}");
        tokio::time::sleep(POLL).await;
    }
}
