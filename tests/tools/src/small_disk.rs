//! A disk that is small enough to be full.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A disk of a few megabytes over a directory, until it is dropped. Where [`crate::Need::SmallDisk`] is met.
#[derive(Debug)]
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts one over an empty directory, with options as in `size=96m`.
    ///
    /// # Panics
    /// It cannot be mounted.
    #[must_use]
    pub fn over(directory: &Path, options: &str) -> Self {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "waxwing-test"]).arg(directory);
        let mounted = mount.output().expect("mount starts");
        let said = String::from_utf8_lossy(&mounted.stderr);
        assert!(mounted.status.success(), "a tmpfs is mounted: {said}");
        Self(directory.to_owned())
    }

    /// Leaves no room at all.
    ///
    /// # Panics
    /// There is no room for a file to begin with.
    pub fn fill(&self) {
        let mut filler = File::options().create(true).append(true).open(self.filler());
        let filler = filler.as_mut().expect("a file");
        for size in [1 << 20, 4_096] {
            while filler.write_all(&vec![0; size]).is_ok() {}
        }
    }

    /// Makes room again.
    ///
    /// # Panics
    /// It was not filled.
    pub fn free(&self) {
        fs::remove_file(self.filler()).expect("there is room again");
    }

    fn filler(&self) -> PathBuf {
        self.0.join("filler")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: the server that uses it may be stopped after this.
        drop(Command::new("umount").arg("-l").arg(&self.0).status());
    }
}
