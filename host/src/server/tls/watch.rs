//! Hears of new certificate files: from the system, by a look every 30 s where the system says
//! nothing, and by SIGHUP.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::Certificates;
use super::error::CertificateError;
use crate::server::directory;
use crate::server::hangups::Hangups;

/// As long as files are being exchanged, they are not read.
const SETTLE_TIME: Duration = Duration::from_millis(500);
const MAX_CHANGES: u32 = 20;
const LOOK_INTERVAL: Duration = Duration::from_secs(30);
const WARNED_BEFORE_END: Duration = Duration::from_hours(24 * 14);

/// Exchanges the certificate when its files change. Nobody else does: two that read and exchange at one time could leave the
/// older one.
#[derive(Debug)]
pub struct Watch {
    certificates: Arc<Certificates>,
    changed: Arc<Notify>,
    hangups: Hangups,
    warned_on: Option<i64>,
    #[expect(dead_code, reason = "the system is asked as long as it lives")]
    watcher: Option<RecommendedWatcher>,
}

/// Why the files are read again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cause {
    Changed,
    HangUp,
    Look,
}

impl Watch {
    /// Watches from now on; SIGHUP no longer ends the process.
    ///
    /// # Errors
    /// The operating system does not give signals.
    pub fn new(certificates: Arc<Certificates>) -> std::io::Result<Self> {
        let changed = Arc::new(Notify::new());
        let watcher = watcher(&certificates, Arc::clone(&changed)).inspect_err(|error| {
            tracing::warn!(%error, "cannot watch the files of the TLS certificate; reading them every 30 s instead");
        });
        let hangups = Hangups::listen()?;
        Ok(Self { certificates, changed, hangups, warned_on: None, watcher: watcher.ok() })
    }

    /// Runs until `stop`.
    pub async fn run(mut self, stop: CancellationToken) {
        loop {
            self.warn_of_the_end();
            let cause = tokio::select! {
                cause = self.next() => cause,
                () = stop.cancelled() => return,
            };
            let certificates = Arc::clone(&self.certificates);
            let read = tokio::task::spawn_blocking(move || match cause {
                Cause::HangUp => certificates.reload(),
                Cause::Changed | Cause::Look => certificates.reload_if_changed(),
            });
            if let Ok(Some(outcome)) = read.await {
                self.tell(outcome);
            }
        }
    }

    async fn next(&mut self) -> Cause {
        tokio::select! {
            () = self.hangups.next() => Cause::HangUp,
            () = tokio::time::sleep(LOOK_INTERVAL) => Cause::Look,
            () = self.changed.notified() => {
                self.settle().await;
                Cause::Changed
            }
        }
    }

    /// Until nothing changes any more; a directory that never rests is not waited for.
    async fn settle(&self) {
        for _ in 0..MAX_CHANGES {
            if tokio::time::timeout(SETTLE_TIME, self.changed.notified()).await.is_err() {
                return;
            }
        }
    }

    fn tell(&mut self, outcome: Result<(), CertificateError>) {
        match outcome {
            Ok(()) => {
                self.warned_on = None;
                let until = self.certificates.expires_at().map(tracing::field::display);
                tracing::info!(
                    until,
                    "the TLS certificate was loaded; the next handshake shows it"
                );
            }
            Err(error) => {
                tracing::error!(%error, "the new TLS certificate is refused; the old one stays");
            }
        }
    }

    /// Once a day.
    fn warn_of_the_end(&mut self) {
        let Some(until) = self.certificates.expires_at() else { return };
        let now = self.certificates.clock.now();
        if now.until(until) < WARNED_BEFORE_END && self.warned_on != Some(now.day()) {
            self.warned_on = Some(now.day());
            tracing::warn!(%until, "the TLS certificate expires soon, or has expired: renew it");
        }
    }
}

fn watcher(
    certificates: &Certificates,
    changed: Arc<Notify>,
) -> notify::Result<RecommendedWatcher> {
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        // Our own reading is an event too.
        if !event.is_ok_and(|event| event.kind.is_access()) {
            changed.notify_one();
        }
    })?;
    // The directories, not the files: a rename and a swapped link are changes of the directory.
    let pairs = certificates.issued.iter().chain([&certificates.pair]);
    let files = pairs.flat_map(|pair| [&pair.certificate, &pair.private_key]);
    let directories: BTreeSet<&Path> = files.map(|file| directory::of_file(&file.path)).collect();
    for directory in directories {
        watcher.watch(directory, RecursiveMode::NonRecursive)?;
    }
    Ok(watcher)
}

#[cfg(test)]
mod tests;
