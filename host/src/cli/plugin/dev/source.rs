//! The source of a project, watched: what a person writes, not what tools make of it.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;

use super::super::error::ToolError;
use super::super::scaffold::project::Project;

/// Folders that tools fill; those whose names begin with a dot are left out too.
const MADE: [&str; 7] =
    ["target", "node_modules", "venv", "__pycache__", "build", "dist", "componentize-py"];
/// Where the system reports nothing (a network file system), a look finds the change.
const SCAN_INTERVAL: Duration = Duration::from_secs(1);

/// The source of a project, as it was last taken.
pub struct Source {
    dir: PathBuf,
    component: PathBuf,
    taken: Files,
    changed: Arc<Notify>,
    _watcher: RecommendedWatcher,
}

type Files = BTreeMap<PathBuf, (u64, Option<SystemTime>)>;

impl Source {
    /// Watches the source of a project.
    pub fn watch(dir: &Path, project: &Project) -> Result<Self, ToolError> {
        let changed = Arc::new(Notify::new());
        let tell = Arc::clone(&changed);
        let seen = move |event: notify::Result<notify::Event>| {
            // To read a file is no change, and looking at the source reads it.
            if event.is_ok_and(|it| !it.kind.is_access()) {
                tell.notify_one();
            }
        };
        let failed =
            |error: notify::Error| ToolError::Watch { path: dir.to_owned(), source: error };
        let mut watcher = notify::recommended_watcher(seen).map_err(failed)?;
        watcher.watch(dir, RecursiveMode::NonRecursive).map_err(failed)?;
        let folders = std::fs::read_dir(dir).into_iter().flatten().flatten();
        for folder in folders.map(|it| it.path()).filter(|it| it.is_dir() && is_source(it)) {
            watcher.watch(&folder, RecursiveMode::Recursive).map_err(failed)?;
        }
        let component = project.component.clone();
        let taken = Files::new();
        Ok(Self { dir: dir.to_owned(), component, taken, changed, _watcher: watcher })
    }

    /// Takes the source as it is now: what changes from here on is a change.
    pub fn take(&mut self) {
        self.taken = files(&self.dir, &self.component);
    }

    /// Waits until the source is not what was taken, and has been quiet for so long.
    pub async fn changed(&self, quiet: Duration) {
        let mut before = self.taken.clone();
        loop {
            // Either is a reason to look.
            let _elapsed = tokio::time::timeout(SCAN_INTERVAL, self.changed.notified()).await;
            let mut now = files(&self.dir, &self.component);
            while now != before {
                tokio::time::sleep(quiet).await;
                before = std::mem::replace(&mut now, files(&self.dir, &self.component));
            }
            if now != self.taken {
                return;
            }
        }
    }
}

/// The files below a folder that a person writes, without the built component.
fn files(dir: &Path, component: &Path) -> Files {
    let mut files = Files::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        for path in entries.map(|it| it.path()).filter(|it| is_source(it)) {
            let Ok(about) = path.symlink_metadata() else { continue };
            if about.is_dir() {
                folders.push(path);
            } else if path.strip_prefix(dir).is_ok_and(|it| !is_made_for(it, component)) {
                files.insert(path, (about.len(), about.modified().ok()));
            }
        }
    }
    files
}

fn is_source(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    !name.starts_with('.') && !name.ends_with('~') && !MADE.contains(&name.as_ref())
}

/// The component, or what its build writes beside it where that is a folder of its own.
fn is_made_for(path: &Path, component: &Path) -> bool {
    let mut folders = component.components().filter(|it| *it != Component::CurDir);
    let (first, is_in_a_folder) = (folders.next(), folders.next().is_some());
    path == component || (is_in_a_folder && path.components().next() == first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(dir: &Path) -> Project {
        let text = "name = \"x\"\nkind = \"plan\"\nlang = \"rust\"\ncomponent = \"out/x.wasm\"\n";
        std::fs::write(dir.join("waxwing-plugin.toml"), text).unwrap();
        std::fs::create_dir(dir.join("src")).unwrap();
        std::fs::write(dir.join("src/lib.rs"), "one").unwrap();
        Project::read(dir).unwrap()
    }

    #[test]
    fn what_tools_make_is_no_source() {
        let dir = tempfile::tempdir().unwrap();
        let project = project(dir.path());
        let before = files(dir.path(), &project.component);
        assert_eq!(before.len(), 2);
        for made in ["target/debug/x.d", "node_modules/a.js", "out/x.wasm", ".venv/bin/python"] {
            let path = dir.path().join(made);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "made").unwrap();
        }
        assert_eq!(files(dir.path(), &project.component), before);
        std::fs::write(dir.path().join("src/new.rs"), "two").unwrap();
        assert_ne!(files(dir.path(), &project.component), before);
    }

    #[tokio::test]
    async fn a_save_is_seen_and_a_build_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let project = project(dir.path());
        let mut source = Source::watch(dir.path(), &project).unwrap();
        source.take();
        std::fs::create_dir(dir.path().join("out")).unwrap();
        std::fs::write(dir.path().join("out/x.wasm"), "built").unwrap();
        let quiet = Duration::from_millis(1);
        let unseen = tokio::time::timeout(Duration::from_millis(50), source.changed(quiet)).await;
        assert!(unseen.is_err(), "a build is no change");
        std::fs::write(dir.path().join("src/lib.rs"), "a longer text").unwrap();
        tokio::time::timeout(Duration::from_secs(30), source.changed(quiet)).await.unwrap();
        source.take();
        assert_eq!(source.taken, files(dir.path(), &project.component));
    }
}
