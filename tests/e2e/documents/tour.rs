//! The way through a plugin that `plugins/README.md` and the README take their readers, command by command.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use waxwing_tests::{Document, Server, documents, until};

use crate::fixture::message;

/// What `plugin build` says when a registry gave nothing.
const NO_NETWORK: &str = "It needs the network once";
/// A server without optimisation takes a while to compile a component.
const PATIENCE: Duration = Duration::from_mins(3);

#[tokio::test]
async fn the_tour_of_plugins_runs_as_it_stands() {
    let (server, home) = (Server::dev(), Home::new());
    let tour = document("plugins/README.md");
    let blocks = tour.blocks("sh");
    // A case of a domain policy is a project of its own, and asks DNS: `plugin_tools::record` does that.
    let (record, blocks): (Vec<_>, Vec<_>) =
        blocks.into_iter().partition(|it| it.contains("waxwing plugin record"));
    let [project, cases, checks, install, shadow, live, back] = &blocks[..] else {
        panic!("the tour has other steps than these: {blocks:#?}");
    };
    assert_eq!(record.len(), 1);

    let rest = project.strip_prefix("waxwing dev ").and_then(|it| it.split_once('\n'));
    let built = server.shell_output(&home.path, &home.script("", rest.expect("a server first").1));
    if !built.status.success() && errors(&built).contains(NO_NETWORK) {
        waxwing_tools::registry_failed("the tour of plugins", "crates.io cannot be reached");
        return;
    }
    succeeded(&built);
    let folder = home.path.join("night-rest");
    add_the_rule(&folder.join("src/lib.rs"), &tour.blocks("rust")[0]);
    let step = |lines: &str| server.shell_output(&home.path, &home.script("night-rest", lines));

    let tested = step(cases);
    assert!(
        !tested.status.success() && errors(&tested).contains("3 of 3 cases failed"),
        "{tested:?}"
    );
    succeeded(&step(checks));
    send(&server, 3).await;
    let installed = succeeded(&step(install));
    assert!(installed.contains("waiting, because its slot asks before each change"), "{installed}");
    succeeded(&step(shadow));

    let (activate, decisions) = live.split_once('\n').expect("two commands");
    succeeded(&step(activate));
    send(&server, 1).await;
    let listed = succeeded(&step(decisions));
    let decision = listed.split_whitespace().find(|it| it.starts_with("dec_"));
    let decision = decision.expect("the newest decision has a name");
    assert!(listed.contains("plan-policy: night-rest 0.1.0"), "{listed}");
    let (replay, rollback) = back.split_once('\n').expect("two commands");
    let named = replay.split_whitespace().find(|it| it.starts_with("dec_")).expect("a decision");
    let replay = replay.replace(named, decision);
    // "A second later": calls are recorded in the background.
    let replayed = until("the call is recorded", PATIENCE, || {
        let output = step(&replay);
        output.status.success().then(|| succeeded(&output))
    });
    assert!(replayed.contains("plan-policy (plan): the same answer"), "{replayed}");
    let back = succeeded(&step(rollback));
    assert!(back.contains("waxwing-plan-policy 0.1.0 (built in)"), "{back}");

    fs::remove_dir_all(&folder).expect("the project goes");
    let short = document("README.md").blocks("sh").into_iter();
    let short: Vec<String> = short.filter(|it| it.contains("waxwing plugin new")).collect();
    let [short] = &short[..] else { panic!("the README has one way through a plugin") };
    let back = succeeded(&server.shell_output(&home.path, &home.script("", short)));
    assert!(back.contains("waxwing-plan-policy 0.1.0 (built in)"), "{back}");
}

/// Where the project is made: always the same folder, so that cargo finds again what it has built.
struct Home {
    path: PathBuf,
    _lock: File,
}

impl Home {
    fn new() -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("plugin-languages");
        fs::create_dir_all(&root).expect("a folder");
        let lock = File::create(root.join("tour.lock")).expect("a file");
        lock.lock().expect("the folder is ours after a while");
        let path = root.join("tour");
        if path.exists() {
            fs::remove_dir_all(&path).expect("the folder of the last run goes");
        }
        fs::create_dir(&path).expect("a folder");
        Self { path, _lock: lock }
    }

    /// The lines of a block, in a folder of this one. The settings of the cargo that runs the tests are not for the
    /// project's own; what it has built is shared with the projects of `plugin_languages`.
    fn script(&self, folder: &str, lines: &str) -> String {
        let shared = self.path.with_file_name("cargo");
        format!(
            "for name in $(env | sed -n 's/^\\(CARGO_[A-Z_]*\\|RUSTC_[A-Z_]*\\|RUSTDOCFLAGS\\|RUSTFLAGS\\|RUSTUP_TOOLCHAIN\\)=.*/\\1/p'); do\n\
             [ \"$name\" = CARGO_HOME ] || unset \"$name\"\ndone\n\
             export CARGO_TARGET_DIR='{}' XDG_CACHE_HOME='{}' NO_COLOR=1\ncd \"./{folder}\"\n{lines}",
            shared.display(),
            self.path.join("cache").display()
        )
    }
}

fn document(path: &str) -> Document {
    documents().into_iter().find(|it| it.path == path).expect("the document is there")
}

/// What the tour tells to write into the policy: the rule, and a name for the call's context.
fn add_the_rule(source: &Path, rule: &str) {
    let text = fs::read_to_string(source).expect("the policy is there");
    let begin =
        "fn decide(&self, _: &CallContext, who: &Account, one: &UseRequest) -> Decision {\n";
    assert!(text.contains(begin), "the parameter that the tour names is there");
    let text = text.replace(begin, &format!("{}{rule}", begin.replace("_: ", "ctx: ")));
    fs::write(source, text).expect("the policy is written");
}

async fn send(server: &Server, times: usize) {
    for _ in 0..times {
        let answer = server.send(server.key(), &message("ada@example.com")).await;
        assert_eq!(answer.status, 201, "{}", answer.body);
    }
}

fn errors(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What a block printed that must have gone well.
fn succeeded(output: &Output) -> String {
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{printed}\n{}", errors(output));
    printed
}
