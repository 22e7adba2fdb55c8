//! Python: a virtual environment with the pinned componentizer, made once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::component_file::{finish, unfinished};
use super::error::BuildError;
use super::tool::Tool;
use crate::cli::plugin::scaffold::project::Project;

const REQUIREMENTS: &str = "requirements.txt";
/// A copy of the requirements that the environment was made with.
const INSTALLED: &str = ".venv/waxwing-requirements.txt";
/// Types for editors and tests; the component has its own.
const BINDINGS: &str = "build/bindings";

const PYTHON: Tool = Tool {
    name: "python3",
    needed_for: "it makes the environment of the tool that turns Python into a component",
    get: "Install Python 3.10 or later: `apt-get install python3 python3-venv`, or \
          https://www.python.org.",
    advice: Some("On Debian and Ubuntu `venv` is a package of its own: python3-venv."),
};

const PIP: Tool = Tool {
    advice: Some("It needs the network once, to fetch what requirements.txt pins."),
    ..PYTHON
};

const COMPONENTIZE: Tool = Tool {
    name: "componentize-py",
    needed_for: "it turns Python into a component",
    get: "requirements.txt must list it; delete `.venv` to have it fetched again.",
    advice: None,
};

/// Makes the environment if need be, the types, and the component.
pub fn build(project: &Project) -> Result<(), BuildError> {
    let dir = &project.dir;
    let bin = environment(dir)?;
    let world = project.kind.world();
    let bindings = dir.join(BINDINGS);
    if bindings.exists() {
        fs::remove_dir_all(&bindings).map_err(BuildError::file(&bindings))?;
    }
    let unfinished = unfinished(project)?;
    let output = std::path::absolute(&unfinished).map_err(BuildError::file(&unfinished))?;
    let output = output.to_string_lossy();
    let interface = project.interface.to_string_lossy();
    let target = ["--quiet", "--wit-path", &*interface, "--world", world];
    componentize(dir, &bin, &[&target[..], &["bindings", BINDINGS]].concat())?;
    // Without `--stub-wasi` the component would ask for files and sockets, which no server gives.
    let rest = ["componentize", "--stub-wasi", "--python-path", "src", "app", "--output", &output];
    componentize(dir, &bin, &[&target[..], &rest].concat())?;
    finish(project, &unfinished)
}

fn componentize(dir: &Path, bin: &Path, args: &[&str]) -> Result<(), BuildError> {
    let mut command = Command::new(bin.join(COMPONENTIZE.name));
    // It looks there for the packages that the plugin imports.
    if let Some(environment) = bin.parent() {
        command.env("VIRTUAL_ENV", environment);
    }
    // The tool is written in Rust: this would put its own backtrace below the plugin's error.
    command.env_remove("RUST_BACKTRACE");
    command.current_dir(dir).args(args).stdout(Stdio::from(std::io::stderr()));
    COMPONENTIZE.finish(&mut command).map(|_| ())
}

/// The programs of the environment with what `requirements.txt` lists; made again if that changed.
fn environment(dir: &Path) -> Result<PathBuf, BuildError> {
    let environment = dir.join(".venv");
    let environment = std::path::absolute(&environment).map_err(BuildError::file(&environment))?;
    let bin = environment.join(if cfg!(windows) { "Scripts" } else { "bin" });
    let (wanted, installed) = (dir.join(REQUIREMENTS), dir.join(INSTALLED));
    let requirements = fs::read(&wanted).map_err(BuildError::file(&wanted))?;
    if fs::read(&installed).is_ok_and(|it| it == requirements) {
        return Ok(bin);
    }
    let python = if PYTHON.is_there() { PYTHON } else { Tool { name: "python", ..PYTHON } };
    if !python.is_there() {
        let Tool { name: tool, needed_for, get, .. } = PYTHON;
        return Err(BuildError::MissingTool { tool, needed_for, get });
    }
    python.run(dir, &["-m", "venv", "--clear", ".venv"])?;
    let mut pip = Command::new(bin.join("python"));
    pip.current_dir(dir).stdout(Stdio::from(std::io::stderr()));
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "-r",
        REQUIREMENTS,
    ]);
    PIP.finish(&mut pip)?;
    fs::write(&installed, requirements).map_err(BuildError::file(&installed))?;
    Ok(bin)
}
