//! A PostgreSQL of our own, from the binaries that are installed: made when a test first asks for it, and gone with its
//! owner, or with the process that asked.

mod programs;
mod tls;

mod greedy;

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

pub use greedy::Greedy;

use crate::{Need, SmallDisk};

/// The superuser of the cluster.
pub(crate) const USER: &str = "waxwing";
/// What is run of it.
const PROGRAMS: [&str; 6] = ["postgres", "initdb", "createdb", "pg_basebackup", "pg_ctl", "psql"];
/// `nobody`: PostgreSQL does not run as root.
pub(crate) const NOBODY: u32 = 65_534;
/// Ends when its input does, which is when the process of the tests ends, however that ends. A line of input starts the
/// server again once it has ended. The default collation is another one than that of bytes, which the store must not rely on.
const SCRIPT: &str = r#"
trap : INT TERM
folder=$1 binaries=$2 user=$3 primary=$4
shift 4
if test -n "$primary"; then
    "$binaries/pg_basebackup" -D "$folder/data" -h "$primary" -U "$user" -R -c fast --no-sync >"$folder/log" 2>&1
else
    "$binaries/initdb" -D "$folder/data" -U "$user" --auth=trust --no-sync --encoding=UTF8 --locale=C.UTF-8 \
        --locale-provider=icu --icu-locale=en-US >"$folder/log" 2>&1
fi || { cat "$folder/log"; rm -rf "$folder"; exit 1; }
start() {
    "$binaries/postgres" -D "$folder/data" -k "$folder" -c listen_addresses= -c fsync=off -c full_page_writes=off \
        -c max_connections=1000 -c shared_buffers=32MB "$@" >>"$folder/log" 2>&1 &
    server=$!
}
start "$@"
until grep -q "ready to accept" "$folder/log"; do
    kill -0 $server 2>/dev/null || { cat "$folder/log"; rm -rf "$folder"; exit 1; }
    sleep 0.1
done
echo ready
while read -r again; do
    wait $server
    start "$@"
done
kill -INT $server
wait $server
rm -rf "$folder"
"#;
/// How long a standby may take to follow its primary, and to become one.
const STANDBY_WAIT: Duration = Duration::from_mins(1);
const PAUSE: Duration = Duration::from_millis(50);
/// What an empty cluster needs, with some room for a database and its log.
const SMALL: &str = "size=192m,mode=700";

static SHARED: LazyLock<Cluster> =
    LazyLock::new(|| Cluster::start(None, &["-c", "synchronous_commit=off"]));
/// The number of the next folder of this process.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// A cluster that runs.
#[derive(Debug)]
pub struct Cluster {
    folder: PathBuf,
    keeper: Child,
    /// Under its data. Gone after the keeper.
    disk: Option<SmallDisk>,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // The server ends with the keeper's input. What the folder lies in may be another user's, who removes it.
        drop(self.keeper.stdin.take());
        drop(self.keeper.wait());
        drop(self.disk.take());
        drop(fs::remove_dir_all(&self.folder));
    }
}

impl Cluster {
    /// The cluster of this process; none where PostgreSQL is not installed, and `unproven` is noted then.
    ///
    /// # Panics
    /// It does not start.
    #[must_use]
    pub fn shared(unproven: &str) -> Option<&'static Self> {
        Need::Postgres.is_met(unproven).then(|| &*SHARED)
    }

    /// One of its own with these options, as in `["-c", "max_connections=24"]`; none where PostgreSQL is not installed,
    /// and `unproven` is noted then.
    ///
    /// # Panics
    /// It does not start.
    #[must_use]
    pub fn with(options: &[&str], unproven: &str) -> Option<Self> {
        Need::Postgres.is_met(unproven).then(|| Self::start(None, options))
    }

    /// One of its own whose data, with the write-ahead log, is on a small disk; none where one of the two cannot be had
    /// here, and `unproven` is noted then.
    ///
    /// # Panics
    /// It does not start.
    #[must_use]
    pub fn on_small_disk(unproven: &str) -> Option<Self> {
        if !(Need::Postgres.is_met(unproven) && Need::SmallDisk.is_met(unproven)) {
            return None;
        }
        let folder = new_folder(&std::env::temp_dir());
        let data = folder.join("data");
        fs::create_dir(&data).expect("a folder");
        let owner = if is_root() { format!(",uid={NOBODY},gid={NOBODY}") } else { String::new() };
        let disk = SmallDisk::over(&data, &format!("{SMALL}{owner}"));
        Some(Self::keep((folder, Some(disk)), None, &[]))
    }

    /// The disk of [`Self::on_small_disk`].
    ///
    /// # Panics
    /// It is on the disk of all others.
    #[must_use]
    pub fn disk(&self) -> &SmallDisk {
        self.disk.as_ref().expect("this cluster has a disk of its own")
    }

    /// Starts one with these options, new or as a standby of another one.
    fn start(primary: Option<&Self>, options: &[&str]) -> Self {
        Self::start_in(&std::env::temp_dir(), primary, options)
    }

    /// The same with its folder in this one.
    fn start_in(parent: &Path, primary: Option<&Self>, options: &[&str]) -> Self {
        Self::keep((new_folder(parent), None), primary, options)
    }

    #[expect(clippy::zombie_processes, reason = "it ends after this process has")]
    fn keep(
        (folder, disk): (PathBuf, Option<SmallDisk>),
        primary: Option<&Self>,
        options: &[&str],
    ) -> Self {
        let primary = primary.map(|it| it.folder.clone()).unwrap_or_default();
        let mut command = as_owner("sh".as_ref());
        command.args(["-c", SCRIPT, "sh"]).arg(&folder).arg(binary("")).arg(USER).arg(primary);
        command.args(options);
        command.current_dir(&folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut keeper = command.spawn().expect("a shell");
        let said = BufReader::new(keeper.stdout.take().expect("it is piped"));
        let mut all = String::new();
        for line in said.lines() {
            let line = line.expect("a text");
            if line == "ready" {
                return Self { folder, keeper, disk };
            }
            writeln!(all, "{line}").expect("a string takes everything");
        }
        unreachable!("PostgreSQL does not start: {all}")
    }

    /// The URL of one of its databases. `postgres` is there already.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        self.url_of(USER, database)
    }

    /// The same for another user than the superuser.
    #[must_use]
    pub fn url_of(&self, user: &str, database: &str) -> String {
        format!("postgres://{user}@localhost/{database}?host={}", self.folder.display())
    }

    /// The URL for something on this machine that carries what it hears to [`Self::socket`].
    #[must_use]
    pub fn url_through(port: u16, database: &str) -> String {
        format!("postgres://{USER}@127.0.0.1:{port}/{database}?sslmode=disable")
    }

    /// Makes an empty database, and answers its URL.
    ///
    /// # Panics
    /// It cannot be made.
    #[must_use]
    pub fn create(&self, database: &str) -> String {
        self.create_with(&[], database)
    }

    /// Makes a database with all that another one has, to which nobody may be connected, and answers its URL.
    ///
    /// # Panics
    /// It cannot be made.
    #[must_use]
    pub fn copy(&self, template: &str, database: &str) -> String {
        self.create_with(&["--template", template], database)
    }

    fn create_with(&self, options: &[&str], database: &str) -> String {
        let created = Command::new(binary("createdb"))
            .args(["--username", USER, "--host"])
            .arg(&self.folder)
            .args(options)
            .arg(database)
            .status()
            .expect("createdb starts");
        assert!(created.success(), "{database} is made");
        self.url(database)
    }

    /// Drops a database, whoever is connected to it. One that cannot be dropped goes with the cluster.
    pub fn remove(&self, database: &str) {
        let statement = format!("DROP DATABASE IF EXISTS {database} WITH (FORCE)");
        drop(self.psql("postgres", &statement).output());
    }

    /// Runs a statement in a database; what it answers.
    ///
    /// # Panics
    /// It fails.
    #[must_use = "what has no answer is dropped"]
    pub fn run(&self, database: &str, statement: &str) -> String {
        let answer = self.psql(database, statement).output().expect("psql starts");
        let said = String::from_utf8_lossy(&answer.stderr);
        assert!(answer.status.success(), "{statement}: {said}");
        String::from_utf8_lossy(&answer.stdout).trim().to_owned()
    }

    fn psql(&self, database: &str, statement: &str) -> Command {
        let mut psql = Command::new(binary("psql"));
        psql.args(["--no-psqlrc", "--tuples-only", "--no-align", "--username", USER, "--host"]);
        psql.arg(&self.folder).args(["--command", statement, database]);
        psql
    }

    /// The socket that it listens on.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.folder.join(".s.PGSQL.5432")
    }

    /// Starts it again after a [crash](Self::crash), with all that it had.
    ///
    /// # Panics
    /// It does not answer soon.
    pub fn start_again(&self) {
        let mut keeper = self.keeper.stdin.as_ref().expect("it is piped");
        keeper.write_all(b"again\n").expect("the keeper reads");
        let answers =
            || self.psql("postgres", "SELECT 1").output().is_ok_and(|it| it.status.success());
        wait("the server answers again", answers);
    }

    /// Ends it as a crash does: what it had not told a standby is lost to that.
    ///
    /// # Panics
    /// It does not run.
    pub fn crash(&self) {
        let file = self.folder.join("data/postmaster.pid");
        let first = fs::read_to_string(&file).expect("it runs");
        let process = first.lines().next().expect("a number");
        let killed = Command::new("kill").args(["-QUIT", process]).status().expect("kill starts");
        assert!(killed.success(), "the server is killed");
        wait("the server has ended", || !file.exists());
    }

    /// Makes a primary out of a standby.
    ///
    /// # Panics
    /// It does not become one.
    pub fn promote(&self) {
        let mut promote = as_owner(&binary("pg_ctl"));
        promote.args(["promote", "--wait", "-D"]).arg(self.folder.join("data"));
        let promoted = promote.current_dir(&self.folder).output().expect("pg_ctl starts");
        let said = String::from_utf8_lossy(&promoted.stderr);
        assert!(promoted.status.success(), "the standby is promoted: {said}");
    }

    /// Clients of another user that take every connection which is free, until they are dropped.
    #[must_use]
    pub fn greedy(&self) -> Greedy {
        drop(self.run("postgres", "CREATE ROLE greedy LOGIN"));
        Greedy::start(self.socket(), "greedy")
    }
}

/// A primary, and a standby that has all that the primary has acknowledged.
#[derive(Debug)]
pub struct Pair {
    pub primary: Cluster,
    pub standby: Cluster,
}

impl Pair {
    /// Starts two of their own; none where PostgreSQL is not installed, and `unproven` is noted then.
    ///
    /// # Panics
    /// They do not start, or the standby does not follow.
    #[must_use]
    pub fn start(unproven: &str) -> Option<Self> {
        if !Need::Postgres.is_met(unproven) {
            return None;
        }
        let primary = Cluster::start(None, &[]);
        let standby = Cluster::start(Some(&primary), &[]);
        for statement in
            ["ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"]
        {
            drop(primary.run("postgres", statement));
        }
        let follows = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
        wait("the standby follows", || primary.run("postgres", follows) == "1");
        Some(Self { primary, standby })
    }

    /// Makes an empty database, and answers its URL with both hosts; the standby stands first.
    #[must_use]
    pub fn create(&self, database: &str) -> String {
        drop(self.primary.create(database));
        let hosts = [&self.standby, &self.primary]
            .map(|it| it.folder.display().to_string().replace('/', "%2F"));
        format!("postgres://{USER}@{}/{database}", hosts.join(","))
    }
}

/// A folder for one cluster in this one, of the owner of the clusters.
fn new_folder(parent: &Path) -> PathBuf {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let folder = parent.join(format!("waxwing-pg-{}-{number}", std::process::id()));
    fs::create_dir(&folder).expect("a folder");
    if is_root() {
        chown(&folder, Some(NOBODY), Some(NOBODY)).expect("root may");
    }
    folder
}

pub(crate) fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0)
}

/// A command that runs as the owner of the clusters.
pub(crate) fn as_owner(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", &NOBODY.to_string(), "--regid", &NOBODY.to_string()]);
    command.arg("--clear-groups").arg(program);
    command
}

/// Waits until it is so.
fn wait(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < STANDBY_WAIT, "waited in vain: {what}");
        std::thread::sleep(PAUSE);
    }
}

/// A program of the server; their folder without a name.
fn binary(name: &str) -> PathBuf {
    binaries().expect("PostgreSQL is installed").join(name)
}

/// The folder of the newest server that is installed.
fn binaries() -> Option<PathBuf> {
    let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut debian: Vec<PathBuf> = debian.map(|it| it.path().join("bin")).collect();
    debian.sort_by_key(|it| version(it));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = debian.into_iter().rev().chain(std::env::split_paths(&path).collect::<Vec<_>>());
    let is_there = |it: &PathBuf| PROGRAMS.iter().all(|name| it.join(name).exists());
    all.into_iter().find(is_there)
}

fn version(folder: &Path) -> Option<u32> {
    folder.parent()?.file_name()?.to_str()?.parse().ok()
}

/// Whether a server is installed.
pub fn is_installed() -> bool {
    binaries().is_some()
}
