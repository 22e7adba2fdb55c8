//! Mutexes whose holders never panic.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex. A poisoned one is used all the same: nothing that could panic runs under these locks.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
