//! Files of an earlier version, and the copies that are kept of them.

use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};
use tempfile::TempDir;

use super::*;
use crate::store::database::BASELINE;

/// A database of the first schema that is migrated and not converted.
async fn earlier(directory: &TempDir) -> PathBuf {
    let file = directory.path().join("waxwing.db");
    let options = SqliteConnectOptions::new().filename(&file).create_if_missing(true);
    let mut connection = options.connect().await.expect("opens");
    BASELINE.run(&mut connection).await.expect("made");
    connection.close().await.expect("closed");
    file
}

async fn upgrade(file: &Path) -> Result<(), StoreError> {
    Store::upgrade(&Place::File(file.to_owned()), &Clock::system()).await
}

/// The names of the copies, in their order.
fn copies(directory: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(directory.path()).expect("readable");
    let names = entries.map(|it| it.expect("readable").file_name().into_string().expect("UTF-8"));
    let mut names: Vec<String> = names.filter(|it| it.contains(COPY)).collect();
    names.sort();
    names
}

#[tokio::test]
async fn an_upgrade_keeps_a_copy_whose_server_holds_delivery() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = earlier(&directory).await;
    upgrade(&file).await.expect("upgraded");
    let store = Store::open(&file).await.expect("opens");
    assert_eq!(store.delivery_hold().await.expect("readable"), None);
    store.close().await;
    let copy = directory.path().join("waxwing.db.schema-16");
    let back = directory.path().join("back.db");
    fs::rename(&copy, &back).expect("renamed");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(&back).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "for its owner only");
    }
    assert_eq!(database::earlier_schema(&back).expect("readable"), Some(BASELINE_SCHEMA));
    upgrade(&back).await.expect("upgraded");
    let store = Store::open(&back).await.expect("opens");
    assert!(store.delivery_hold().await.expect("readable").is_some());
}

#[tokio::test]
async fn a_new_file_and_one_of_this_version_get_no_copy() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("waxwing.db");
    fs::write(&file, "").expect("written");
    for _ in 0..2 {
        upgrade(&file).await.expect("nothing is to be done");
        Store::open(&file).await.expect("opens").close().await;
    }
    assert_eq!(copies(&directory), [""; 0]);
}

#[tokio::test]
async fn a_file_of_an_earlier_version_is_opened_after_its_upgrade_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = earlier(&directory).await;
    Store::check(&Place::File(file.clone())).await.expect("a server can bring it up to date");
    let refused = Store::open(&file).await.expect_err("refused");
    assert!(matches!(refused, StoreError::Earlier), "{refused}");
    assert_eq!(database::earlier_schema(&file).expect("readable"), Some(BASELINE_SCHEMA));
    assert_eq!(copies(&directory), [""; 0]);
    upgrade(&file).await.expect("upgraded");
    Store::open(&file).await.expect("opens").close().await;
}

#[tokio::test]
async fn the_copies_of_the_last_two_upgrades_stay() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = earlier(&directory).await;
    for (schema, day) in [(20, 3), (18, 1), (30, 2)] {
        let copy = File::create(beside(&file, &format!("{COPY}{schema}"))).expect("made");
        let then = UNIX_EPOCH + Duration::from_hours(24 * day);
        copy.set_modified(then).expect("set");
    }
    // What was left of a copy that was interrupted.
    fs::write(beside(&file, DRAFT), "a part").expect("written");
    upgrade(&file).await.expect("upgraded");
    assert_eq!(copies(&directory), ["waxwing.db.schema-16", "waxwing.db.schema-20"]);
    assert!(!beside(&file, DRAFT).exists());
}

#[tokio::test]
async fn without_a_copy_a_file_is_not_brought_up_to_date() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = earlier(&directory).await;
    // What cannot be removed as a file.
    fs::create_dir(beside(&file, DRAFT)).expect("made");
    let refused = upgrade(&file).await.expect_err("refused");
    assert!(refused.to_string().contains("is as it was"), "{refused}");
    assert_eq!(database::earlier_schema(&file).expect("readable"), Some(BASELINE_SCHEMA));
}
