//! Each cause is heard; what happens then is tested with the certificates.

use std::time::Duration;

use tokio::sync::Mutex;

use super::*;
use crate::clock::Clock;
use crate::config::{Acme, Hostname, Smtp};
use crate::server::data_dir::DataDir;

/// A signal is sent to the whole process: every watch hears of it.
static ALONE: Mutex<()> = Mutex::const_new(());

fn certificates(directory: &Path) -> Arc<Certificates> {
    let data = DataDir::open(directory).expect("a data directory");
    let (smtp, acme, hostname) = (Smtp::default(), Acme::default(), Hostname::localhost());
    let certificates = Certificates::open((&smtp, &acme), &data, &hostname, Clock::system());
    Arc::new(certificates.expect("made"))
}

async fn cause(watch: &mut Watch) -> Cause {
    tokio::time::timeout(Duration::from_secs(20), watch.next()).await.expect("heard")
}

#[tokio::test]
async fn a_file_that_is_renamed_into_place_is_heard_of() {
    let _alone = ALONE.lock().await;
    let directory = tempfile::tempdir().expect("a directory");
    let certificates = certificates(directory.path());
    let mut watch = Watch::new(Arc::clone(&certificates)).expect("watched");
    let path = &certificates.pair.certificate.path;
    let beside = path.with_extension("new");
    std::fs::copy(path, &beside).expect("copied");
    std::fs::rename(&beside, path).expect("renamed");
    assert_eq!(cause(&mut watch).await, Cause::Changed);
}

#[cfg(unix)]
#[tokio::test]
async fn a_hangup_is_an_order_and_ends_nothing() {
    let _alone = ALONE.lock().await;
    let directory = tempfile::tempdir().expect("a directory");
    let mut watch = Watch::new(certificates(directory.path())).expect("watched");
    let own = rustix::process::getpid();
    rustix::process::kill_process(own, rustix::process::Signal::HUP).expect("sent");
    assert_eq!(cause(&mut watch).await, Cause::HangUp);
}
