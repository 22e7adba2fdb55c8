use super::*;
use crate::backup::back_up;
use crate::clock::Clock;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

/// A data directory, its backup, and what opens that.
async fn backed_up() -> (tempfile::TempDir, Identity) {
    let home = tempfile::tempdir().expect("a directory");
    let data = DataDir::open(&home.path().join("data")).expect("opened");
    let store = Store::open(&data.database().expect("made")).await.expect("opens");
    store.close().await;
    let acme = data.acme().expect("made");
    acme.write_private("certificate.pem", b"a chain and its key").expect("written");
    let identity = Identity::random().expect("made");
    data.make_master_key().expect("made");
    let source = data.backup_source(None).expect("there is a key");
    let to = home.path().join("backups");
    let to = Destination::new(to.to_str().expect("UTF-8"), &ObjectStoreSettings::default());
    let recipients = [identity.recipient()];
    let clock = Clock::manual(NOW);
    back_up(&source, &to.expect("valid"), &recipients, &clock).await.expect("taken");
    (home, identity)
}

async fn restore_into(
    home: &Path,
    name: &str,
    identity: Identity,
    existing: Existing,
) -> Result<Restored, RestoreError> {
    let from = home.join("backups");
    let settings = ObjectStoreSettings::default();
    let from = from.to_str().expect("UTF-8");
    restore(from, &home.join(name), identity, (existing, &settings), NOW).await
}

#[tokio::test]
async fn a_restored_directory_has_the_same_keys_and_its_files_are_private() {
    let (home, identity) = backed_up().await;
    let restored = restore_into(home.path(), "new", identity, Existing::Refuse).await;
    let restored = restored.expect("restored");
    assert_eq!((restored.moved_to, restored.manifest.taken_at), (None, NOW));
    let read = |data: &str, name| std::fs::read(home.path().join(data).join(name));
    for name in ["master.key", "acme/certificate.pem"] {
        assert_eq!(read("new", name).expect("there"), read("data", name).expect("there"));
    }
    for name in ["new", "new/master.key", "new/waxwing.db", "new/acme", "new/acme/certificate.pem"]
    {
        let about = std::fs::metadata(home.path().join(name)).expect("there");
        let mode = std::os::unix::fs::PermissionsExt::mode(&about.permissions());
        assert_eq!(mode & 0o077, 0, "{name}: {mode:o}");
    }
    let left = std::fs::read_dir(home.path()).expect("read").count();
    assert_eq!(left, 3, "data, backups, new");
}

#[tokio::test]
async fn a_restore_stands_in_the_audit_log_of_what_it_has_restored() {
    let (home, identity) = backed_up().await;
    let restored = restore_into(home.path(), "new", identity, Existing::Refuse).await;
    let backup = restored.expect("restored").backup;
    assert!(!home.path().join("new/waxwing.db-wal").exists(), "all is in the file");
    for (data, count) in [("data", 0), ("new", 1)] {
        let file = home.path().join(data).join("waxwing.db");
        let store = Store::open(&file).await.expect("opens");
        let rows = store.audit_of_server(None, 9).await.expect("read");
        assert_eq!(rows.len(), count, "{data}");
        for (_, row) in rows {
            assert_eq!((row.action.as_str(), row.at), ("restore_backup", NOW));
            assert_eq!(row.actor, ActorId::CommandLine);
            assert!(row.subject.is_some_and(|it| it.starts_with(&backup)));
        }
        store.close().await;
    }
}

#[tokio::test]
async fn a_directory_in_use_is_refused_and_one_with_files_is_never_changed() {
    let (home, identity) = backed_up().await;
    let again = || Identity::of_file(&identity.reveal()).expect("the same");
    let data = DataDir::unopened_at(&home.path().join("data"));
    let server = data.lock().expect("free");
    for existing in [Existing::Refuse, Existing::MoveAside] {
        let refused = restore_into(home.path(), "data", again(), existing).await;
        let refused = refused.expect_err("a server runs");
        assert!(matches!(refused, RestoreError::DataDir(DataDirError::Locked { .. })), "{refused}");
    }
    drop(server);
    let refused = restore_into(home.path(), "data", again(), Existing::Refuse).await;
    assert!(matches!(refused, Err(RestoreError::NotEmpty { .. })), "{refused:?}");
    let restored = restore_into(home.path(), "data", again(), Existing::MoveAside).await;
    let aside = restored.expect("restored").moved_to.expect("moved aside");
    assert!(aside.join("waxwing.db").is_file() && home.path().join("data/waxwing.db").is_file());
}

#[test]
fn a_link_or_a_mount_point_is_refused_before_anything_is_unpacked() {
    let home = tempfile::tempdir().expect("a directory");
    let [target, link] = ["target", "link"].map(|it| home.path().join(it));
    assert!(is_replaceable(&target), "it can be made");
    std::fs::create_dir(&target).expect("made");
    std::os::unix::fs::symlink(&target, &link).expect("linked");
    assert!(is_replaceable(&target) && !is_replaceable(&link));
    assert!(!is_replaceable(Path::new("/proc")), "another file system is mounted there");
}

#[test]
fn a_server_that_starts_during_a_restore_keeps_its_directory() {
    let home = tempfile::tempdir().expect("a directory");
    let [unpacked, place] = ["unpacked", "data"].map(|it| home.path().join(it));
    std::fs::create_dir(&unpacked).expect("made");
    for existing in [Existing::Refuse, Existing::MoveAside] {
        let looked = check(&place, existing).expect("nothing is there yet");
        assert!(looked.is_none());
        let server = DataDir::open(&place).expect("opened").lock().expect("free");
        let refused = put_in_place(&unpacked, &place, (existing, looked), NOW);
        let refused = refused.expect_err("a server runs");
        assert!(matches!(refused, RestoreError::DataDir(DataDirError::Locked { .. })), "{refused}");
        drop(server);
        std::fs::remove_dir_all(&place).expect("removed");
    }
    put_in_place(&unpacked, &place, (Existing::Refuse, None), NOW).expect("nobody has it");
    assert!(place.is_dir());
}

#[tokio::test]
async fn a_truncated_backup_makes_no_directory() {
    let (home, identity) = backed_up().await;
    let backups = home.path().join("backups");
    let entry = std::fs::read_dir(&backups).expect("read").next().expect("one").expect("one");
    let whole = std::fs::read(entry.path()).expect("readable");
    std::fs::write(entry.path(), &whole[..whole.len() - 1]).expect("written");
    let refused = restore_into(home.path(), "new", identity, Existing::Refuse).await;
    assert!(
        matches!(refused, Err(RestoreError::Backup(BackupError::Archive { .. }))),
        "{refused:?}"
    );
    assert!(!home.path().join("new").exists());
    assert_eq!(std::fs::read_dir(home.path()).expect("read").count(), 2, "nothing is left behind");
}

#[tokio::test]
async fn a_restore_removes_what_an_interrupted_one_left_and_no_other() {
    let (home, identity) = backed_up().await;
    let running = Scratch::make_in(home.path()).expect("made");
    let about = std::fs::metadata(running.path()).expect("there");
    let mode = std::os::unix::fs::PermissionsExt::mode(&about.permissions());
    assert_eq!(mode & 0o777, 0o700, "{mode:o}");
    // As a process that was killed leaves it.
    let left = home.path().join(".waxwing-restore-Ab12cd");
    std::fs::create_dir_all(left.join("data")).expect("made");
    std::fs::write(left.join("data/waxwing.db"), "plain text").expect("written");
    restore_into(home.path(), "new", identity, Existing::Refuse).await.expect("restored");
    assert!(!left.exists(), "what was left is gone");
    assert!(running.path().is_dir(), "what another restore uses stays");
}
