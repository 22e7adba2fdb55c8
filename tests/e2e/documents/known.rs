//! Commands that a test cannot run whole (they take minutes, need root or a second machine) exist as they are written:
//! the program parses its options, cargo knows the package and the target, the script is there.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use regex::Regex;
use serde_json::Value;
use waxwing_tests::{documents, workspace};

/// Programs of others in blocks of commands, and the test that runs that program.
const OTHERS: [(&str, &str); 8] = [
    ("curl", "documents.rs"),
    ("swaks", "documents.rs"),
    ("pg_dump", "postgres/operations.rs"),
    ("createdb", "postgres/operations.rs"),
    ("pg_restore", "postgres/operations.rs"),
    ("psql", "postgres/operations.rs"),
    ("componentize-qjs", "plugin_languages.rs"),
    ("componentize-py", "plugin_languages.rs"),
];
/// Of the shell itself.
const SHELL: [&str; 9] =
    ["apt-get", "buildah", "cat", "cd", "dpkg", "mkdir", "mv", "rm", "systemctl"];

/// A recipient of backups, for `age1…`.
const RECIPIENT: &str = "age1t5tys0zmkld4c9mjjychqxv3zdx9pxdtaaj0x3sx00fslrr5rclqm6vdx5";

#[test]
fn every_command_of_every_document_exists_with_its_options() {
    let (known, mut wrong, mut read) = (Known::read(), Vec::new(), 0);
    for document in documents() {
        let typed = document.commands();
        let quoted = document.quotations().into_iter().filter(|it| is_ours(it));
        let commands: BTreeSet<String> = typed.into_iter().chain(quoted).collect();
        for command in &commands {
            for part in command.split(" && ").flat_map(|it| it.split(" | ")) {
                read += 1;
                if let Err(fault) = known.check(part) {
                    wrong.push(format!("{}: `{part}`: {fault}", document.path));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(read > 130, "only {read} commands were found");
}

/// Those of the engine's README take seconds, but for the optimised ones.
#[test]
fn the_quick_commands_of_the_engines_readme_run_as_they_stand() {
    let all = documents();
    let readme = all.iter().find(|it| it.path == "plugins/liquid/README.md").expect("a README");
    let quick: Vec<String> = readme
        .commands()
        .into_iter()
        .filter(|it| it.starts_with("cargo test ") && !it.contains("--release"))
        .collect();
    assert_eq!(quick.len(), 2, "{quick:?}");
    let some = Regex::new(r"test result: ok\. [1-9]").expect("a pattern");
    for command in quick {
        let mut shell = Command::new("sh");
        let ran = shell.args(["-c", &command]).current_dir(workspace()).output();
        let ran = ran.expect("sh starts");
        let said = String::from_utf8_lossy(&ran.stdout);
        let told = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{command}: {said}{told}");
        assert!(some.is_match(&said), "{command} runs something: {said}");
    }
}

#[test]
fn a_command_that_does_not_exist_is_noticed() {
    let known = Known::read();
    for right in [
        "waxwing plugin install x.wasm --impact ask",
        "waxwing-load smtp --against postfix # a comment",
        "cargo test --release -p waxwing-liquid speed -- --nocapture",
        "host/fuzz/run 60 liquid",
        "xargs -I{} waxwing message list --account {}",
        "npm run tables",
        "npm run clients",
    ] {
        assert_eq!(known.check(right), Ok(()), "{right}");
    }
    for wrong in [
        "waxwing plugin instal x.wasm",
        "waxwing plugin new night-rest --kind plan --lang cobol",
        "waxwing message list --account acc_… --states queued",
        "xargs -n 1 -r waxwing message cancle",
        "npm run table",
        "waxwing-load smtp --against exim",
        "waxwing-load --conections 1",
        "cargo test -p waxwing-liquids",
        "cargo test -p waxwing-liquid no_such_test",
        "cargo run --release -p waxwing-tests --bin waxwing-loads --",
        "cargo run -- developer",
        "cargo run -p waxwing-instructions --features valgrinds",
        "host/fuzz/run 60 liquids",
        "tests/load/flames accept x.svg",
        "tests/load/flame relay x.svg",
        "postconf -n",
    ] {
        assert!(known.check(wrong).is_err(), "{wrong}");
    }
}

/// What a word in backticks must begin with to be a command of this repository.
fn is_ours(quotation: &str) -> bool {
    let begins = ["waxwing ", "waxwing-load ", "cargo ", "WAXWING_WRITE=1 cargo "];
    let scripts = ["host/fuzz/run ", "tests/load/allocations", "tests/load/flame ", ".ci/run"];
    begins.iter().chain(&scripts).any(|it| quotation.starts_with(it))
}

/// What cargo knows of this workspace.
struct Known {
    packages: Vec<Value>,
}

impl Known {
    fn read() -> Self {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut metadata = Command::new(cargo);
        metadata.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]);
        let output = metadata.current_dir(workspace()).output().expect("cargo runs");
        let mut metadata: Value =
            serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
        let packages = metadata["packages"].take();
        Self { packages: serde_json::from_value(packages).expect("a list of packages") }
    }

    /// Whether a command exists as it is written.
    fn check(&self, command: &str) -> Result<(), String> {
        let first = command.lines().next().unwrap_or_default();
        let (line, _) = first.split_once(" #").unwrap_or((first, ""));
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_setting = |word: &&&str| {
            word.split_once('=')
                .is_some_and(|(name, _)| name.chars().all(|c| c.is_ascii_uppercase() || c == '_'))
                || word.starts_with("--remap-path-prefix")
        };
        let settings = words.iter().take_while(is_setting).count();
        let words = &words[settings..];
        let Some((program, rest)) = words.split_first() else { return Ok(()) };
        match *program {
            "waxwing" => parses(waxwing_tests::binary(), line),
            // As another user.
            "runuser" => {
                let run = words.iter().position(|it| *it == "--").ok_or("it runs nothing")?;
                self.check(&words[run + 1..].join(" "))
            }
            // What it is given stands behind its options.
            "xargs" => {
                let run = words
                    .iter()
                    .position(|it| *it == "waxwing")
                    .ok_or("it runs nothing of ours")?;
                self.check(&words[run..].join(" ").replace("{}", "acc_…"))
            }
            "npm" => check_npm(rest),
            "waxwing-load" => parses_load(line),
            "cargo" => self.check_cargo(rest),
            script if script.contains('/') => check_script(script, rest),
            other if SHELL.contains(&other) => Ok(()),
            other => check_other(other),
        }
    }

    fn check_cargo(&self, words: &[&str]) -> Result<(), String> {
        let end = words.iter().position(|word| *word == "--").unwrap_or(words.len());
        let (words, program) = (&words[..end], words.get(end + 1..).unwrap_or_default());
        let (subcommand, options) = words.split_first().ok_or("no subcommand")?;
        let option = |name: &[&str]| {
            let at = options.iter().position(|word| name.contains(word))?;
            options.get(at + 1).copied()
        };
        if *subcommand == "fuzz" {
            return check_script("host/fuzz/run", &[&["1"], &options[1..]].concat());
        }
        if !["bench", "build", "clippy", "doc", "run", "test"].contains(subcommand) {
            return Err(format!("cargo has no {subcommand}"));
        }
        let named = option(&["-p", "--package"]);
        let package = named.map(|it| self.package(it).ok_or("no such package")).transpose()?;
        for (option, kind) in [(option(&["--bin"]), "bin"), (option(&["--test"]), "test")] {
            let is_it = |it: &Value| option == it["name"].as_str() && it["kind"][0] == kind;
            let mut packages =
                self.packages.iter().filter(|it| package.is_none_or(|one| *it == one));
            if option.is_some() && !packages.any(|it| has(&it["targets"], is_it)) {
                return Err(format!("no such {kind}"));
            }
        }
        if let Some(feature) = option(&["--features"]) {
            let mut packages =
                self.packages.iter().filter(|it| package.is_none_or(|one| *it == one));
            if !packages.any(|it| it["features"].get(feature).is_some()) {
                return Err(format!("no feature {feature}"));
            }
        }
        let with_value =
            ["-p", "--package", "--bin", "--test", "--features", "--profile", "--target"];
        let before = |at: usize| at.checked_sub(1).and_then(|it| options.get(it)).copied();
        let filter = options.iter().enumerate().find(|(at, word)| {
            !word.starts_with('-') && !before(*at).is_some_and(|it| with_value.contains(&it))
        });
        let filters = filter.map(|(_, word)| *word).into_iter();
        let filters = filters.chain(program.first().copied().filter(|_| *subcommand == "bench"));
        for filter in filters {
            if !self.sources(package).iter().any(|it| selects(it, filter)) {
                return Err(format!("no test is called {filter}"));
            }
        }
        match (*subcommand, package.and_then(|it| it["name"].as_str())) {
            ("run", None) => {
                parses(waxwing_tests::binary(), &format!("waxwing {}", program.join(" ")))
            }
            ("run", Some("waxwing-instructions")) => match program.first() {
                None | Some(&"--record") => Ok(()),
                Some(other) => Err(format!("no option {other}")),
            },
            _ => Ok(()),
        }
    }

    fn package(&self, name: &str) -> Option<&Value> {
        self.packages.iter().find(|it| it["name"] == name)
    }

    /// The sources of a package, or of all.
    fn sources(&self, package: Option<&Value>) -> Vec<String> {
        let all = self.packages.iter().filter(|it| package.is_none_or(|wanted| *it == wanted));
        let mut sources = Vec::new();
        for manifest in all.filter_map(|it| it["manifest_path"].as_str()) {
            collect(Path::new(manifest).parent().expect("a folder"), &mut sources);
        }
        sources
    }
}

fn has(list: &Value, is_it: impl Fn(&Value) -> bool) -> bool {
    list.as_array().is_some_and(|it| it.iter().any(is_it))
}

/// The paths of Rust files, and the names of the functions in them.
fn collect(folder: &Path, sources: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder").filter_map(Result::ok) {
        let path = entry.path();
        if path.is_dir() && !path.ends_with("target") && !path.ends_with("node_modules") {
            collect(&path, sources);
        } else if path.extension().is_some_and(|it| it == "rs") {
            let text = fs::read_to_string(&path).expect("a source is readable");
            let functions = text.lines().filter_map(|line| line.trim().split_once("fn "));
            let module = path.with_extension("").display().to_string().replace('/', "::");
            for (_, function) in functions {
                let name = function.split(['(', '<']).next().unwrap_or_default();
                sources.push(format!("{module}::{name}"));
            }
        }
    }
}

/// Whether a filter of `cargo test` selects a function.
fn selects(function: &str, filter: &str) -> bool {
    function.contains(filter)
}

fn parses_load(line: &str) -> Result<(), String> {
    parses(Path::new(env!("CARGO_BIN_EXE_waxwing-load")), line)
}

/// Whether a program takes a line: it reads all of it up to `--help`, which it then obeys.
fn parses(program: &Path, line: &str) -> Result<(), String> {
    let identifier = Regex::new(r"\b(acc|whk|key|msg|dec|evt)_…").expect("a pattern");
    let line = identifier.replace_all(line, "${1}_01KAM3Z3Z3Z3Z3Z3Z3Z3Z3Z3Z3");
    let placeholder = Regex::new(r"<[^>]*>").expect("a pattern");
    let line = placeholder.replace_all(&line, "example.org");
    let line = line.replace("age1…", RECIPIENT);
    let (_, arguments) = line.split_once(' ').unwrap_or((&line, ""));
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("exec \"$PROGRAM\" {arguments} --help")]).env("PROGRAM", program);
    let output = shell.stdin(Stdio::null()).output().expect("sh runs");
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() { Ok(()) } else { Err(said.trim().to_owned()) }
}

/// A script of this repository, and those of its arguments that stand in its text.
fn check_script(script: &str, arguments: &[&str]) -> Result<(), String> {
    let path = workspace().join(script);
    let text = fs::read_to_string(&path).map_err(|error| error.to_string())?;
    let mut check = Command::new("bash");
    let is_shell = check.arg("-n").arg(&path).status().is_ok_and(|it| it.success());
    if !is_shell {
        return Err("bash does not read it".to_owned());
    }
    match script {
        "host/fuzz/run" => {
            let (seconds, targets) = arguments.split_first().ok_or("without a time")?;
            seconds.parse::<u32>().map_err(|error| error.to_string())?;
            let is_there = |target: &&&str| {
                workspace().join(format!("host/fuzz/fuzz_targets/{target}.rs")).exists()
            };
            match targets.iter().find(|target| !is_there(target)) {
                Some(target) => Err(format!("no target {target}")),
                None => Ok(()),
            }
        }
        "tests/load/flame" => {
            let path = arguments.first().ok_or("without a path")?;
            let is_there = text.contains(&format!("\n  {path})\n"));
            if is_there { Ok(()) } else { Err(format!("no path {path}")) }
        }
        "host/packaging/deb" | "host/packaging/root" if arguments.len() == 2 => Ok(()),
        "tests/load/allocations" | ".ci/run" | "host/packaging/static" if arguments.is_empty() => {
            Ok(())
        }
        "host/packaging/profiled" if arguments.is_empty() => {
            let mut loads = text.lines().filter_map(|line| line.strip_prefix("load ")).peekable();
            if loads.peek().is_none() {
                return Err("it drives no load".to_owned());
            }
            loads.try_for_each(|load| parses_load(&format!("waxwing-load {load}")))
        }
        other => Err(format!("no test knows the arguments of {other}")),
    }
}

/// Packages of npm that make tables.
const PACKAGES: [&str; 2] =
    ["plugins/liquid/cldr/package.json", "host/src/authoring/lint/caniemail/package.json"];

fn check_npm(words: &[&str]) -> Result<(), String> {
    for package in PACKAGES {
        let manifest = fs::read_to_string(workspace().join(package));
        let manifest: Value = serde_json::from_str(&manifest.map_err(|error| error.to_string())?)
            .map_err(|error| error.to_string())?;
        match words {
            ["install", "--no-package-lock"] => return Ok(()),
            ["run", script] if manifest["scripts"].get(script).is_some() => return Ok(()),
            _ => {}
        }
    }
    Err(format!("npm has no {}", words.join(" ")))
}

/// A program that is not ours: a test beside this one runs it.
fn check_other(program: &str) -> Result<(), String> {
    let (_, test) = OTHERS
        .iter()
        .find(|(name, _)| *name == program)
        .ok_or("no test knows this program; add it to those that one runs")?;
    let there = workspace().join("tests/e2e").join(test).exists();
    if there { Ok(()) } else { Err(format!("{test} is gone")) }
}
