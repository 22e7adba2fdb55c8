//! Where the store of a server is: a file in its data directory or, where `WAXWING_TEST_STORE` is `postgres`, a database of
//! its own. All of these are in one cluster, which ends with the process of the tests.

use std::io::Write;
use std::process::Stdio;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use waxwing_tools::Cluster;

use crate::launch::{STORE_URL, waxwing};

/// A database with all tables, which each new one is a copy of.
const TEMPLATE: &str = "waxwing_template";

/// None where stores are files.
static CLUSTER: LazyLock<Option<&'static Cluster>> = LazyLock::new(|| {
    let store = std::env::var("WAXWING_TEST_STORE").unwrap_or_default();
    if ["", "sqlite"].contains(&store.as_str()) {
        return None;
    }
    assert_eq!(store, "postgres", "WAXWING_TEST_STORE is `sqlite` or `postgres`");
    let cluster = Cluster::shared("all of the server on PostgreSQL");
    let cluster = cluster.expect("WAXWING_TEST_STORE=postgres needs the binaries of PostgreSQL");
    make_template(cluster);
    Some(cluster)
});
/// The number of the next database.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// A database for one new data directory. It goes when it is dropped.
#[derive(Debug)]
pub struct OwnDatabase {
    cluster: &'static Cluster,
    name: String,
    url: String,
}

impl OwnDatabase {
    /// Makes one; none where stores are files.
    ///
    /// # Panics
    /// It cannot be made.
    #[must_use]
    pub fn make() -> Option<Self> {
        let cluster = (*CLUSTER)?;
        let name = format!("server_{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let url = cluster.copy(TEMPLATE, &name);
        Some(Self { cluster, name, url })
    }

    /// The variable that makes it the store of a server, or of a command.
    #[must_use]
    pub fn setting(&self) -> (&str, &str) {
        (STORE_URL, self.url.as_str())
    }
}

impl Drop for OwnDatabase {
    fn drop(&mut self) {
        self.cluster.remove(&self.name);
    }
}

/// Whether a test that is about the file of SQLite has to return, because stores are databases of PostgreSQL. That it was
/// not run, and why, is then said past the test runner, which swallows what a test prints that passes.
///
/// # Panics
/// Standard error does not take it.
#[must_use]
pub fn only_on_a_file(why: &str) -> bool {
    if CLUSTER.is_none() {
        return false;
    }
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    let said = format!("\n*** NOT RUN on PostgreSQL: {test}, because {why}\n\n");
    std::io::stderr().write_all(said.as_bytes()).expect("standard error takes it");
    true
}

/// Any command that opens a store brings its tables up to date. The command also notes which master key it has, and that is
/// taken out again: each server notes its own one.
fn make_template(cluster: &Cluster) {
    let url = cluster.create(TEMPLATE);
    let home = tempfile::tempdir().expect("a directory");
    let mut command = waxwing();
    command.args(["account", "list", "--json", "--data-dir"]).arg(home.path());
    let output = command.env(STORE_URL, url).stdin(Stdio::null()).output();
    let output = output.expect("the binary runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the tables are made: {errors}");
    let forgotten = "DELETE FROM upkeep WHERE name = 'proof of the master key' RETURNING name";
    let forgotten = cluster.run(TEMPLATE, forgotten);
    assert!(forgotten.starts_with("proof of the master key"), "it was noted: {forgotten}");
}
