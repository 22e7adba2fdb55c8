//! Projects on disk: made by `plugin new` or copied from the examples, and taken through the tools.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::tools::{
    Language, answer_of, command, json_of, output, polite_waxwing, succeeded, waxwing,
};
use super::{Proven, SETTINGS, count};

/// What `plugin build` says when a registry gave nothing.
const NO_NETWORK: &str = "It needs the network once";
/// What builds leave behind in the folders of the examples.
const MADE: [&str; 6] = ["node_modules", ".venv", "build", "target", "__pycache__", ".git"];

/// The folder of the new projects in one language. It is always the same one, so that cargo finds
/// again what it has built, and it is locked, so that two runs of the tests do not share it.
pub struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    pub fn of(language: Language) -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plugin-languages");
        let path = root.join(language.name());
        fs::create_dir_all(&root).expect("a folder");
        let lock = File::create(root.join(format!("{}.lock", language.name()))).expect("a file");
        lock.lock().expect("the folder is ours after a while");
        if path.exists() {
            fs::remove_dir_all(&path).expect("the folder of the last run goes");
        }
        fs::create_dir(&path).expect("a folder");
        Self { path, _lock: lock }
    }
}

pub struct Project {
    language: Language,
    path: PathBuf,
    settings: &'static str,
}

impl Project {
    /// Makes one with `plugin new`.
    pub fn new(folder: &Folder, language: Language, kind: &str) -> Self {
        let name = format!("{}-{kind}", language.name());
        let path = folder.path.join(&name);
        let lang = language.name();
        let words = ["--kind", kind, "--lang", lang, "--json"];
        let made = answer_of(waxwing().args(["plugin", "new"]).arg(&path).args(words));
        assert_eq!((&made["name"], &made["kind"]), (&json!(name), &json!(kind)), "{made:#}");
        let (_, settings) = SETTINGS.into_iter().find(|(it, _)| *it == kind).expect("a kind");
        Self { language, path, settings }
    }

    /// Builds it with `plugin build`; nothing where a registry cannot be reached, and then that was
    /// said.
    pub fn build(&self) -> Option<Value> {
        let mut waxwing = self.at_home(polite_waxwing());
        waxwing.args(["plugin", "build", "--json"]);
        let output = output(&mut waxwing);
        let failed = !output.status.success();
        if failed && String::from_utf8_lossy(&output.stderr).contains(NO_NETWORK) {
            let reached = self.language.has_registry(&self.path);
            if !reached {
                let reason = "the registry of its tools cannot be reached";
                waxwing_tools::registry_failed(&self.language.unproven(), reason);
                return None;
            }
        }
        let built = json_of(&waxwing, &output);
        let component = self.component(&built);
        assert_eq!(built["bytes"], fs::metadata(component).expect("it is there").len());
        Some(built)
    }

    /// Runs the tests that its README names.
    pub fn run_its_own_tests(&self) {
        let words: &[&str] = match self.language {
            Language::Rust => &["cargo", "test", "--quiet"],
            Language::JavaScript => &["npm", "test"],
            Language::Python => &["python3", "-m", "unittest", "discover", "-s", "tests"],
        };
        let mut tests = self.at_home(command(words));
        let output = output(&mut tests);
        succeeded(&tests, &output);
    }

    /// Takes the component through `plugin check` and `plugin test`, in its folder and without
    /// arguments.
    pub fn prove(&self) -> Proven {
        let checked = self.tool("check");
        let cases = count(&self.path.join("cases"));
        assert_eq!((&checked["ok"], &checked["cases"]), (&json!(true), &json!(cases)));
        let tested = self.tool("test");
        assert_eq!((&tested["ok"], &tested["failed"]), (&json!(true), &json!(0)), "{tested:#}");
        assert_eq!(tested["cases"].as_array().map(Vec::len), Some(cases), "{tested:#}");
        assert_eq!(tested["digest"], checked["digest"]);
        let text = |name: &str| checked[name].as_str().expect("a text").to_owned();
        let (name, digest) = (text("name"), text("digest"));
        Proven { component: self.component(&checked), name, digest, settings: self.settings }
    }

    fn tool(&self, name: &str) -> Value {
        // What these tools keep must not go to whoever runs the tests.
        let cache = self.path.with_file_name("cache");
        let mut tool = self.at_home(waxwing());
        answer_of(tool.args(["plugin", name, "--json"]).env("XDG_CACHE_HOME", cache))
    }

    /// The file that an answer names, from the project's folder.
    fn component(&self, answer: &Value) -> PathBuf {
        self.path.join(answer["component"].as_str().expect("an answer names the component"))
    }

    fn at_home(&self, mut command: Command) -> Command {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plugin-languages/cargo");
        command.current_dir(&self.path).env("CARGO_TARGET_DIR", target);
        command
    }
}

/// The examples of this repository.
pub struct Examples(TempDir);

impl Examples {
    /// Copies one, and the interface as it lies from there.
    pub fn copy(folder: &str) -> Self {
        let copy = tempfile::tempdir().expect("a folder");
        for part in [Path::new("wit/v0"), &Path::new("plugins/examples").join(folder)] {
            copy_folder(&workspace().join(part), &copy.path().join(part));
        }
        Self(copy)
    }

    /// The copy as a project.
    pub fn project(&self, language: Language, folder: &str) -> Project {
        let path = self.0.path().join("plugins/examples").join(folder);
        Project { language, path, settings: "" }
    }

    /// Builds one of this workspace's own; answers its component and its cases.
    pub fn build_rust(name: &str) -> (PathBuf, PathBuf) {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("plugins");
        let package = format!("waxwing-example-{name}");
        let profile = ["--profile", "plugin", "--target", "wasm32-wasip2", "--target-dir"];
        let mut build = command(&["nice", "-n", "10", "cargo", "build", "--locked", "--quiet"]);
        build.args(["--package", &package]).args(profile).arg(&target);
        let output = output(build.current_dir(workspace()));
        succeeded(&build, &output);
        let file = format!("{}.wasm", package.replace('-', "_"));
        let cases = workspace().join("plugins/examples").join(name).join("cases");
        (target.join("wasm32-wasip2/plugin").join(file), cases)
    }
}

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this package is in a workspace")
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder can be read") {
        let entry = entry.expect("a folder can be read");
        let (name, path) = (entry.file_name(), entry.path());
        if MADE.iter().any(|made| name == *made) {
            continue;
        }
        if path.is_dir() {
            copy_folder(&path, &to.join(name));
        } else {
            fs::copy(&path, to.join(name)).expect("a file is copied");
        }
    }
}
