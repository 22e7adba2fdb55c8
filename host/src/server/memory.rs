//! Free memory goes back to the system. The allocator of glibc keeps what was free once, because its
//! thresholds grow with the largest block that was ever freed: after a peak, most of it stays resident.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// How often what is free in the middle of the heap is given back too.
const TRIM_INTERVAL: Duration = Duration::from_secs(10);

/// Fixes the thresholds. To be called before there is a second thread.
pub fn fix_thresholds() {
    allocator::fix_thresholds();
}

/// Gives back what is free, from time to time.
pub async fn give_back(stop: &CancellationToken) {
    while !stop.is_cancelled() {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(TRIM_INTERVAL) => {}
        }
        // Beside the runtime: each heap is locked while it is walked. A panic in it would be in the log.
        drop(tokio::task::spawn_blocking(allocator::give_back).await);
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod allocator {
    /// Larger blocks are mapped on their own, and so much may stay free at a heap's end.
    const THRESHOLD: libc::c_int = 1 << 20;

    #[expect(unsafe_code, reason = "two numbers are set, before there is a second thread")]
    pub fn fix_thresholds() {
        // SAFETY: mallopt takes no pointers, and no other thread allocates yet.
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, THRESHOLD);
            libc::mallopt(libc::M_TRIM_THRESHOLD, THRESHOLD);
        }
    }

    #[expect(unsafe_code, reason = "glibc has it for this, and for every thread")]
    pub fn give_back() {
        // SAFETY: malloc_trim takes no pointers and locks each heap that it walks.
        unsafe {
            libc::malloc_trim(0);
        }
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod allocator {
    pub fn fix_thresholds() {}

    pub fn give_back() {}
}
