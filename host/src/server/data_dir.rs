//! The data directory: what is in it, who may read it, and that only one server uses it.

mod existing;
mod left_over;
mod rights;

use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rights::shared_mode;
use rustix::fs::Access;

use super::directory::{self, UnusableDirectory};
use super::key_file::{self, MasterKey};
use crate::backup::Source;
use crate::config;
use crate::id::fill_random;
use crate::mail::verp::Verp;
use crate::private_file::{self, give_to_owner};
use crate::store::Place;
use crate::store::seal::{KeyRing, return_path_key};

const DATABASE: &str = "waxwing.db";
const INBOX: &str = "inbox.db";
const LOCK: &str = "lock";
const FILLING: &str = "migrate.lock";
const TLS: &str = "tls";
const ACME: &str = "acme";
const MASTER_KEY: &str = "master.key";
const CONTROL: &str = "control.json";
const IDENTITY: &str = "identity";
const PLUGIN_STATE: &str = "plugin-state";
const PLUGINS: &str = "plugins";
const BACKUP_WORK: &str = "backup-work";

#[derive(Debug, Clone)]
pub struct DataDir {
    path: PathBuf,
    /// Where the master key is, if not in the directory.
    key_file: Option<PathBuf>,
    /// Read once; see [`DataDir::refresh_keys`].
    keys: Arc<OnceLock<ServerKeys>>,
}

/// What the server makes of its master keys. All clones of the directory share it.
#[derive(Debug)]
struct ServerKeys {
    ring: KeyRing,
    verp: Verp,
    /// What was wrong with the file when it was last looked at, for it is told once.
    told: Mutex<Option<io::ErrorKind>>,
}

/// Holds the directory for one server until it is dropped.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "the lock lives as long as the file is open")] File);

/// Why a data directory cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    /// It cannot be made or written.
    #[error(transparent)]
    Directory(#[from] UnusableDirectory),
    /// A file in it cannot be made, read or written.
    #[error("the data directory cannot be used: {path}: {source}")]
    Io { path: PathBuf, source: io::Error },
    /// Something else stands in the place of a file.
    #[error("the data directory cannot be used: {path} is not a file; move it away")]
    NoFile { path: PathBuf },
    #[error(
        "{path} may not be looked at by this user: run the command as the user of the server, `runuser -u waxwing -- \
         waxwing …`"
    )]
    Denied { path: PathBuf },
    /// A new one would hide that, and backups of it would push out those that have the data.
    #[error(
        "{path} is missing or empty, but a server has worked in this directory: a new, empty database would hide that \
         its data is gone. Mount its disk, put the database back, or restore a backup; for a new server without that \
         data move the directory away, or name another one in store.data_dir"
    )]
    LostDatabase { path: PathBuf },
    /// Another server runs on it.
    #[error("another waxwing runs on the data directory {path}; stop it, or use --data-dir")]
    Locked { path: PathBuf },
    /// A move into it is under way.
    #[error("another `waxwing migrate` fills the data directory {path}; wait for its end")]
    Filled { path: PathBuf },
    /// The master key was cut off or replaced.
    #[error(
        "the master key {path} is neither 32 bytes nor what `waxwing master-key` writes; restore it from your backup"
    )]
    BadKey { path: PathBuf },
    #[error("another `waxwing master-key` changes {path} now; wait until it has ended")]
    KeysLocked { path: PathBuf },
    #[error("a backup of the data directory {path} is being taken; wait until it has ended")]
    BackedUp { path: PathBuf },
    /// A new one would open nothing of what is sealed.
    #[error(
        "{path} is missing, and only the master key that this database was made with opens what is sealed in it; \
         restore the file from your backup, copy master.key of the data directory of another node, or name a file that \
         all nodes have in store.master_key_file"
    )]
    MissingKey { path: PathBuf },
    /// Nobody but the operator makes what all nodes are to have.
    #[error(
        "the master key {path} of store.master_key_file is not there; for a database that exists, copy master.key of \
         the data directory of a node that runs, or of a backup that you have restored, to this place; only for a new \
         database make one file for all nodes: head -c 32 /dev/urandom > {path}"
    )]
    NoKey { path: PathBuf },
}

impl DataDir {
    /// Opens the directory, made where it is missing, readable by its owner only.
    pub fn open(path: &Path) -> Result<Self, DataDirError> {
        if let Some(fault) = Self::faults(path).into_iter().next() {
            return Err(fault);
        }
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path).map_err(at(path))?;
        Ok(Self::unopened_at(path))
    }

    /// The same for a server of that configuration, whose master key may stand elsewhere.
    pub fn of(config: &config::Store) -> Result<Self, DataDirError> {
        Ok(Self { key_file: config.master_key_file.clone(), ..Self::open(&config.data_dir)? })
    }

    /// A directory that may not be there, with its own master key; nothing is made.
    #[must_use]
    pub fn unopened_at(path: &Path) -> Self {
        Self { path: path.to_owned(), key_file: None, keys: Arc::default() }
    }

    /// The directory as it stands; nothing is made.
    #[must_use]
    pub fn unopened(config: &config::Store) -> Self {
        Self { key_file: config.master_key_file.clone(), ..Self::unopened_at(&config.data_dir) }
    }

    /// Why a server could not take up the directory as it stands. A directory or a key that is missing is
    /// made at the first start, not here.
    #[must_use]
    pub fn check(config: &config::Store) -> Vec<DataDirError> {
        let data = Self::unopened(config);
        data.warn_of_readers();
        let mut faults = Self::faults(&data.path);
        if faults.is_empty() && (data.key_file.is_some() || data.has_master_key()) {
            faults.extend(data.master_key().err());
        }
        faults
    }

    /// Removes files that processes had begun to write which are gone. Only for the server that holds the directory.
    pub fn remove_left_over(&self) {
        for directory in [self.path.clone(), self.file(TLS), self.file(ACME)] {
            left_over::remove(&directory, "");
        }
        let key = self.master_key_path();
        // Others may have files beside a key that the configuration names.
        if let Some(name) = key.file_name().and_then(|it| it.to_str()) {
            left_over::remove(directory::of_file(&key), name);
        }
    }

    /// Why the directory, and the files that are there, cannot be used by this user. What is missing can be made.
    fn faults(path: &Path) -> Vec<DataDirError> {
        if let Err(fault) = directory::check_writable("store.data_dir", path) {
            return vec![fault.into()];
        }
        let data = Self::unopened_at(path);
        let both = Access::READ_OK | Access::WRITE_OK;
        let files = [
            (DATABASE, both),
            (INBOX, both),
            (LOCK, Access::WRITE_OK),
            (MASTER_KEY, Access::READ_OK),
            // It is replaced, whoever may write it.
            (CONTROL, Access::EXISTS),
        ];
        files.into_iter().filter_map(|(name, access)| data.file_fault(name, access)).collect()
    }

    fn file_fault(&self, name: &str, access: Access) -> Option<DataDirError> {
        let path = self.file(name);
        match std::fs::metadata(&path) {
            Ok(found) if !found.is_file() => Some(DataDirError::NoFile { path }),
            // Access is checked and the file not opened: to close it would take away SQLite's locks.
            Ok(_) => rustix::fs::access(&path, access)
                .err()
                .map(|error| DataDirError::Io { path, source: error.into() }),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => None,
            Err(source) => Some(DataDirError::Io { path, source }),
        }
    }

    /// Warns where others than the owner can read, or replace, the secrets that are kept here. That is
    /// no reason to stop: some platforms widen the permissions of a volume at each start.
    pub fn warn_of_readers(&self) {
        for path in [self.master_key_path(), self.file(CONTROL)] {
            let Some(mode) = shared_mode(&path) else { continue };
            tracing::warn!(
                path = %path.display(),
                mode = %format_args!("{mode:04o}"),
                "other users of this machine can read or replace a secret of the server; run chmod 600 \
                 on the file, and keep the data directory at mode 0700"
            );
        }
    }

    /// The files that nobody but the server's user may read.
    #[must_use]
    pub fn secrets(&self) -> Vec<PathBuf> {
        let inside = [CONTROL, DATABASE, INBOX].map(|name| self.file(name));
        [self.master_key_path()].into_iter().chain(inside).collect()
    }

    /// Whether a server runs on the directory, in this process or another one.
    #[must_use]
    pub fn is_held(&self) -> bool {
        matches!(self.lock_of_server(), Err(DataDirError::Locked { .. }))
    }

    /// Takes the directory for this process.
    ///
    /// # Errors
    /// Another server has it.
    pub fn lock(&self) -> Result<Lock, DataDirError> {
        self.lock_file(LOCK)?.ok_or_else(|| DataDirError::Locked { path: self.path.clone() })
    }

    /// Takes the database of the directory for a move into it. A server may run on the directory meanwhile, with a database
    /// elsewhere.
    ///
    /// # Errors
    /// Another move has it.
    pub fn lock_filling(&self) -> Result<Lock, DataDirError> {
        self.lock_file(FILLING)?.ok_or_else(|| DataDirError::Filled { path: self.path.clone() })
    }

    /// Lets one process at a time change the master keys.
    pub fn lock_keys(&self) -> Result<Lock, DataDirError> {
        let path = self.master_key_path();
        let beside = beside(&path, "lock");
        lock_at(beside)?.ok_or(DataDirError::KeysLocked { path })
    }

    /// Keeps backups off while a master key leaves: one would have values that were sealed before, and the keys of after.
    pub fn lock_backups(&self) -> Result<Lock, DataDirError> {
        let beside_work = self.backup_work().with_extension("lock");
        lock_at(beside_work)?.ok_or_else(|| DataDirError::BackedUp { path: self.path.clone() })
    }

    /// None where another process has it.
    fn lock_file(&self, name: &str) -> Result<Option<Lock>, DataDirError> {
        lock_at(self.file(name))
    }

    /// What tells this directory from every other one, made at the first start. Whoever holds the directory's lock knows
    /// that no earlier server with it still runs.
    pub fn identity(&self) -> Result<String, DataDirError> {
        let path = self.file(IDENTITY);
        match std::fs::read_to_string(&path) {
            Ok(text) if !text.trim().is_empty() => return Ok(text.trim().to_owned()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(DataDirError::Io { path, source }),
        }
        let mut bytes = [0; 16];
        fill_random(&mut bytes);
        let identity = format!("{:032x}", u128::from_be_bytes(bytes));
        self.write_private(IDENTITY, identity.as_bytes())?;
        Ok(identity)
    }

    /// The same where a server has run on it before; the directory is not changed.
    ///
    /// # Errors
    /// A server has it.
    pub fn lock_of_server(&self) -> Result<Option<Lock>, DataDirError> {
        if self.file(LOCK).is_file() { self.lock().map(Some) } else { Ok(None) }
    }

    /// What makes and reads return paths, by the master keys.
    pub fn verp(&self) -> Result<Verp, DataDirError> {
        Ok(self.server_keys()?.verp.clone())
    }

    /// What seals and opens values, by the master keys.
    pub fn key_ring(&self) -> Result<KeyRing, DataDirError> {
        Ok(self.server_keys()?.ring.clone())
    }

    fn server_keys(&self) -> Result<&ServerKeys, DataDirError> {
        if let Some(known) = self.keys.get() {
            return Ok(known);
        }
        let keys = bytes_of(&self.master_keys()?);
        let bad_key = || DataDirError::BadKey { path: self.master_key_path() };
        let path = self.master_key_path();
        let reread = move || Some(bytes_of(&key_file::read(&std::fs::read(&path).ok()?)?));
        let ring = KeyRing::new(&keys, reread).ok_or_else(bad_key)?;
        let newest = keys.first().ok_or_else(bad_key)?;
        let verp = Verp::new(&return_path_key(newest));
        let made = self.keys.get_or_init(|| ServerKeys { ring, verp, told: Mutex::default() });
        made.take_over(&keys);
        Ok(made)
    }

    /// Takes over what `waxwing master-key` has written since. A file that cannot be read changes nothing: what is in memory
    /// still opens everything, but nothing would after the next start.
    pub fn refresh_keys(&self) {
        let Some(known) = self.keys.get() else { return };
        let stored = self.stored_keys();
        known.tell(stored.as_ref().err());
        let Ok(keys) = stored else { return };
        if known.take_over(&bytes_of(&keys)) {
            tracing::info!(
                count = keys.len(),
                "master keys changed: the newest seals from now on, and each of them opens what it has sealed"
            );
        }
    }

    /// Where the master key is.
    #[must_use]
    pub fn master_key_path(&self) -> PathBuf {
        self.key_file.clone().unwrap_or_else(|| self.file(MASTER_KEY))
    }

    #[must_use]
    pub fn has_master_key(&self) -> bool {
        self.master_key_path().is_file()
    }

    /// The newest master key.
    pub fn master_key(&self) -> Result<[u8; 32], DataDirError> {
        let bad_key = || DataDirError::BadKey { path: self.master_key_path() };
        self.master_keys()?.first().map(|it| it.bytes).ok_or_else(bad_key)
    }

    /// The server's master keys, the newest first.
    pub fn master_keys(&self) -> Result<Vec<MasterKey>, DataDirError> {
        match self.stored_keys() {
            Err(DataDirError::Io { path, source }) if source.kind() == io::ErrorKind::NotFound => {
                Err(match self.key_file {
                    Some(_) => DataDirError::NoKey { path },
                    None => DataDirError::MissingKey { path },
                })
            }
            stored => stored,
        }
    }

    /// Makes the key of the directory where there is none. Only where nothing is sealed yet: the key would open nothing that
    /// is. A file that the configuration names is the operator's to make.
    pub fn make_master_key(&self) -> Result<(), DataDirError> {
        if self.key_file.is_some() || self.has_master_key() {
            return Ok(());
        }
        self.write_private(MASTER_KEY, &MasterKey::random(None).bytes)
    }

    /// Reads the keys from the file, and makes no file where there is none.
    fn stored_keys(&self) -> Result<Vec<MasterKey>, DataDirError> {
        let path = self.master_key_path();
        let content = std::fs::read(&path).map_err(at(&path))?;
        key_file::read(&content).ok_or(DataDirError::BadKey { path })
    }

    /// Why a server would not get its master keys out of the file as it stands.
    #[must_use]
    pub fn key_fault(&self) -> Option<DataDirError> {
        self.stored_keys().err()
    }

    /// Makes these the master keys, the newest first. When this answers, they outlast a loss of power: what is sealed
    /// with the newest one from now on must not outlive it.
    pub fn write_master_keys(&self, keys: &[MasterKey]) -> Result<(), DataDirError> {
        let path = self.master_key_path();
        write_private_at(&path, key_file::written(keys).as_bytes())?;
        #[cfg(unix)]
        if let Some(folder) = path.parent() {
            File::open(folder).and_then(|it| it.sync_all()).map_err(at(folder))?;
        }
        self.refresh_keys();
        Ok(())
    }

    /// Writes a file that only its owner can read, whole or not at all.
    pub fn write_private(&self, name: &str, bytes: &[u8]) -> Result<(), DataDirError> {
        write_private_at(&self.file(name), bytes)
    }

    /// How the command line on this machine reaches the server that runs here: its address, and
    /// the secret of this run.
    pub fn write_control(&self, http: SocketAddr, token: &str) -> Result<(), DataDirError> {
        let control = serde_json::json!({"http": format!("http://{http}"), "token": token});
        self.write_private(CONTROL, control.to_string().as_bytes())
    }

    /// The same, read; none where no server ever ran here.
    #[must_use]
    pub fn control(&self) -> Option<(String, String)> {
        let bytes = std::fs::read(self.file(CONTROL)).ok()?;
        let control: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
        Some((control["http"].as_str()?.to_owned(), control["token"].as_str()?.to_owned()))
    }

    #[must_use]
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// The database, made empty where it is missing, for its owner only: SQLite gives the files
    /// beside it the same permissions.
    pub fn database(&self) -> Result<PathBuf, DataDirError> {
        self.private_file(DATABASE)
    }

    /// Where the store has its database: at the server that is configured, or in this directory.
    pub fn place(&self, config: &config::Store) -> Result<Place, DataDirError> {
        match Self::existing_place(config)? {
            Some(place) => Ok(place),
            None => self.database().map(Place::File),
        }
    }

    /// The sandbox inbox; as for the database.
    pub fn inbox(&self) -> Result<PathBuf, DataDirError> {
        self.private_file(INBOX)
    }

    fn private_file(&self, name: &str) -> Result<PathBuf, DataDirError> {
        let path = self.file(name);
        // Only where it is missing: to close a database's file takes away all locks that this process
        // holds on it (fcntl), and another process would then take it for unused.
        if path.is_file() {
            return Ok(path);
        }
        let file = private_file::options().create(true).truncate(false).open(&path);
        let file = file.map_err(at(&path))?;
        give_to_owner(&file, &self.path);
        Ok(path)
    }

    /// The directory of the self-signed certificate, made where it is missing.
    pub fn tls(&self) -> Result<Self, DataDirError> {
        Self::open(&self.file(TLS))
    }

    /// Whether it could be made.
    pub fn check_tls(&self) -> Result<(), DataDirError> {
        Ok(directory::check_writable("store.data_dir", &self.file(TLS))?)
    }

    /// The account at a CA, its orders and its certificate; made where it is missing.
    pub fn acme(&self) -> Result<Self, DataDirError> {
        Self::open(&self.file(ACME))
    }

    /// The same as it stands; nothing is made.
    #[must_use]
    pub fn unopened_acme(&self) -> Self {
        Self::unopened_at(&self.file(ACME))
    }

    #[must_use]
    pub fn compiled_plugins(&self) -> PathBuf {
        self.file("compiled-plugins")
    }

    /// What the plugin host remembers.
    #[must_use]
    pub fn plugin_state(&self) -> PathBuf {
        self.file(PLUGIN_STATE)
    }

    /// The operator's plugins.
    #[must_use]
    pub fn plugins(&self) -> PathBuf {
        self.file(PLUGINS)
    }

    /// The directory of the unencrypted copies that `waxwing backup` and the schedule make before they pack them.
    #[must_use]
    pub fn backup_work(&self) -> PathBuf {
        self.file(BACKUP_WORK)
    }

    /// What a backup of it holds; what is missing here is made by a start. Of a master key and of plugins that the
    /// configuration keeps elsewhere a backup has copies, too, and a restore puts them into this one.
    pub fn backup_source(&self, own_plugins: Option<PathBuf>) -> Result<Source, DataDirError> {
        // Without it nothing that is sealed can be opened.
        self.master_key()?;
        let files = [PLUGIN_STATE, TLS, ACME].map(|name| (name, self.file(name)));
        let plugins = (PLUGINS, own_plugins.unwrap_or_else(|| self.plugins()));
        Ok(Source {
            database: (DATABASE, self.file(DATABASE)),
            inbox: (INBOX, self.file(INBOX)),
            key: (MASTER_KEY, self.master_key_path()),
            files: files.into_iter().chain([plugins]).collect(),
            work: self.backup_work(),
        })
    }
}

impl ServerKeys {
    /// Says once what is wrong with the file of the keys, and once that it is right again.
    fn tell(&self, fault: Option<&DataDirError>) {
        if !self.is_news(fault) {
            return;
        }
        if let Some(error) = fault {
            tracing::warn!(
                %error,
                "the master key cannot be read any more: the server goes on with the keys that it has in memory, and \
                 its next start will fail; restore the file from your backup, owned by the server's user, at mode 0600"
            );
        } else {
            tracing::info!("the master key file is readable again");
        }
    }

    /// Whether something else is wrong with the file than at the last look.
    fn is_news(&self, fault: Option<&DataDirError>) -> bool {
        let kind = fault.map(|it| {
            let DataDirError::Io { source, .. } = it else { return io::ErrorKind::InvalidData };
            source.kind()
        });
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *told, kind) != kind
    }

    /// Answers whether what is sealed with has changed, or what opens.
    fn take_over(&self, keys: &[[u8; 32]]) -> bool {
        let has_changed = self.ring.replace(keys);
        if let Some((newest, earlier)) = keys.split_first()
            && self.ring.has_newest(newest)
        {
            let earlier: Vec<_> = earlier.iter().map(|it| return_path_key(it)).collect();
            self.verp.replace_keys(&return_path_key(newest), &earlier);
        }
        has_changed
    }
}

fn bytes_of(keys: &[MasterKey]) -> Vec<[u8; 32]> {
    keys.iter().map(|it| it.bytes).collect()
}

/// None where another process has it.
fn lock_at(path: PathBuf) -> Result<Option<Lock>, DataDirError> {
    let file = File::create(&path).map_err(at(&path))?;
    give_to_owner(&file, directory::of_file(&path));
    match file.try_lock() {
        Ok(()) => Ok(Some(Lock(file))),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(source)) => Err(DataDirError::Io { path, source }),
    }
}

/// Writes a file that only its owner can read, whole or not at all.
fn write_private_at(path: &Path, bytes: &[u8]) -> Result<(), DataDirError> {
    let partial = beside(path, &left_over::ending_of_this_process());
    let file = private_file::options().create(true).truncate(true).open(&partial);
    let mut file = file.map_err(at(&partial))?;
    give_to_owner(&file, if path.exists() { path } else { directory::of_file(path) });
    let written = file.write_all(bytes).and_then(|()| file.sync_all()).map_err(at(&partial));
    let placed = written.and_then(|()| std::fs::rename(&partial, path).map_err(at(path)));
    if placed.is_err() {
        // The error that is returned says what failed. What cannot be removed now, the next start removes.
        drop(std::fs::remove_file(&partial));
    }
    placed
}

/// A file whose name is that of another one with this at its end.
fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(end);
    PathBuf::from(name)
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> DataDirError {
    let path = path.to_owned();
    move |source| DataDirError::Io { path, source }
}

#[cfg(test)]
mod tests;
