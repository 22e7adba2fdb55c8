//! The machine: the disk, file descriptors, and who may read the server's files.

use std::path::{Path, PathBuf};

use rustix::process::{Resource, getrlimit};

use super::finding::Verdict;
use super::words::size;
use super::world::{HealthSettings, ServerView, World};

/// Of a hundred parts of the disk; below them somebody should look, or must act.
const DISK_LOW: u64 = 15;
const DISK_FULL: u64 = 5;
/// Of a hundred parts of the file descriptors, in use; the same.
const DESCRIPTORS_MANY: u64 = 80;
const DESCRIPTORS_FULL: u64 = 95;
const OPEN_FILES: &str = "/proc/self/fd";

/// What is free where the data is kept. A database that a server keeps has a disk elsewhere.
pub async fn disk(world: &World) -> Verdict {
    let file = match world.live() {
        Ok(live) => live.store.gauges(world.clock.now()).await.ok().and_then(|it| it.file),
        Err(_) => None,
    };
    let database = file.and_then(|it| u64::try_from(it.bytes).ok());
    let directory = world.settings.data_dir.clone();
    let looked = tokio::task::spawn_blocking(move || space(&directory)).await;
    match looked.ok().flatten() {
        Some((free, all)) => disk_verdict(free, all, database),
        None => Verdict::not_checked(format!(
            "The system does not tell what is free at {}.",
            world.settings.data_dir.display()
        )),
    }
}

/// Free and all bytes of the file system of a directory, or of the nearest one above it that is there.
fn space(directory: &Path) -> Option<(u64, u64)> {
    let found = directory.ancestors().find_map(|above| {
        let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        rustix::fs::statvfs(above).ok()
    })?;
    let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
    Some((bytes(found.f_bavail), bytes(found.f_blocks)))
}

fn disk_verdict(free: u64, all: u64, database: Option<u64>) -> Verdict {
    let database =
        database.map(|it| format!("The database has {}, and ", size(it))).unwrap_or_default();
    let seen = format!("{database}{} of {} are free.", size(free), size(all));
    let todo = "Free some, or keep less: [retention] content_days and message_days.";
    match (u128::from(free) * 100).checked_div(u128::from(all)).unwrap_or(100) {
        percent if percent < u128::from(DISK_FULL) => Verdict::failing(seen, todo),
        percent if percent < u128::from(DISK_LOW) => Verdict::warning(seen, todo),
        _ => Verdict::ok(seen),
    }
}

/// Whether the server may open as many files as its connections need, and how many it has open.
pub async fn descriptors(world: &World) -> Verdict {
    let wanted = match &world.server {
        ServerView::Running(live) => live.wanted_descriptors,
        ServerView::Stopped(why) | ServerView::Silent(why) => {
            return Verdict::not_checked(format!("{why} The limit is that of its process."));
        }
    };
    let limit = getrlimit(Resource::Nofile).current;
    let counted = tokio::task::spawn_blocking(|| {
        let open = std::fs::read_dir(OPEN_FILES).map(Iterator::count).ok()?;
        u64::try_from(open).ok()
    });
    descriptors_verdict(counted.await.ok().flatten(), limit, wanted)
}

/// `limit` is none where there is no limit, `open` where the system does not tell.
fn descriptors_verdict(open: Option<u64>, limit: Option<u64>, wanted: u64) -> Verdict {
    let open_files = open.map_or_else(
        || "The system does not tell how many are open".to_owned(),
        |it| format!("{it} are open"),
    );
    let Some(limit) = limit else {
        return Verdict::ok(format!("{open_files}, and the system sets no limit."));
    };
    let seen = format!("{open_files} of {limit} that the system allows.");
    let todo = "Raise the limit: LimitNOFILE= of the unit, or ulimit -n.";
    let used = open.map_or(0, |it| it.saturating_mul(100) / limit.max(1));
    if used >= DESCRIPTORS_FULL {
        return Verdict::failing(seen, todo);
    }
    if used >= DESCRIPTORS_MANY {
        return Verdict::warning(seen, todo);
    }
    if limit < wanted {
        let seen = format!(
            "{seen} The configuration allows connections that need {wanted}, so the server accepts fewer."
        );
        let todo = format!("{todo} Or lower smtp.connections and limits.connections.");
        return Verdict::warning(seen, todo);
    }
    Verdict::ok(seen)
}

/// Whether the server can read its master key, and other users of the machine cannot read what is secret.
pub async fn file_rights(world: &World) -> Verdict {
    let HealthSettings { data_dir, secrets, private_key, .. } = &world.settings;
    let (directory, secrets, key) = (data_dir.clone(), secrets.clone(), private_key.clone());
    // Another user than the server's may ask where none runs.
    let key_fault = world.live().ok().map(|it| it.key_fault.clone());
    let looked = move || {
        let fault = key_fault.and_then(|it| it.now());
        match fault {
            Some(fault) => unreadable_key(&fault),
            None => rights(&directory, &secrets, key.as_deref()),
        }
    };
    tokio::task::spawn_blocking(looked)
        .await
        .unwrap_or_else(|_| Verdict::not_checked("The look at the files has failed."))
}

fn unreadable_key(fault: &str) -> Verdict {
    Verdict::failing(
        format!("The server cannot read its master key any more: {fault}."),
        "Restore the file from your backup, owned by the server's user, at mode 0600, before the server is started again.",
    )
}

fn rights(directory: &Path, secrets: &[PathBuf], private_key: Option<&Path>) -> Verdict {
    // Nobody comes to a file in a directory that only its owner may enter.
    let is_closed = mode(directory).is_some_and(|it| it & 0o011 == 0);
    let open = secrets.iter().filter(|it| !is_closed || !it.starts_with(directory));
    let shared = |path: &Path, bits: u32| mode(path).filter(|it| it & bits != 0);
    let mut of_all: Vec<String> = Vec::new();
    let mut of_group: Vec<String> = Vec::new();
    for path in open {
        let Some(mode) = shared(path, 0o077) else { continue };
        let named = format!("{} (mode {mode:04o})", path.display());
        if mode & 0o007 != 0 { of_all.push(named) } else { of_group.push(named) }
    }
    // A group may read the key: that is how the server gets it from an ACME client.
    of_all.extend(private_key.and_then(|path| {
        shared(path, 0o007).map(|mode| format!("{} (mode {mode:04o})", path.display()))
    }));
    let todo = format!(
        "Run chmod 600 on these files (640 on the certificate's key), and chmod 700 on {}.",
        directory.display()
    );
    if !of_all.is_empty() {
        of_all.extend(of_group);
        return Verdict::failing(
            format!("Other users of this machine can read or change {}.", of_all.join(", ")),
            todo,
        );
    }
    if !of_group.is_empty() {
        return Verdict::warning(
            format!("The group of these files can read or change them: {}.", of_group.join(", ")),
            todo,
        );
    }
    Verdict::ok("Only the server's user can read its keys and its database.")
}

#[cfg(unix)]
fn mode(path: &Path) -> Option<u32> {
    let about = std::fs::metadata(path).ok()?;
    Some(std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o777)
}

#[cfg(not(unix))]
fn mode(_: &Path) -> Option<u32> {
    None
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;
    use crate::health::finding::State;

    #[test]
    fn a_disk_that_fills_up_is_told_before_it_is_full() {
        for (free, state) in [(50, State::Ok), (14, State::Warning), (4, State::Failing)] {
            let verdict = disk_verdict(free << 30, 100 << 30, Some(1 << 30));
            assert_eq!(verdict.state, state, "{verdict:?}");
            assert!(verdict.what.starts_with("The database has 1.0 GiB"), "{verdict:?}");
        }
        assert_eq!(disk_verdict(0, 0, None).state, State::Ok, "no disk of its own");
        assert!(space(Path::new("/nowhere/at/all")).is_some(), "the disk that it would be made on");
    }

    #[test]
    fn few_descriptors_are_a_warning_and_none_left_a_failure() {
        let state = |open, limit, wanted| descriptors_verdict(open, limit, wanted).state;
        assert_eq!(state(Some(50), Some(65_536), 20_000), State::Ok);
        assert_eq!(state(Some(50), None, 20_000), State::Ok);
        assert_eq!(state(Some(50), Some(1_024), 20_000), State::Warning, "fewer connections");
        assert_eq!(state(Some(850), Some(1_000), 500), State::Warning);
        assert_eq!(state(Some(990), Some(1_000), 500), State::Failing);
        assert_eq!(state(None, Some(1_000), 500), State::Ok);
    }

    #[test]
    fn a_secret_that_others_can_read_is_named_with_its_mode() {
        let home = tempfile::tempdir().expect("a directory");
        let key = home.path().join("master.key");
        let tls = home.path().join("privkey.pem");
        for file in [&key, &tls] {
            fs::write(file, "secret").expect("written");
        }
        let set = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set");
        };
        let state = |directory, of_key, of_tls| {
            for (path, mode) in [(home.path(), directory), (&*key, of_key), (&*tls, of_tls)] {
                set(path, mode);
            }
            rights(home.path(), std::slice::from_ref(&key), Some(&tls))
        };
        assert_eq!(state(0o755, 0o600, 0o640).state, State::Ok, "the group may read the key");
        assert_eq!(state(0o755, 0o640, 0o600).state, State::Warning);
        let open = state(0o755, 0o644, 0o600);
        assert!(open.state == State::Failing && open.what.contains("0644"), "{open:?}");
        assert!(open.todo.is_some_and(|it| it.contains("chmod 600")));
        assert_eq!(state(0o700, 0o644, 0o600).state, State::Ok, "nobody comes to it");
        assert_eq!(state(0o755, 0o600, 0o604).state, State::Failing, "the certificate's key");
        let closed = home.path().join("data");
        fs::create_dir(&closed).expect("made");
        set(&closed, 0o700);
        set(&key, 0o604);
        let elsewhere = rights(&closed, std::slice::from_ref(&key), None);
        assert_eq!(elsewhere.state, State::Failing, "a key that is not in the directory");
    }
}
