//! Instances of a policy: a fresh one for every call, or warm ones for interpreters.

use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::error::CallFailure;
use super::generation::Generation;
use super::instance::Instance;
use super::log::CallPurpose;
use super::world::World;

/// Calls of a warm instance before it makes room for a fresh one.
const RECYCLED_AFTER: u32 = 1_000;
/// Calls of one generation that run at a time; more wait.
const MAX_PARALLEL_CALLS: usize = 32;
/// Warm instances that are kept idle.
const MAX_IDLE_INSTANCES: usize = 4;

/// Whether instances are used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Instances {
    /// Each call has a fresh one: nothing of one call can be seen in the next.
    Fresh,
    /// Kept warm, and recycled after 1,000 calls and after any trap: for interpreters.
    Warm,
}

/// The generation, and its instances that wait for a call.
pub struct Pool<W: World> {
    generation: Generation<W>,
    instances: Instances,
    places: Semaphore,
    idle: Mutex<Vec<Used<W>>>,
}

/// An instance for one call.
pub struct Borrowed<'a, W: World> {
    used: Used<W>,
    pool: &'a Pool<W>,
    _place: Option<SemaphorePermit<'a>>,
}

struct Used<W: World> {
    instance: Instance<W>,
    calls: u32,
}

impl<W: World> Pool<W> {
    /// A pool with nothing in it.
    pub fn new(generation: Generation<W>, instances: Instances) -> Self {
        Self {
            generation,
            instances,
            places: Semaphore::new(MAX_PARALLEL_CALLS),
            idle: Mutex::new(Vec::new()),
        }
    }

    /// What its instances are of.
    pub fn generation(&self) -> &Generation<W> {
        &self.generation
    }

    /// An instance for one call; waits while too many calls run.
    pub async fn borrow(&self, purpose: CallPurpose) -> Result<Borrowed<'_, W>, CallFailure> {
        // Never closed, so the only answer is a place.
        let place = self.places.acquire().await.ok();
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let used = match idle {
            Some(used) => used,
            None => Used { instance: self.generation.instance(purpose).await?, calls: 0 },
        };
        Ok(Borrowed { used, pool: self, _place: place })
    }
}

impl<W: World> Borrowed<'_, W> {
    pub fn instance(&mut self) -> &mut Instance<W> {
        &mut self.used.instance
    }

    /// Gives it back after a call that went well. After a trap it is dropped instead.
    pub fn give_back(self) {
        let Self { mut used, pool, .. } = self;
        used.calls += 1;
        if pool.instances == Instances::Fresh || used.calls >= RECYCLED_AFTER {
            return;
        }
        let mut idle = pool.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MAX_IDLE_INSTANCES {
            idle.push(used);
        }
    }
}

impl<W: World> std::fmt::Debug for Pool<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("generation", &self.generation).finish_non_exhaustive()
    }
}
