//! What Debian and systemd do with the server: the package, its unit, the completions, and what the service manager is
//! told.

use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use waxwing_tests::{Launch, Server, binary, only_on_a_file, waxwing, workspace};
use waxwing_tools::Need;

const PATIENCE: Duration = Duration::from_secs(30);
/// `systemd-analyze security` gives points from 0 to 100.
const MOST_EXPOSURE: &str = "20";

/// The next notification with these words; those of the watchdog may come between.
fn told(manager: &UnixDatagram, words: &str) -> String {
    let mut buffer = [0; 4096];
    loop {
        let length = manager.recv(&mut buffer).expect("the server tells the service manager");
        let heard = String::from_utf8_lossy(buffer.get(..length).expect("within it")).into_owned();
        if heard.contains(words) {
            return heard;
        }
        assert_eq!(heard, "WATCHDOG=1\n", "while {words} was awaited");
    }
}

fn succeeds(command: &mut Command) -> String {
    let output = command.output().expect("it runs");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {told}");
    String::from_utf8(output.stdout).expect("a text")
}

#[test]
fn the_service_manager_is_told_of_start_life_reload_and_stop() {
    let folder = tempfile::tempdir().expect("a folder");
    let socket = folder.path().join("notify");
    let manager = UnixDatagram::bind(&socket).expect("a socket");
    manager.set_read_timeout(Some(PATIENCE)).expect("a time limit");
    let launch = Launch::serve("[inbox]\nsmtp_listen = \"127.0.0.1:0\"\n");
    let mut server = Server::start(launch.watched_at(&socket, Duration::from_millis(200)));
    told(&manager, "READY=1");
    told(&manager, "WATCHDOG=1");
    server.signal("HUP");
    let reloading = told(&manager, "RELOADING=1");
    assert!(reloading.contains("\nMONOTONIC_USEC="), "{reloading}");
    told(&manager, "READY=1");
    server.terminate();
    told(&manager, "STOPPING=1");
}

#[test]
fn the_package_holds_what_a_service_needs() {
    if !Need::Debian.is_met("the Debian package is not built") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let script = workspace().join("host/packaging/deb");
    let mut pack = Command::new(script);
    pack.arg(binary()).arg(folder.path()).env("DEB_COMPRESSION", "none");
    let package = succeeds(&mut pack);
    let package = Path::new(package.trim());
    let root = folder.path().join("root");
    succeeds(Command::new("dpkg-deb").arg("-x").arg(package).arg(&root));
    for file in [
        "usr/bin/waxwing",
        "usr/lib/systemd/system/waxwing.service",
        "usr/share/bash-completion/completions/waxwing",
        "usr/share/doc/waxwing/copyright",
        "usr/share/doc/waxwing/host/packaging/prometheus/waxwing.rules.test.yml",
        "usr/share/doc/waxwing/host/packaging/waxwing.toml",
        "usr/share/fish/vendor_completions.d/waxwing.fish",
        "usr/share/man/man1/waxwing.1.gz",
        "usr/share/man/man1/waxwing-queue-why.1.gz",
        "usr/share/zsh/vendor-completions/_waxwing",
    ] {
        assert!(root.join(file).is_file(), "{file}");
    }
    let fields = succeeds(Command::new("dpkg-deb").arg("--field").arg(package));
    let depends = fields.lines().find_map(|it| it.strip_prefix("Depends: "));
    let depends: Vec<&str> = depends.expect("it needs others").split(", ").collect();
    assert!(fields.contains("Package: waxwing\n") && depends.contains(&"adduser"), "{fields}");
    assert!(depends.contains(&"procps"), "the unit reloads by /bin/kill: {fields}");
    let owned = succeeds(Command::new("dpkg-deb").arg("--contents").arg(package));
    assert!(owned.lines().all(|line| line.contains(" root/root ")), "{owned}");
    the_unit_is_sound_and_tight(&root);
    for document in [
        "SECURITY",
        "host/API",
        "host/BOUNDS",
        "host/CONFIGURATION",
        "host/LOGS",
        "host/METRICS",
        "host/OPERATING",
        "host/POSTGRESQL",
        "host/THREATS",
        "host/TRACES",
        "host/src/plugin/THREATS",
        "host/src/upkeep/verify_domains/TAKEOVER",
    ] {
        links_lead_on(&root.join(format!("usr/share/doc/waxwing/{document}.md")));
    }
}

/// Every link of an installed document to another file leads to an installed one.
fn links_lead_on(document: &Path) {
    let text = fs::read_to_string(document).expect("the document is installed");
    let folder = document.parent().expect("a folder");
    let targets = text.split("](").skip(1).filter_map(|it| it.split([')', '#']).next());
    for target in targets.filter(|it| !it.is_empty() && !it.contains("://")) {
        assert!(folder.join(target).exists(), "{target} of {}", document.display());
    }
}

/// Runs a script of the package with programs that only note how they are called; a call of `failing` fails. Answers
/// how the script ended, and the calls.
fn run_script(script: &str, arguments: &[&str], failing: &str) -> (Output, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let place = |name: &str| folder.path().join(name);
    for program in ["adduser", "getent", "install", "runuser", "systemctl"] {
        let noting = format!(
            "#!/bin/sh\necho {program} $* >>'{}'\n[ \"{program} $*\" != '{failing}' ]\n",
            place("calls").display()
        );
        fs::write(place(program), noting).expect("written");
        fs::set_permissions(place(program), Permissions::from_mode(0o755)).expect("set");
    }
    let text = fs::read_to_string(workspace().join("host/packaging").join(script));
    // A machine with systemd: the folder is there.
    let here = folder.path().display().to_string();
    let text = text.expect("readable").replace("/run/systemd/system", &here);
    let mut shell = Command::new("sh");
    shell.args(["-c", &text, script]).args(arguments);
    let output = shell.env("PATH", format!("{here}:/usr/bin:/bin")).output().expect("it runs");
    (output, fs::read_to_string(place("calls")).unwrap_or_default())
}

/// The calls of a script that succeeds.
fn calls_of(script: &str, arguments: &[&str]) -> String {
    let (output, calls) = run_script(script, arguments, "");
    assert!(output.status.success(), "{output:?}");
    calls
}

#[test]
fn an_upgrade_of_the_package_restarts_a_service_that_runs() {
    assert_eq!(calls_of("prerm", &["upgrade", "0.2.0"]), "", "the old version serves until then");
    let upgraded = calls_of("postinst", &["configure", "0.1.0"]);
    let (_, restarted) = upgraded.split_once("systemctl daemon-reload\n").expect("a reload");
    assert_eq!(restarted, "systemctl try-restart waxwing\n", "one that is stopped stays stopped");
    assert!(calls_of("prerm", &["remove"]).contains("disable --now waxwing"));
}

#[test]
fn an_upgrade_that_cannot_restart_the_service_says_why() {
    let restart = "systemctl try-restart waxwing";
    let (output, calls) = run_script("postinst", &["configure", "0.1.0"], restart);
    assert!(!output.status.success(), "dpkg hears of it");
    let check = "runuser -u waxwing -- waxwing check --config /etc/waxwing/waxwing.toml\n";
    assert!(calls.ends_with(check), "{calls}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("waxwing check says") && said.contains("journalctl"), "{said}");
}

/// systemd's own judgement of the unit, as it lies in the package.
fn the_unit_is_sound_and_tight(root: &Path) {
    let units = root.join("usr/lib/systemd/system");
    for unit in fs::read_dir("/lib/systemd/system").expect("the units of this system") {
        let unit = unit.expect("a file").path();
        let kind = unit.extension().and_then(|it| it.to_str());
        if matches!(kind, Some("target" | "slice")) && unit.is_file() {
            let name = unit.file_name().expect("a name");
            fs::copy(&unit, units.join(name)).expect("copied");
        }
    }
    let kill = root.join("bin/kill");
    fs::create_dir_all(root.join("bin")).expect("a folder");
    fs::copy("/bin/kill", kill).expect("copied");
    let analyze = |arguments: &[&str]| {
        let mut command = Command::new("systemd-analyze");
        command.args(arguments).arg("--root").arg(root).arg("waxwing.service");
        command.output().expect("systemd-analyze runs")
    };
    let verified = analyze(&["verify", "--man=no"]);
    let complaints = String::from_utf8_lossy(&verified.stderr).into_owned();
    assert!(verified.status.success() && complaints.is_empty(), "{complaints}");
    let exposure = analyze(&["security", "--offline=true", "--threshold", MOST_EXPOSURE]);
    let list = String::from_utf8_lossy(&exposure.stdout).into_owned();
    assert!(exposure.status.success(), "{list}");
}

#[test]
fn what_the_image_holds_is_enough_to_send() {
    if only_on_a_file("the file system of the image has no socket of PostgreSQL") {
        return;
    }
    if !Need::Buildah.is_met("no image is built, and no server is started in one") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let script = workspace().join("host/packaging/root");
    succeeds(Command::new(script).arg(binary()).arg(folder.path().join("root")));
    let root = files_of_the_image(folder.path());
    let mut dev = Command::new("chroot");
    dev.args(["--userspec=65532:65532"]).arg(&root).args(["/usr/bin/waxwing", "dev", "--json"]);
    dev.args(["--data-dir", "/var/lib/waxwing/dev", "--http", "127.0.0.1:0"]);
    dev.args(["--smtp", "127.0.0.1:0", "--smtps", "127.0.0.1:0"]);
    let mut child = Started(dev.stdout(Stdio::piped()).spawn().expect("it starts"));
    let output = child.0.stdout.take().expect("a pipe");
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).expect("it says that it listens");
    let said: Value = serde_json::from_str(&line).expect("a line of JSON");
    let key = format!("x-api-key: {}", said["apiKey"].as_str().expect("a key"));
    let message = serde_json::json!({
        "to": "ada@example.com", "type": "EMAIL",
        "template": said["template"], "data": said["exampleData"],
    });
    let url = format!("{}/messages/send", said["http"].as_str().expect("an address"));
    let mut send = Command::new("curl");
    send.args(["-sS", &url, "-H", &key, "-H", "content-type: application/json", "-d"]);
    let answer: Value =
        serde_json::from_str(&succeeds(send.arg(message.to_string()))).expect("JSON");
    assert_eq!(answer["success"], true, "{answer}");
}

#[test]
fn the_files_of_an_image_of_a_static_binary_are_made_without_libraries() {
    let folder = tempfile::tempdir().expect("a folder");
    // As for a static binary, ldd says that it is no dynamic executable, and fails.
    let (program, root) = (folder.path().join("waxwing"), folder.path().join("root"));
    fs::write(&program, "#!/bin/sh\n").expect("written");
    let script = workspace().join("host/packaging/root");
    succeeds(Command::new(script).arg(&program).arg(&root));
    assert!(root.join("usr/bin/waxwing").is_file() && root.join("var/lib/waxwing").is_dir());
    assert!(!root.join("lib").exists());
}

/// Builds the image beside `root`, and a container of it. Answers the directory of the container's files.
fn files_of_the_image(folder: &Path) -> PathBuf {
    let buildah = |arguments: &[&str]| {
        let mut command = Command::new("buildah");
        command.current_dir(folder).args(["--storage-driver", "vfs"]);
        command.args(["--root", "store", "--runroot", "run"]).args(arguments);
        succeeds(&mut command).trim().to_owned()
    };
    let file = workspace().join("host/packaging/Containerfile");
    let file = file.to_str().expect("a path in UTF-8");
    buildah(&["build", "--quiet", "--file", file, "--tag", "waxwing", "."]);
    let container = buildah(&["from", "--pull-never", "localhost/waxwing"]);
    folder.join(buildah(&["mount", &container]))
}

/// A process that ends with the test.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn bash_completes_the_commands() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("completions");
    let completions = succeeds(waxwing().args(["completions", "bash"]));
    fs::write(&script, completions).expect("written");
    let typed = "COMP_WORDS=(waxwing queue w); COMP_CWORD=2; _waxwing waxwing w queue; echo \"${COMPREPLY[@]}\"";
    let line = format!("source {}; {typed}", script.display());
    let answer = succeeds(Command::new("bash").args(["-c", &line]));
    assert_eq!(answer.trim(), "why");
}
