//! Plugins on the command line, without a server: check, test, bench, inspect and signatures; and
//! `plugin dev`, which swaps what it builds into a server that runs.

mod dev;
mod record;
mod verdicts;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder to work in. Compiled code is kept in it too, and not with whoever runs the tests.
struct Desk(TempDir);

impl Desk {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    /// A desk with a guest on it, as `<name>.wasm`.
    fn with(guest: &str) -> Self {
        let desk = Self::new();
        desk.put(&format!("{guest}.wasm"), waxwing_guests::component(guest));
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        // Whoever watches the folder never sees half of it.
        let partial = self.path(".partial");
        fs::write(&partial, bytes).expect("written");
        fs::rename(partial, path).expect("renamed");
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("a text file")
    }

    /// A project whose component is that guest, as if it had been built.
    fn project(&self, guest: &str) {
        self.put("made.wasm", waxwing_guests::component(guest));
        let file =
            "name = \"prices\"\nkind = \"plan\"\nlang = \"rust\"\ncomponent = \"made.wasm\"\n";
        self.put("waxwing-plugin.toml", file);
    }

    /// `waxwing plugin …` in this folder.
    fn command(&self, arguments: &[&str]) -> Command {
        command(self.0.path(), arguments)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the binary runs")
    }

    /// What it answers with `--json`; it must end well.
    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.run(&[arguments, &["--json"]].concat());
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {errors}");
        serde_json::from_slice(&output.stdout).expect("--json prints JSON")
    }

    /// What it says when it must fail, on standard error, and what it prints with `--json`.
    fn fails(&self, arguments: &[&str]) -> (String, Value) {
        let output = self.run(&[arguments, &["--json"]].concat());
        assert_eq!(output.status.code(), Some(1), "{arguments:?} ends with 1");
        let said = String::from_utf8(output.stderr).expect("UTF-8");
        (said, serde_json::from_slice(&output.stdout).unwrap_or_default())
    }

    /// What people see; it must end well.
    fn says(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {errors}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(waxwing_tests::binary());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("WAXWING_") {
            command.env_remove(name);
        }
    }
    command
        .arg("plugin")
        .args(arguments)
        .current_dir(folder)
        .env("XDG_CACHE_HOME", folder.join(".cache"))
        .stdin(Stdio::null());
    command
}

#[test]
fn a_component_shows_what_it_is() {
    let desk = Desk::with("price-setting");
    let shown = desk.json(&["inspect", "price-setting.wasm"]);
    assert_eq!((&shown["kind"], &shown["name"]), (&json!("plan"), &json!("price-setting")));
    assert_eq!(shown["interface"], "waxwing:plugin/plan-policy@0.1.0");
    assert_eq!(shown["settingsSchema"]["properties"]["price"]["maximum"], 100);
    let bytes = waxwing_guests::component("price-setting").len();
    assert_eq!(shown["bytes"], bytes);
    let sections = shown["sections"].as_array().expect("a list");
    let sum: u64 = sections.iter().filter_map(|it| it["bytes"].as_u64()).sum();
    assert!(sum > 0, "{shown}");
    let text = desk.says(&["inspect", "price-setting.wasm"]);
    assert!(text.contains("price (integer)") && text.contains("plan policy"), "{text}");

    // One that cannot say what it is still shows the rest.
    let desk = Desk::with("trap-describe");
    let (said, shown) = desk.fails(&["inspect", "trap-describe.wasm"]);
    assert!(said.contains("describe") && shown["kind"] == "plan", "{said} {shown}");
    assert_eq!(shown["name"], Value::Null);
}

#[test]
fn a_benchmark_names_each_limit_and_how_much_of_it_is_used() {
    let desk = Desk::with("price-setting");
    desk.put("price-setting.toml", "[settings]\nprice = 3\n");
    let few = ["bench", "price-setting.wasm", "--calls", "50"];
    let found = desk.json(&few);
    assert_eq!((&found["calls"], &found["instances"]), (&json!(50), &json!("fresh")));
    let case = &found["cases"][0];
    let time = |sort: &str, which: &str| case[sort][which].as_u64().expect("nanoseconds");
    for sort in ["instance", "cold", "warm"] {
        assert!(0 < time(sort, "p50Ns") && time(sort, "p50Ns") <= time(sort, "p99Ns"), "{case}");
    }
    assert!(time("warm", "p50Ns") < time("cold", "p50Ns"), "{case}");
    assert!(found["memoryBytes"].as_u64().is_some_and(|it| it >= 64 << 10), "{found}");
    let limits = found["limits"].as_array().expect("a list");
    let of = |setting: &str| {
        let name = format!("plugins.limits.plan.{setting}");
        limits.iter().find(|it| it["setting"] == name.as_str()).expect("the limit")
    };
    assert_eq!(of("call_ms")["limit"], 10_000_000);
    assert_eq!(of("memory_bytes")["limit"], 16 << 20);
    for setting in ["call_ms", "prepare_ms", "memory_bytes", "output_bytes"] {
        assert!(of(setting)["used"].as_u64() < of(setting)["limit"].as_u64(), "{found}");
    }
    // The slot's own limits hold here too, and cases are named.
    desk.put("price-setting.toml", "[settings]\nprice = 3\n[limits]\ncall_ms = 20\n");
    desk.put("price-setting.cases/paid/input.json", r#"{"uses": [{"recipients": 2}]}"#);
    let text = desk.says(&[&few[..], &["--case", "paid"]].concat());
    assert!(text.contains("20.000 ms") && text.contains("\npaid "), "{text}");
    let (said, _) = desk.fails(&[&few[..], &["--case", "free"]].concat());
    assert!(said.contains("there are: paid"), "{said}");
}

#[test]
fn a_renderer_is_measured_with_and_without_its_compiled_template() {
    let desk = Desk::with("visible-a");
    let found = desk.json(&["bench", "visible-a.wasm", "--calls", "20"]);
    assert_eq!((&found["kind"], &found["instances"]), (&json!("renderer"), &json!("warm")));
    assert!(found["cases"][0]["compileAndRender"]["p50Ns"].as_u64() > Some(0), "{found}");
}

#[test]
fn a_signature_is_made_verified_and_required() {
    let desk = Desk::with("price-one");
    let made = desk.json(&["keygen", "--out", "release.key"]);
    let public = made["publicKey"].as_str().expect("a key");
    assert!(public.starts_with("wxpub_") && !made.to_string().contains("wxsec_"), "{made}");
    assert_private(&desk.path("release.key"));
    let (said, _) = desk.fails(&["keygen", "--out", "release.key"]);
    assert!(said.contains("never overwritten"), "{said}");

    let verify = ["verify", "price-one.wasm", "--key", public];
    let (said, _) = desk.fails(&verify);
    assert!(said.contains("not signed"), "{said}");
    desk.put(
        "server.toml",
        format!("[plugins]\nsignatures = \"require\"\ntrusted_keys = [\"{public}\"]\n"),
    );
    let check = ["check", "price-one.wasm", "--config", "server.toml"];
    assert!(desk.fails(&check).0.contains("not signed"));

    let signed = desk.json(&["sign", "price-one.wasm", "--key", "release.key"]);
    assert_eq!(signed["file"], "price-one.sig");
    assert_eq!(desk.json(&verify)["digest"], signed["digest"]);
    assert_eq!(desk.json(&check)["ok"], true);
    assert_eq!(desk.json(&["verify", "price-one.wasm", "--key", "release.key"])["ok"], true);

    drop(desk.json(&["keygen", "--out", "other.key"]));
    let (said, _) = desk.fails(&["verify", "price-one.wasm", "--key", "other.key"]);
    assert!(said.contains("not by a trusted key"), "{said}");
    desk.put("price-one.wasm", waxwing_guests::component("price-two"));
    let (said, _) = desk.fails(&verify);
    assert!(said.contains("for another component"), "{said}");
    assert!(desk.fails(&check).0.contains("for another component"));
}

#[cfg(unix)]
fn assert_private(file: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mode = fs::metadata(file).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "only its owner reads it");
}

#[cfg(not(unix))]
fn assert_private(_file: &Path) {}

#[test]
fn every_command_teaches_with_an_example() {
    let desk = Desk::new();
    for name in ["check", "test", "record", "bench", "inspect", "keygen", "sign", "verify", "dev"] {
        let help = desk.says(&[name, "--help"]);
        let example = format!("waxwing plugin {name}");
        let after_usage = help.split_once("Example").map(|(_, rest)| rest).expect("an example");
        assert!(after_usage.contains(&example), "{name}: {help}");
        assert!(help.contains("--json"), "{name}: {help}");
    }
}
