//! What makes a start fast: plugins that are compiled already, and the master key that vouches for
//! them. Made once for each build of the server, and copied into every new data directory.
//!
//! The seed also keeps a copy of the binary, so that a build in another terminal does not change
//! the server in the middle of a test.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use crate::binary::binary;

const MAX_AGE: Duration = Duration::from_hours(2);

/// The binary, and what a data directory begins with.
#[derive(Debug)]
pub struct Seed {
    directory: PathBuf,
}

impl Seed {
    /// The seed for the binary under test.
    pub fn of_this_build() -> &'static Self {
        static SEED: OnceLock<Seed> = OnceLock::new();
        SEED.get_or_init(|| make(binary()).expect("the seed directory can be made"))
    }

    /// The copy of the binary.
    pub fn binary(&self) -> PathBuf {
        self.directory.join("waxwing")
    }

    /// Fills a new data directory.
    pub fn plant(&self, data: &Path) -> io::Result<()> {
        let compiled = data.join("compiled-plugins");
        fs::create_dir_all(&compiled)?;
        fs::copy(self.directory.join("data/master.key"), data.join("master.key"))?;
        for file in fs::read_dir(self.directory.join("data/compiled-plugins"))? {
            let file = file?;
            fs::copy(file.path(), compiled.join(file.file_name()))?;
        }
        Ok(())
    }
}

fn make(binary: &Path) -> io::Result<Seed> {
    let seeds = std::env::temp_dir().join("waxwing-test-seeds");
    fs::create_dir_all(&seeds)?;
    let lock = File::create(seeds.join("lock"))?;
    lock.lock()?;
    let directory = seeds.join(fingerprint(binary)?);
    if !directory.join("data/master.key").exists() {
        forget_old_ones(&seeds)?;
        let partial = tempfile::tempdir_in(&seeds)?;
        fs::copy(binary, partial.path().join("waxwing"))?;
        compile_plugins(partial.path())?;
        fs::rename(partial.keep(), &directory)?;
    }
    // What is used is not old.
    File::open(&directory)?.set_modified(SystemTime::now())?;
    Ok(Seed { directory })
}

/// Any command that loads the plugins leaves them compiled.
fn compile_plugins(seed: &Path) -> io::Result<()> {
    let run = |arguments: &[&str]| -> io::Result<Vec<u8>> {
        let output = Command::new(seed.join("waxwing"))
            .args(arguments)
            .arg("--json")
            .arg("--data-dir")
            .arg(seed.join("data"))
            .output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "waxwing {arguments:?}: {errors}");
        Ok(output.stdout)
    };
    let account: serde_json::Value =
        serde_json::from_slice(&run(&["account", "create", "--name", "seed"])?)?;
    let account = account["id"].as_str().expect("an account has an id");
    run(&["domain", "add", "--account", account, "seed.test", "--sandbox"])?;
    Ok(())
}

fn fingerprint(binary: &Path) -> io::Result<String> {
    let about = fs::metadata(binary)?;
    let mut hasher = DefaultHasher::new();
    (binary, about.len(), about.modified()?).hash(&mut hasher);
    Ok(format!("seed-{:016x}", hasher.finish()))
}

fn forget_old_ones(seeds: &Path) -> io::Result<()> {
    for entry in fs::read_dir(seeds)? {
        let entry = entry?;
        let about = entry.metadata()?;
        let age = SystemTime::now().duration_since(about.modified()?).unwrap_or_default();
        if about.is_dir() && age > MAX_AGE {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}
