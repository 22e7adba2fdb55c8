//! A PostgreSQL of our own, from the binaries that are installed: made when a test first asks for it, and gone with the
//! process that asked.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

use crate::Need;

/// The superuser of the cluster.
const USER: &str = "waxwing";
/// `nobody`: PostgreSQL does not run as root.
const NOBODY: u32 = 65_534;
/// Ends when its input does, which is when the process of the tests ends, however that ends. The default collation is
/// another one than that of bytes, which the store must not rely on.
const SCRIPT: &str = r#"
trap : INT TERM
"$2/initdb" -D "$1/data" -U "$3" --auth=trust --no-sync --encoding=UTF8 --locale=C.UTF-8 \
    --locale-provider=icu --icu-locale=en-US >"$1/log" 2>&1 || { cat "$1/log"; rm -rf "$1"; exit 1; }
"$2/postgres" -D "$1/data" -k "$1" -c listen_addresses= -c fsync=off -c full_page_writes=off \
    -c synchronous_commit=off -c max_connections=300 -c shared_buffers=32MB >>"$1/log" 2>&1 &
server=$!
until grep -q "ready to accept connections" "$1/log"; do
    kill -0 $server 2>/dev/null || { cat "$1/log"; rm -rf "$1"; exit 1; }
    sleep 0.1
done
echo ready
cat >/dev/null
kill -INT $server
wait $server
rm -rf "$1"
"#;

static SHARED: LazyLock<Cluster> = LazyLock::new(Cluster::start);

/// A cluster that runs.
#[derive(Debug)]
pub struct Cluster {
    folder: PathBuf,
    _keeper: Child,
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

    #[expect(clippy::zombie_processes, reason = "it ends after this process has")]
    fn start() -> Self {
        let folder = std::env::temp_dir().join(format!("waxwing-pg-{}", std::process::id()));
        fs::create_dir(&folder).expect("a folder");
        let binaries = binaries().expect("PostgreSQL is installed");
        let is_root = fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0);
        let mut command = if is_root {
            chown(&folder, Some(NOBODY), Some(NOBODY)).expect("root may");
            let mut command = Command::new("setpriv");
            command.args(["--reuid", &NOBODY.to_string(), "--regid", &NOBODY.to_string()]);
            command.args(["--clear-groups", "sh"]);
            command
        } else {
            Command::new("sh")
        };
        command.args(["-c", SCRIPT, "sh"]).arg(&folder).arg(binaries).arg(USER);
        command.current_dir(&folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut keeper = command.spawn().expect("a shell");
        let said = BufReader::new(keeper.stdout.take().expect("it is piped"));
        let mut all = String::new();
        for line in said.lines() {
            let line = line.expect("a text");
            if line == "ready" {
                return Self { folder, _keeper: keeper };
            }
            writeln!(all, "{line}").expect("a string takes everything");
        }
        unreachable!("PostgreSQL does not start: {all}")
    }

    /// The URL of one of its databases. `postgres` is there already.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("postgres://{USER}@localhost/{database}?host={}", self.folder.display())
    }

    /// Makes an empty database, and answers its URL.
    ///
    /// # Panics
    /// It cannot be made.
    #[must_use]
    pub fn create(&self, database: &str) -> String {
        let created = Command::new(binaries().expect("PostgreSQL is installed").join("createdb"))
            .args(["--username", USER, "--host"])
            .arg(&self.folder)
            .arg(database)
            .status()
            .expect("createdb starts");
        assert!(created.success(), "{database} is made");
        self.url(database)
    }
}

/// The folder of the newest server that is installed.
fn binaries() -> Option<PathBuf> {
    let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut debian: Vec<PathBuf> = debian.map(|it| it.path().join("bin")).collect();
    debian.sort_by_key(|it| version(it));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all = debian.into_iter().rev().chain(std::env::split_paths(&path).collect::<Vec<_>>());
    let is_there =
        |it: &PathBuf| ["postgres", "initdb", "createdb"].iter().all(|name| it.join(name).exists());
    all.into_iter().find(is_there)
}

fn version(folder: &Path) -> Option<u32> {
    folder.parent()?.file_name()?.to_str()?.parse().ok()
}

/// Whether a server is installed.
pub fn is_installed() -> bool {
    binaries().is_some()
}
