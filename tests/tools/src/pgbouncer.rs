//! A `PgBouncer` of our own between a server and a cluster.

use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::postgres::{NOBODY, USER, as_owner, is_root};
use crate::{Cluster, Need};

/// A line of a shell that fails where the program is missing. Its folder is not for everybody.
pub const VERSION: &str = "PATH=$PATH:/usr/sbin; pgbouncer --version";
/// Ends when its input does, which is when the process of the tests ends, however that ends.
const SCRIPT: &str = r#"
trap : INT TERM
PATH=$PATH:/usr/sbin
pgbouncer "$1/pgbouncer.ini" >"$1/log" 2>&1 &
pooler=$!
cat >/dev/null
kill -INT $pooler
wait $pooler
rm -rf "$1"
"#;
const PORT: u16 = 6432;
const START_WAIT: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);

/// The number of the next folder of this process.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// A pooler that runs.
#[derive(Debug)]
pub struct PgBouncer {
    folder: PathBuf,
    keeper: Child,
}

impl PgBouncer {
    /// Starts one in session mode, with these further lines of its section `[pgbouncer]`; none where it is not installed,
    /// and `unproven` is noted then.
    ///
    /// # Panics
    /// It does not start.
    #[must_use]
    pub fn before(cluster: &Cluster, settings: &str, unproven: &str) -> Option<Self> {
        if !Need::PgBouncer.is_met(unproven) {
            return None;
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("waxwing-pgbouncer-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir(&folder).expect("a folder");
        let [(_, host), ..] = cluster.environment();
        let own = folder.display();
        let configuration = format!(
            "[databases]\n* = host={host} port=5432\n[pgbouncer]\nunix_socket_dir = {own}\n\
             listen_port = {PORT}\nauth_type = trust\nauth_file = {own}/users.txt\n{settings}"
        );
        fs::write(folder.join("pgbouncer.ini"), configuration).expect("written");
        fs::write(folder.join("users.txt"), format!("\"{USER}\" \"\"\n")).expect("written");
        if is_root() {
            chown(&folder, Some(NOBODY), Some(NOBODY)).expect("root may");
        }
        let mut command = as_owner("sh".as_ref());
        command.args(["-c", SCRIPT, "sh"]).arg(&folder).current_dir(&folder);
        let keeper = command.stdin(Stdio::piped()).spawn().expect("a shell");
        let pooler = Self { folder, keeper };
        let (socket, start) = (pooler.folder.join(format!(".s.PGSQL.{PORT}")), Instant::now());
        while UnixStream::connect(&socket).is_err() {
            let log = fs::read_to_string(pooler.folder.join("log")).unwrap_or_default();
            assert!(start.elapsed() < START_WAIT, "PgBouncer does not start: {log}");
            std::thread::sleep(PAUSE);
        }
        Some(pooler)
    }

    /// The URL of a database through it.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("postgres://{USER}@localhost:{PORT}/{database}?host={}", self.folder.display())
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        drop(self.keeper.wait());
    }
}
