//! Permits whose number can be changed while some are held.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Semaphore;

use super::tasks::Tasks;

/// So many permits.
#[derive(Debug)]
pub struct Permits {
    semaphore: Arc<Semaphore>,
    size: Mutex<usize>,
    leaving: Tasks,
}

impl Permits {
    /// All free.
    #[must_use]
    pub fn new(size: usize) -> Self {
        let semaphore = Arc::new(Semaphore::new(size));
        Self { semaphore, size: Mutex::new(size), leaving: Tasks::default() }
    }

    /// Where they are taken.
    #[must_use]
    pub fn semaphore(&self) -> Arc<Semaphore> {
        Arc::clone(&self.semaphore)
    }

    /// Makes their number another one. Nobody loses a permit: with fewer of them, those that come back
    /// go before there are new ones.
    pub fn resize(&self, to: usize) {
        let mut size = self.size.lock().unwrap_or_else(PoisonError::into_inner);
        if to >= *size {
            self.semaphore.add_permits(to - *size);
        } else {
            let surplus = *size - to;
            let held = surplus - self.semaphore.forget_permits(surplus);
            self.forget_later(held);
        }
        *size = to;
    }

    fn forget_later(&self, held: usize) {
        let Some(held) = u32::try_from(held).ok().filter(|held| *held > 0) else { return };
        let semaphore = self.semaphore();
        self.leaving.start("fewer permits", async move {
            // An error means that it was closed, which nobody does.
            if let Ok(permits) = semaphore.acquire_many_owned(held).await {
                permits.forget();
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn more_permits_are_there_at_once() {
        let permits = Permits::new(1);
        let _held = permits.semaphore().try_acquire_owned().expect("free");
        permits.resize(3);
        assert_eq!(permits.semaphore.available_permits(), 2);
    }

    #[tokio::test]
    async fn fewer_permits_take_none_from_who_holds_it() {
        let permits = Permits::new(3);
        let held = permits.semaphore().try_acquire_many_owned(3).expect("free");
        permits.resize(1);
        permits.resize(1);
        let waiting = permits.semaphore().acquire_owned();
        tokio::task::yield_now().await;
        assert_eq!(held.num_permits(), 3);
        drop(held);
        drop(waiting.await.expect("open"));
        permits.leaving.finish().await;
        assert_eq!(permits.semaphore.available_permits(), 1);
    }

    #[tokio::test]
    async fn a_number_that_goes_down_and_up_again_is_what_it_was() {
        let permits = Permits::new(3);
        let held = permits.semaphore().try_acquire_many_owned(3).expect("free");
        permits.resize(1);
        permits.resize(2);
        drop(held);
        permits.leaving.finish().await;
        assert_eq!(permits.semaphore.available_permits(), 2);
    }
}
