use super::*;
use crate::backup::destination::ObjectStoreSettings;
use crate::backup::restore::unpack;
use crate::store::{Place, test_data};

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

struct Fixture {
    home: tempfile::TempDir,
    store: Store,
    source: Source,
    destination: Destination,
    identity: Identity,
}

impl Fixture {
    /// A store in a file with an account, and the files of a data directory beside it.
    async fn new() -> Self {
        let home = tempfile::tempdir().expect("a directory");
        let data = home.path().join("data");
        fs::create_dir_all(data.join("plugins")).expect("made");
        fs::write(data.join("plugins/a.wasm"), "a component").expect("written");
        fs::write(data.join("master.key"), [7; 32]).expect("written");
        let store = Store::open(Place::File(data.join("waxwing.db"))).await.expect("opens");
        test_data::open_account(&store, 100, NOW).await;
        let source = Source {
            database: ("waxwing.db", data.join("waxwing.db")),
            inbox: ("inbox.db", data.join("inbox.db")),
            key: ("master.key", data.join("master.key")),
            files: ["plugins", "tls"].map(|it| (it, data.join(it))).to_vec(),
            work: data.join("backup-work"),
        };
        let to = home.path().join("backups");
        let settings = ObjectStoreSettings::default();
        let destination = Destination::new(to.to_str().expect("UTF-8"), &settings);
        let destination = destination.expect("a directory");
        let identity = Identity::random().expect("made");
        Self { home, store, source, destination, identity }
    }

    async fn back_up(&self) -> Result<Taken, BackupError> {
        let (recipients, clock) = ([self.identity.recipient()], Clock::manual(NOW));
        back_up(&self.source, &self.destination, &recipients, &clock).await
    }

    fn backups(&self) -> PathBuf {
        self.home.path().join("backups")
    }
}

#[tokio::test]
async fn a_backup_holds_the_database_of_that_moment_and_the_files_beside_it() {
    let fixture = Fixture::new().await;
    let taken = fixture.back_up().await.expect("taken");
    let later = test_data::open_account(&fixture.store, 5, NOW).await;

    let into = fixture.home.path().join("restored");
    let file = fixture.backups().join(&taken.name);
    let manifest = unpack(&file, &fixture.identity, &into).expect("unpacked");
    let names: Vec<&str> = manifest.members.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["master.key", "plugins/a.wasm", "waxwing.db"]);
    assert_eq!(fs::read(into.join("master.key")).expect("there"), [7; 32]);
    let restored = Store::open(Place::File(into.join("waxwing.db"))).await.expect("opens");
    assert!(restored.account(later, NOW).await.is_err(), "it came after the backup");
    assert_eq!(restored.delivery_hold().await.expect("readable"), Some(NOW));
    assert_eq!(fixture.store.delivery_hold().await.expect("readable"), None);
    restored.release_delivery().await.expect("released");
    assert_eq!(restored.delivery_hold().await.expect("readable"), None);
}

#[tokio::test]
async fn a_backup_leaves_no_unencrypted_copy_behind() {
    let fixture = Fixture::new().await;
    let stale = fixture.source.work.join("members");
    fs::create_dir_all(&stale).expect("made");
    fs::write(stale.join("waxwing.db"), "of a process that was killed").expect("written");
    fixture.back_up().await.expect("taken");
    assert!(!fixture.source.work.exists());
    assert_eq!(fs::read_dir(fixture.backups()).expect("read").count(), 1);
}

#[tokio::test]
async fn two_backups_of_one_directory_are_not_taken_at_once() {
    let fixture = Fixture::new().await;
    let work = Work::open(fixture.source.work.clone()).expect("free");
    let refused = fixture.back_up().await;
    assert!(matches!(refused, Err(BackupError::UnderWay)), "{refused:?}");
    drop(work);
    fixture.back_up().await.expect("taken");
}

#[tokio::test]
async fn a_backup_that_fails_leaves_nothing_at_its_destination() {
    let fixture = Fixture::new().await;
    let none = back_up(&fixture.source, &fixture.destination, &[], &Clock::manual(NOW)).await;
    assert!(matches!(none, Err(BackupError::NoRecipient)), "{none:?}");
    let missing = ("waxwing.db", fixture.home.path().join("no such file"));
    let source = Source { database: missing, ..fixture.source.clone() };
    let recipients = [fixture.identity.recipient()];
    let failed = back_up(&source, &fixture.destination, &recipients, &Clock::manual(NOW)).await;
    assert!(matches!(failed, Err(BackupError::Store(_))), "{failed:?}");
    fs::remove_file(&fixture.source.key.1).expect("removed");
    let failed = fixture.back_up().await;
    assert!(matches!(failed, Err(BackupError::NoMasterKey { .. })), "{failed:?}");
    assert!(fixture.destination.names(NOW).await.expect("read").is_empty());
    assert!(!fixture.source.work.exists());
}

#[test]
fn a_backup_leaves_the_room_that_the_server_needs_to_accept_mail() {
    let refuse = |free| refuse_little_room(Path::new("data"), 1_000, free);
    let needed = 1_000 + SPARE_BYTES;
    assert!(matches!(refuse(Some(needed - 1)), Err(BackupError::Disk { .. })));
    assert!(refuse(Some(needed)).is_ok() && refuse(None).is_ok());
}

#[test]
fn a_destination_on_the_disk_of_the_database_needs_room_for_two_copies() {
    let home = tempfile::tempdir().expect("a directory");
    assert_eq!(copies_on_disk(home.path(), &home.path().join("draft")), 2);
    assert_eq!(copies_on_disk(home.path(), Path::new("/proc/draft")), 1, "another disk");
}

#[tokio::test]
async fn the_room_for_a_copy_counts_what_the_write_ahead_log_has_alone() {
    let fixture = Fixture::new().await;
    let needed = needed_room(&fixture.source).expect("known");
    let copy = fixture.home.path().join("copy");
    let clock = Clock::manual(NOW);
    Store::copy(&fixture.source.database.1, &copy, &clock).await.expect("copied");
    let copied = fs::metadata(&copy).expect("there").len();
    assert!(copied <= needed, "{copied} bytes are copied, and room for {needed} was asked for");
}

#[tokio::test]
async fn a_backup_that_is_called_off_ends_at_once_and_leaves_nothing() {
    let fixture = Fixture::new().await;
    let mut work = Work::open(fixture.source.work.clone()).expect("free");
    let clock = Clock::manual(NOW);
    copy_databases(&fixture.source, &work.staged(), &clock).await.expect("copied");
    let draft = fixture.home.path().join("draft");
    fs::write(&draft, "half an archive").expect("written");
    work.draft = Some(draft.clone());
    let stop = CancellationToken::new();
    stop.cancel();
    let packing = Packing {
        work,
        key: fixture.source.key.clone(),
        files: fixture.source.files.clone(),
        draft: draft.clone(),
        recipients: vec![fixture.identity.recipient()],
        schema: 1,
        now: NOW,
        stop,
    };
    assert!(packing.run().is_err(), "it reads no further");
    drop(packing);
    assert!(!fixture.source.work.exists() && !draft.exists());
    fixture.back_up().await.expect("the next one is taken");
}

#[cfg(unix)]
#[tokio::test]
async fn what_a_backup_of_root_makes_belongs_to_the_owner_of_the_data() {
    use std::os::unix::fs::{MetadataExt as _, chown};
    let fixture = Fixture::new().await;
    let data = fixture.home.path().join("data");
    // Only root can give a directory away; another user's files are that user's in any case.
    if rustix::process::geteuid().is_root() {
        chown(&data, Some(65_534), Some(65_534)).expect("given away");
    }
    let taken = fixture.back_up().await.expect("taken");
    let owner = fs::metadata(&data).expect("there").uid();
    let lock = fixture.source.work.with_extension("lock");
    let work = Work::open(fixture.source.work.clone()).expect("free");
    let archive = fixture.backups().join(taken.name);
    for path in [&lock, &work.path, &work.staged(), &fixture.backups(), &archive] {
        assert_eq!(fs::metadata(path).expect("there").uid(), owner, "{}", path.display());
    }
}
