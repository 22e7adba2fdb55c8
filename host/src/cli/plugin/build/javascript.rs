//! JavaScript: npm fetches the pinned componentizer once, and the project's own script runs it.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use super::error::BuildError;
use super::tool::Tool;
use crate::cli::plugin::scaffold::project::Project;

const NPM: Tool = Tool {
    name: if cfg!(windows) { "npm.cmd" } else { "npm" },
    needed_for: "it fetches and runs the tool that turns JavaScript into a component",
    get: "Install Node.js 18 or later with npm: `apt-get install nodejs npm`, or https://nodejs.org.",
    advice: None,
};

const FETCH: Tool = Tool {
    advice: Some("It needs the network once, to fetch what package-lock.json pins."),
    ..NPM
};

/// Installs what is missing, then runs `npm run build`, which writes the component by itself.
pub fn build(project: &Project) -> Result<(), BuildError> {
    let dir = &project.dir;
    if !is_installed(dir) {
        // Not `npm ci`: it refuses a lock file that leaves out the binaries of other platforms.
        FETCH.run(dir, &["install", "--no-audit", "--no-fund"])?;
    }
    let component = project.component();
    if let Some(folder) = component.parent() {
        fs::create_dir_all(folder).map_err(BuildError::file(folder))?;
    }
    NPM.run(dir, &["run", "--silent", "build"])
}

/// npm writes a lock file of its own after each installation; an older one is out of date.
fn is_installed(dir: &Path) -> bool {
    let changed = |path: &str| -> Option<SystemTime> {
        fs::metadata(dir.join(path)).and_then(|it| it.modified()).ok()
    };
    let Some(installed) = changed("node_modules/.package-lock.json") else { return false };
    ["package.json", "package-lock.json"]
        .into_iter()
        .filter_map(changed)
        .all(|wanted| wanted <= installed)
}
