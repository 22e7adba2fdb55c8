//! The packages of `PyPI` that tests use, in one virtual environment.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::{Need, install_once, registry_failed, run, tools};

/// Every package with its version, as `pip freeze` prints them.
const REQUIREMENTS: &str = include_str!("../requirements.txt");

/// The Python interpreter that has the packages of `requirements.txt`; beside it are their programs.
/// None where it cannot be had here; then `unproven` is noted as what was not tested.
///
/// # Panics
/// It cannot be had, and `CI` is set.
#[must_use]
pub fn python(unproven: &str) -> Option<PathBuf> {
    static INSTALLED: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    if !Need::PythonVenv.is_met(unproven) {
        return None;
    }
    match INSTALLED.get_or_init(install) {
        Ok(python) => Some(python.clone()),
        Err(reason) => {
            registry_failed(unproven, reason);
            None
        }
    }
}

/// Runs a script that reads `input`; answers what it prints.
///
/// # Panics
/// The script fails.
#[must_use]
pub fn run_python(python: &Path, script: &str, input: &[u8]) -> String {
    let mut child = Command::new(python)
        .args(["-I", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("Python starts");
    child.stdin.take().expect("a pipe").write_all(input).expect("the script reads its input");
    let output = child.wait_with_output().expect("the script ends");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the script fails: {errors}");
    String::from_utf8(output.stdout).expect("the script prints UTF-8")
}

fn install() -> Result<PathBuf, String> {
    let folder = tools().join("python");
    let environment = folder.join("environment");
    let python = environment.join("bin/python");
    install_once(&folder, REQUIREMENTS, || {
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment))?;
        let requirements = folder.join("requirements.txt");
        std::fs::write(&requirements, REQUIREMENTS).expect("a file is written");
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]);
        run(pip.arg("--requirement").arg(&requirements))
    })?;
    Ok(python)
}
