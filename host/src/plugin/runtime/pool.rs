//! The pool of WebAssembly instances of one plugin generation, with a bound on parallel calls: a fresh instance for
//! every call, or warm ones for interpreters and for plugins that keep no state.

use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::{Semaphore, SemaphorePermit};

use super::artifact::Artifact;
use super::error::CallFailure;
use super::generation::Generation;
use super::instance::Instance;
use super::kind::Kind;
use super::log::CallPurpose;
use super::world::World;

/// Calls of one generation that run at a time; more wait.
const MAX_PARALLEL_CALLS: usize = 32;
/// Warm instances that are kept idle, at most.
const MAX_IDLE_INSTANCES: usize = 4;

/// Whether instances are used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Instances {
    /// Each call has a fresh one: nothing of one call can be seen in the next.
    Fresh,
    /// Kept warm, and recycled after 1,000 calls and after any trap: for interpreters.
    Warm,
    /// Declared to keep no state, and checked for that before it is live; kept warm, and recycled after 250
    /// calls and after any trap.
    Stateless,
}

impl Instances {
    /// How the instances of a plugin are used where its slot's file does not say.
    #[must_use]
    pub fn usual(kind: Kind, artifact: &Artifact) -> Self {
        match kind {
            Kind::Renderer => Self::Warm,
            Kind::Plan if artifact.is_builtin() => Self::Stateless,
            Kind::Plan | Kind::Domain | Kind::Mjml if artifact.embeds_an_interpreter() => {
                Self::Warm
            }
            Kind::Plan | Kind::Domain | Kind::Mjml => Self::Fresh,
        }
    }

    /// Calls of one instance before it makes room for a fresh one.
    #[must_use]
    pub const fn calls_per_instance(self) -> u32 {
        match self {
            Self::Fresh => 1,
            Self::Warm => 1_000,
            Self::Stateless => 250,
        }
    }
}

/// The generation, and its instances that wait for a call.
pub struct Pool<W: World> {
    generation: Generation<W>,
    instances: Instances,
    call_permits: Semaphore,
    idle: Mutex<Vec<PooledInstance<W>>>,
}

/// An instance for one call.
pub struct BorrowedInstance<'a, W: World> {
    pooled: PooledInstance<W>,
    pool: &'a Pool<W>,
    _permit: Option<SemaphorePermit<'a>>,
}

struct PooledInstance<W: World> {
    instance: Instance<W>,
    calls: u32,
}

impl<W: World> Pool<W> {
    /// A pool with nothing in it.
    pub fn new(generation: Generation<W>, instances: Instances) -> Self {
        Self {
            generation,
            instances,
            call_permits: Semaphore::new(MAX_PARALLEL_CALLS),
            idle: Mutex::new(Vec::new()),
        }
    }

    /// What its instances are of.
    pub fn generation(&self) -> &Generation<W> {
        &self.generation
    }

    /// An instance for one call; waits, without a time-out, for one of the permits.
    pub async fn borrow(
        &self,
        purpose: CallPurpose,
    ) -> Result<BorrowedInstance<'_, W>, CallFailure> {
        // Never closed, so the only answer is a permit.
        let permit = self.call_permits.acquire().await.ok();
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let pooled = match idle {
            Some(pooled) => pooled,
            None => PooledInstance { instance: self.generation.instance(purpose).await?, calls: 0 },
        };
        Ok(BorrowedInstance { pooled, pool: self, _permit: permit })
    }
}

impl<W: World> BorrowedInstance<'_, W> {
    pub fn instance(&mut self) -> &mut Instance<W> {
        &mut self.pooled.instance
    }

    /// Gives it back after a call that went well. After a trap it is dropped instead.
    pub fn give_back(self) {
        let Self { mut pooled, pool, .. } = self;
        pooled.calls += 1;
        if pooled.calls >= pool.instances.calls_per_instance() {
            return;
        }
        let mut idle = pool.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MAX_IDLE_INSTANCES {
            idle.push(pooled);
        }
    }
}

impl<W: World> std::fmt::Debug for Pool<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("generation", &self.generation).finish_non_exhaustive()
    }
}
