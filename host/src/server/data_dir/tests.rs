use super::*;
use crate::backup::age::Identity;
use crate::backup::{BackupError, Destination, ObjectStoreSettings, back_up};
use crate::clock::{Clock, Timestamp};
use crate::id::MessageId;
use crate::store::seal::{Purpose, Seal};

#[test]
fn one_server_at_a_time_uses_a_directory() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = DataDir::open(directory.path()).expect("opened");
    let first = data.lock().expect("free");
    assert!(matches!(data.lock(), Err(DataDirError::Locked { .. })));
    assert!(data.is_held());
    drop(first);
    assert!(!data.is_held() && data.lock().is_ok());
}

#[test]
fn a_directory_in_the_place_of_a_file_is_refused_by_check_and_by_a_start() {
    let directory = tempfile::tempdir().expect("a directory");
    for name in [DATABASE, LOCK, MASTER_KEY, CONTROL] {
        std::fs::create_dir(directory.path().join(name)).expect("made");
    }
    let store =
        |path: &Path| config::Store { data_dir: path.to_owned(), ..config::Store::default() };
    assert_eq!(DataDir::check(&store(directory.path())).len(), 4);
    let opened = DataDir::open(directory.path());
    assert!(matches!(opened, Err(DataDirError::NoFile { .. })), "{opened:?}");
    let missing = directory.path().join("new");
    assert!(DataDir::check(&store(&missing)).is_empty() && !missing.exists());
}

#[test]
fn each_directory_has_an_identity_that_stays() {
    let directories = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
    let data = directories.each_ref().map(|it| DataDir::open(it.path()).expect("opened"));
    let identities = data.each_ref().map(|it| it.identity().expect("made"));
    assert_eq!(data.each_ref().map(|it| it.identity().expect("read")), identities);
    assert_ne!(identities[0], identities[1]);
}

#[test]
fn the_master_key_stays_the_same() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = with_a_key(directory.path());
    let made = data.master_key().expect("made");
    data.make_master_key().expect("there is one");
    assert_eq!(data.master_key().expect("read"), made);
    std::fs::write(data.file("master.key"), b"short").expect("written");
    assert!(matches!(data.master_key(), Err(DataDirError::BadKey { .. })));
}

/// A data directory after the first start.
fn with_a_key(path: &Path) -> DataDir {
    let data = DataDir::open(path).expect("opened");
    data.make_master_key().expect("made");
    data
}

#[test]
fn a_key_that_was_lost_is_not_replaced_by_one_that_opens_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = with_a_key(directory.path());
    std::fs::remove_file(data.file(MASTER_KEY)).expect("removed");
    let is_missing = |it: &DataDirError| matches!(it, DataDirError::MissingKey { .. });
    assert!(data.backup_source(None).is_err_and(|it| is_missing(&it)));
    assert!(data.key_ring().is_err_and(|it| is_missing(&it)));
    assert!(!data.has_master_key() && data.key_fault().is_some());
}

#[test]
fn a_master_key_that_the_configuration_names_is_read_there_and_never_made() {
    let directory = tempfile::tempdir().expect("a directory");
    let key_file = directory.path().join("shared.key");
    let store = config::Store {
        data_dir: directory.path().join("data"),
        master_key_file: Some(key_file.clone()),
        ..config::Store::default()
    };
    let data = DataDir::of(&store).expect("opened");
    let missing = data.master_key();
    assert!(matches!(missing, Err(DataDirError::NoKey { .. })), "{missing:?}");
    assert_eq!(DataDir::check(&store).len(), 1, "a check says the same");
    std::fs::write(&key_file, [7; 32]).expect("written");
    assert_eq!(data.master_key().expect("read"), [7; 32]);
    assert!(!data.file(MASTER_KEY).exists(), "there is no second key");
}

#[test]
fn a_running_server_takes_over_new_keys_for_seals_and_return_paths() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = with_a_key(directory.path());
    let (server, first) = (data.clone(), data.master_keys().expect("made"));
    let message = MessageId::new(Timestamp::from_millis(1_800_000_000_000));
    let host = "bounce.example.com".parse().expect("a name");
    let seal = Seal::of(&server.key_ring().expect("a ring"), Purpose::Factors);
    let verp = server.verp().expect("return paths");
    let path = |verp: &Verp| verp.address(message, &host).expect("there is room");
    let (before, sealed) = (path(&verp), seal.seal("usr_1", b"secret"));
    let second = MasterKey::random(Some(Timestamp::from_millis(1_800_000_000_000)));
    let other = DataDir::open(directory.path()).expect("opened by the command line");
    other.write_master_keys(&[second, first[0].clone()]).expect("written");
    server.refresh_keys();
    assert_eq!(seal.key_of("usr_1", &sealed), Ok(1));
    assert_eq!(seal.key_of("usr_1", &seal.seal("usr_1", b"secret")), Ok(0));
    assert_ne!(path(&verp), before);
    assert_eq!(verp.read(before.local()), Some(message));
    std::fs::remove_file(data.file(MASTER_KEY)).expect("removed");
    server.refresh_keys();
    assert!(seal.open("usr_1", &sealed).is_ok(), "the keys in memory stay");
}

#[test]
fn each_fault_of_the_master_key_is_told_once_and_so_is_its_end() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = with_a_key(directory.path());
    let known = data.server_keys().expect("made");
    let whole = std::fs::read(data.file(MASTER_KEY)).expect("there");
    let is_news = || known.is_news(data.key_fault().as_ref());
    assert!(!is_news(), "nothing is wrong");
    std::fs::write(data.file(MASTER_KEY), "short").expect("written");
    assert_eq!([is_news(), is_news()], [true, false], "it is broken");
    std::fs::remove_file(data.file(MASTER_KEY)).expect("removed");
    assert_eq!([is_news(), is_news()], [true, false], "it is missing");
    assert!(!data.has_master_key(), "a look makes none");
    std::fs::write(data.file(MASTER_KEY), whole).expect("written");
    assert_eq!([is_news(), is_news()], [true, false], "it is there again");
}

/// The files in the directory that somebody has begun to write.
fn partial(data: &DataDir) -> Vec<String> {
    let entries = std::fs::read_dir(&data.path).expect("readable");
    let names = entries.map(|it| it.expect("readable").file_name().into_string().expect("UTF-8"));
    names.filter(|it| it.ends_with(".partial")).collect()
}

#[test]
fn a_private_file_that_cannot_be_written_leaves_nothing_behind() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = DataDir::open(directory.path()).expect("opened");
    // What no file can take the place of.
    std::fs::create_dir(data.file(IDENTITY)).expect("made");
    let refused = data.write_private(IDENTITY, b"a secret");
    assert!(matches!(refused, Err(DataDirError::Io { .. })), "{refused:?}");
    assert_eq!(partial(&data), [""; 0]);
}

#[test]
fn a_start_removes_files_that_a_process_which_is_gone_had_begun() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = DataDir::open(directory.path()).expect("opened");
    let mut gone = std::process::Command::new("true").spawn().expect("it starts");
    gone.wait().expect("it ends");
    let mut writing = std::process::Command::new("sleep").arg("60").spawn().expect("it starts");
    let name = |process: u32| format!("master.key.{process}.partial");
    for process in [gone.id(), writing.id(), std::process::id()] {
        std::fs::write(data.file(&name(process)), "half a key").expect("written");
    }
    data.remove_left_over();
    let left = partial(&data);
    writing.kill().expect("it sleeps");
    writing.wait().expect("it ends");
    assert_eq!(left, [name(writing.id())], "what somebody writes stays");
}

#[test]
fn one_process_at_a_time_changes_the_keys() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = DataDir::open(directory.path()).expect("opened");
    let first = data.lock_keys().expect("free");
    assert!(matches!(data.lock_keys(), Err(DataDirError::KeysLocked { .. })));
    drop(first);
    assert!(data.lock_keys().is_ok() && data.lock().is_ok());
}

/// A data directory whose master key is in a file that the configuration names.
fn with_a_key_elsewhere(directory: &Path) -> (DataDir, PathBuf) {
    let key_file = directory.join("shared.key");
    std::fs::write(&key_file, [7; 32]).expect("written");
    let store = config::Store {
        data_dir: directory.join("data"),
        master_key_file: Some(key_file.clone()),
        ..config::Store::default()
    };
    (DataDir::of(&store).expect("opened"), key_file)
}

#[test]
fn new_keys_are_written_where_the_configuration_names_the_file() {
    let directory = tempfile::tempdir().expect("a directory");
    let (data, _) = with_a_key_elsewhere(directory.path());
    let _alone = data.lock_keys().expect("free");
    let keys = [MasterKey::random(None), data.master_keys().expect("read")[0].clone()];
    data.write_master_keys(&keys).expect("written");
    assert_eq!(data.master_keys().expect("read"), keys);
    assert!(!data.file(MASTER_KEY).exists(), "there is no second file");
}

#[test]
fn a_backup_has_the_master_key_that_the_configuration_names() {
    let directory = tempfile::tempdir().expect("a directory");
    let (data, key_file) = with_a_key_elsewhere(directory.path());
    let source = data.backup_source(None).expect("there is a key");
    assert_eq!(source.key, (MASTER_KEY, key_file));
    assert!(!data.file(MASTER_KEY).exists(), "there is no second key");
}

#[tokio::test]
async fn no_backup_is_taken_while_a_master_key_leaves() {
    let directory = tempfile::tempdir().expect("a directory");
    let data = with_a_key(directory.path());
    let source = data.backup_source(None).expect("there is a key");
    let _leaving = data.lock_backups().expect("free");
    let to = directory.path().join("backups");
    let to = Destination::new(to.to_str().expect("UTF-8"), &ObjectStoreSettings::default());
    let recipients = [Identity::random().expect("made").recipient()];
    let refused = back_up(&source, &to.expect("valid"), &recipients, &Clock::system()).await;
    assert!(matches!(refused, Err(BackupError::UnderWay)), "{refused:?}");
}

#[cfg(unix)]
#[test]
fn what_root_writes_belongs_to_the_owner_of_the_directory() {
    use std::os::unix::fs::{MetadataExt as _, chown};
    let home = tempfile::tempdir().expect("a directory");
    let data = DataDir::open(&home.path().join("data")).expect("opened");
    // Only root can give a directory away; another user's files are that user's in any case.
    if rustix::process::geteuid().is_root() {
        chown(&data.path, Some(65_534), Some(65_534)).expect("given away");
    }
    let owner = std::fs::metadata(&data.path).expect("there").uid();
    let _lock = data.lock().expect("free");
    data.database().expect("made");
    data.make_master_key().expect("made");
    data.write_private("master.key", &[7; 32]).expect("replaced");
    for name in [LOCK, DATABASE, MASTER_KEY] {
        let about = std::fs::metadata(data.file(name)).expect("there");
        assert_eq!(about.uid(), owner, "{name}");
    }
}
