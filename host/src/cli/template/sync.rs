//! `waxwing template push`, `pull`, `diff` and `check`: templates live in a folder, which may be a repository's, and a
//! server says what the folder says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use clap::Args;
use reqwest::Method;
use serde_json::{Value, json};
use similar::TextDiff;

use super::super::output::{say, text};
use super::super::plugin::{Connection, OnlineServer};
use super::super::sync_error::SyncError;
use super::disk;
use crate::api::shapes::TemplateImport;
use crate::authoring::Authoring;
use crate::authoring::archive;
use crate::authoring::folder::merge::{FileChange, changes};
use crate::authoring::folder::state::State;
use crate::authoring::folder::{Files, PathKind, STATE, look, name_of};
use crate::authoring::import::{ImportGoal, ImportOptions};
use crate::clock::Clock;
use crate::config::{Config, LogFilter};
use crate::plugin::Plugins;
use crate::plural::plural;
use crate::server;
use crate::server::data_dir::DataDir;
use crate::store::{Store, TemplateOwner};
use crate::telemetry;
use crate::template::slug::Slug;

const ARCHIVE: &str = "/v1/template-archive";

/// Publish a folder of templates, or a zip file of one: what differs on the server is changed; where one thing is refused, nothing is
#[derive(Debug, Args)]
#[command(after_help = "\
What is pushed is published, as with Postmark's command line; --draft leaves drafts, which nobody is sent.
Everything is checked first: where one template has faults, would break senders or was changed on the server since
the last pull, nothing is changed. Nothing is deleted on the server. `.waxwing.json` in the folder remembers what
folder and server had in common last: commit it. Where the repository alone decides, as in CI, use --overwrite.

Exit codes: 0 the server says what the folder says; 1 it does not; 2 the command line is wrong.

Examples:
  WAXWING_API_KEY=wx_live_… waxwing template push emails --url https://mail.example.com --dry-run
  waxwing template push emails --overwrite --note \"release 42\"")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that stands by itself")]
pub struct Push {
    /// The folder, or a .zip file
    source: PathBuf,
    /// Leave drafts, and publish nothing
    #[arg(long)]
    draft: bool,
    /// Say what would be done, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Publish also what would break senders; how many messages these sent is shown
    #[arg(long)]
    force: bool,
    /// Write also over what was changed on the server since the last pull
    #[arg(long)]
    overwrite: bool,
    /// Why, for the versions
    #[arg(long)]
    note: Option<String>,
    #[command(flatten)]
    server: OnlineServer,
}

/// Write the server's templates, layouts and partials into a folder, or into one zip file
#[derive(Debug, Args)]
#[command(after_help = "\
The newest sources are written, drafts too. A file that says the same in other words stays as it is; a file that the
server does not have stays, unless --prune is given. What differs in the folder is overwritten: commit it before.

Exit codes: 0 done; 1 it could not be done; 2 the command line is wrong.

Examples:
  waxwing template pull emails
  waxwing template pull emails receipt
  waxwing template pull backup.zip")]
pub struct Pull {
    /// The folder, or a .zip file
    target: PathBuf,
    /// Only these templates, each with its layout and partials
    slugs: Vec<Slug>,
    /// Delete files of templates that the server does not have
    #[arg(long)]
    prune: bool,
    /// Say what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    server: OnlineServer,
}

/// Show what a push would change, as a unified diff of each file
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes, as of diff(1): 0 nothing differs; 1 something differs; 2 trouble: the folder or the server cannot be read,
or the command line is wrong.")]
pub struct Diff {
    /// The folder, or a .zip file
    source: PathBuf,
    #[command(flatten)]
    server: OnlineServer,
}

/// Check a folder of templates without changing a server: against one, or with --offline against this binary's renderer
#[derive(Debug, Args)]
#[command(after_help = "\
What somebody else has changed on the server since the last pull is not looked at: `push --dry-run` says that.

Exit codes: 0 everything can be published; 1 something has faults or would break senders, or there are no templates;
2 the command line is wrong.

Examples:
  waxwing template check emails --offline
  waxwing template check emails --url https://mail.example.com")]
pub struct Check {
    /// The folder, or a .zip file
    source: PathBuf,
    /// Ask no server: layouts and partials are those of the folder, and what senders rely on is not known
    #[arg(long)]
    offline: bool,
    /// Breaking senders is no fault
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    server: OnlineServer,
}

pub async fn push(push: Push) -> Result<(), SyncError> {
    let files = read(&push.source)?;
    let goal = match (push.dry_run, push.draft) {
        (true, _) => "check",
        (false, true) => "drafts",
        (false, false) => "publish",
    };
    let mut query = vec![
        ("goal", goal.to_owned()),
        ("force", push.force.to_string()),
        ("overwrite", push.overwrite.to_string()),
    ];
    query.extend(push.note.map(|it| ("note", it)));
    let server = push.server.connect_as_holder()?;
    let answer = import(&server, &files, &query).await?;
    if !push.dry_run && !is_zip(&push.source) {
        remember(&push.source, &files, &answer)?;
    }
    tell(&push.server, &answer, if push.dry_run { "would be " } else { "" });
    success(&answer)
}

pub async fn pull(pull: Pull) -> Result<(), SyncError> {
    let server = pull.server.connect_as_holder()?;
    let there = export(&server, &pull.slugs).await?;
    if is_zip(&pull.target) {
        if !pull.dry_run {
            disk::write_file(&pull.target, &archive::pack(&there)?)?;
        }
        let count = there.entries()?.len();
        let value = json!({"file": pull.target, "templates": count});
        pull.server.output.one(&value, || format!("{}: {count}", pull.target.display()));
        return Ok(());
    }
    let here = if pull.target.exists() { read(&pull.target)? } else { Files::default() };
    let is_asked = |change: &FileChange| {
        pull.slugs.is_empty() || names(&there).contains(&name_at(&change.path))
    };
    let changes: Vec<FileChange> = changes(&here, &there).into_iter().filter(is_asked).collect();
    let mut told = Vec::new();
    for change in &changes {
        let (path, outcome) = match (&change.there, pull.prune) {
            (Some(text), _) => {
                if !pull.dry_run {
                    disk::write(&pull.target, &change.path, text.as_bytes())?;
                }
                (&change.path, "written")
            }
            (None, true) => {
                if !pull.dry_run {
                    disk::remove(&pull.target, &change.path)?;
                }
                (&change.path, "deleted")
            }
            (None, false) => (&change.path, "kept"),
        };
        told.push(json!({"path": path, "outcome": outcome}));
    }
    if !pull.dry_run {
        let mut state = State::of(&there)?;
        let kept = changes.iter().filter(|it| it.there.is_none() && !pull.prune);
        let kept: BTreeSet<String> = kept.map(|it| name_at(&it.path)).collect();
        for (name, digest) in State::of(&here)?.digests {
            // Of what only the folder has, a push must still say that the server had it once.
            if !pull.slugs.is_empty() || kept.contains(&name) {
                state.digests.entry(name).or_insert(digest);
            }
        }
        let text = state.text();
        if here.text(STATE) != Some(&text) {
            disk::write(&pull.target, STATE, text.as_bytes())?;
        }
    }
    let would = if pull.dry_run { "would be " } else { "" };
    pull.server.output.list(&told, |it| {
        let why = if it["outcome"] == "kept" {
            "kept: the server has no such file; --prune deletes it".to_owned()
        } else {
            format!("{would}{}", text(it, "outcome"))
        };
        format!("{}  {why}", text(it, "path"))
    });
    Ok(())
}

pub async fn diff(diff: Diff) -> Result<(), SyncError> {
    let differences = differences(&diff).await;
    let differences = differences.map_err(|error| SyncError::NotCompared(Box::new(error)))?;
    if diff.server.output.is_json() {
        say(Value::from(differences.as_slice()));
    } else {
        for it in &differences {
            say(text(it, "unified").trim_end_matches('\n'));
        }
    }
    match differences.len() {
        0 => Ok(()),
        files => Err(SyncError::Differs { files }),
    }
}

async fn differences(diff: &Diff) -> Result<Vec<Value>, SyncError> {
    let here = read(&diff.source)?;
    if here.entries()?.is_empty() {
        return Err(SyncError::Empty);
    }
    let server = diff.server.connect_as_holder()?;
    let there = export(&server, &[]).await?;
    // What a push would leave alone is no difference.
    let pushed = names(&here);
    let changes =
        changes(&here, &there).into_iter().filter(|it| pushed.contains(&name_at(&it.path)));
    let unified = changes.map(|it| {
        let (old, new) = (it.there.unwrap_or_default(), it.here.unwrap_or_default());
        let unified = TextDiff::from_lines(&old, &new)
            .unified_diff()
            .header(&format!("server/{}", it.path), &format!("folder/{}", it.path))
            .to_string();
        json!({"path": it.path, "unified": unified})
    });
    Ok(unified.collect())
}

pub async fn check(check: Check) -> Result<(), SyncError> {
    let files = read(&check.source)?;
    if files.entries()?.is_empty() {
        return Err(SyncError::Empty);
    }
    let answer = if check.offline {
        offline(&files).await?
    } else {
        let server = check.server.connect_as_holder()?;
        let query = [("goal", "check"), ("overwrite", "true")];
        let mut query: Vec<_> = query.map(|(name, value)| (name, value.to_owned())).into();
        query.push(("force", check.force.to_string()));
        import(&server, &files, &query).await?
    };
    tell(&check.server, &answer, "would be ");
    success(&answer)
}

/// By the built-in renderer, beside an empty store that is dropped afterwards.
async fn offline(files: &Files) -> Result<Value, SyncError> {
    let mut config = Config::default();
    config.log.filter = LogFilter::level(tracing::Level::WARN);
    telemetry::logs::start(&config.log);
    let folder = tempfile::tempdir()
        .map_err(|source| SyncError::Write { path: std::env::temp_dir(), source })?;
    let data = DataDir::open(folder.path()).map_err(Box::new)?;
    data.make_master_key().map_err(Box::new)?;
    let store = Store::open(&data.database().map_err(Box::new)?).await?;
    let options = server::plugins::options(&config, &data, None).map_err(SyncError::offline)?;
    let clock = Clock::system();
    let (plugins, _supervisor) =
        Plugins::start(options, clock.clone()).await.map_err(SyncError::offline)?;
    let authoring = Authoring::new(store, plugins, clock);
    let options = ImportOptions { goal: ImportGoal::DryRun, overwrite: true, ..Default::default() };
    let owner = TemplateOwner::Server;
    Ok(json!(TemplateImport::from(authoring.import(owner, files.clone(), &options, "cli").await?)))
}

fn is_zip(path: &Path) -> bool {
    path.extension().is_some_and(|it| it.eq_ignore_ascii_case("zip"))
}

fn read(path: &Path) -> Result<Files, SyncError> {
    if is_zip(path) {
        let bytes = std::fs::read(path)
            .map_err(|source| SyncError::Read { path: path.to_owned(), source })?;
        return Ok(archive::unpack(&bytes)?);
    }
    Ok(Files::from_disk(path)?)
}

async fn import(
    server: &Connection,
    files: &Files,
    query: &[(&str, String)],
) -> Result<Value, SyncError> {
    // Faults of the folder are told without a server.
    if files.entries()?.is_empty() {
        return Err(SyncError::Empty);
    }
    let zip = archive::pack(files)?;
    Ok(server.send(Method::POST, ARCHIVE, query, ("application/zip", zip)).await?)
}

async fn export(server: &Connection, slugs: &[Slug]) -> Result<Files, SyncError> {
    if slugs.is_empty() {
        return Ok(archive::unpack(&server.bytes(ARCHIVE).await?)?);
    }
    let (mut files, mut state) = (Files::default(), State::default());
    for slug in slugs {
        let zip = server.bytes(&format!("/v1/templates/{slug}/export")).await?;
        let one = archive::unpack(&zip)?;
        state.digests.extend(State::of(&one)?.digests);
        files.extend(one);
    }
    files.put(STATE.to_owned(), state.text());
    Ok(files)
}

/// What the folder and the server have in common now.
fn remember(root: &Path, files: &Files, answer: &Value) -> Result<(), SyncError> {
    let mut state = State::of(files)?;
    for it in answer["data"].as_array().into_iter().flatten() {
        if let Some(digest) = it["digest"].as_str() {
            let name = format!("{}/{}", text(it, "kind"), text(it, "slug"));
            state.digests.insert(name, digest.to_owned());
        }
    }
    let text = state.text();
    if files.text(STATE) != Some(&text) && !state.digests.is_empty() {
        disk::write(root, STATE, text.as_bytes())?;
    }
    Ok(())
}

/// The templates, layouts and partials that have files.
fn names(files: &Files) -> BTreeSet<String> {
    files.iter().map(|(path, _)| name_at(path)).filter(|it| !it.is_empty()).collect()
}

fn name_at(path: &str) -> String {
    match look(path) {
        Ok(PathKind::File(place, _)) => name_of(place.kind, &place.slug),
        Ok(PathKind::State | PathKind::Other) | Err(_) => String::new(),
    }
}

fn tell(server: &OnlineServer, answer: &Value, would: &str) {
    server.output.one(answer, || {
        let data = answer["data"].as_array().map(Vec::as_slice).unwrap_or_default();
        let lines: Vec<String> = data.iter().map(|it| line(it, would)).collect();
        if lines.is_empty() {
            "no templates".to_owned()
        } else {
            lines.join("\n") + &sum(data, would)
        }
    });
}

/// How many had each outcome, in a line of its own, where there are several templates.
fn sum(data: &[Value], would: &str) -> String {
    if data.len() < 2 {
        return String::new();
    }
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for it in data {
        *counts.entry(said(&text(it, "outcome"), would)).or_default() += 1;
    }
    let counts: Vec<String> =
        counts.into_iter().map(|(it, count)| format!("{count} {it}")).collect();
    format!("\n{}", counts.join(", "))
}

/// An outcome in words: what a dry run finds would be done.
fn said(outcome: &str, would: &str) -> String {
    let is_change = matches!(outcome, "created" | "changed" | "published");
    format!("{}{outcome}", if is_change { would } else { "" })
}

fn line(it: &Value, would: &str) -> String {
    let outcome = text(it, "outcome");
    let said = said(&outcome, would);
    let revision = it["revision"].as_u64().filter(|_| said == outcome);
    let revision = revision.map(|it| format!(" (version {it})")).unwrap_or_default();
    let mut lines = vec![format!("{} {}  {said}{revision}", text(it, "kind"), text(it, "slug"))];
    lines.extend(it["message"].as_str().map(|it| format!("  {it}")));
    let all = |member: &str| it[member].as_array().cloned().unwrap_or_default();
    if it["message"].is_null() {
        let breaking = all("breaking");
        if !breaking.is_empty() {
            let (count, sent) = (breaking.len(), it["sent"].as_u64().unwrap_or_default());
            let ways = plural(count, "way", "ways");
            let messages = plural(sent, "message", "messages");
            lines.push(format!("  breaks senders in {count} {ways}; {sent} {messages} in 30 days"));
        }
    }
    let warnings = all("diagnostics").into_iter().filter(|it| it["severity"] == "warning");
    lines.extend(warnings.map(|it| {
        let line = it["line"].as_u64().filter(|it| *it > 0);
        let line = line.map(|it| format!(", line {it}")).unwrap_or_default();
        let part = it["part"].as_str().map(|it| format!("{it}{line}: ")).unwrap_or_default();
        format!("  warning: {part}{}", text(&it, "message"))
    }));
    let touched = all("touched");
    if !touched.is_empty() {
        let names: Vec<&str> = touched.iter().filter_map(Value::as_str).collect();
        lines.push(format!("  with it: {}", names.join(", ")));
    }
    lines.join("\n")
}

fn success(answer: &Value) -> Result<(), SyncError> {
    let data = answer["data"].as_array().map(Vec::as_slice).unwrap_or_default();
    let count = |outcome: &str| data.iter().filter(|it| it["outcome"] == outcome).count();
    if answer["success"] == true {
        return Ok(());
    }
    let is_breaking = |it: &&Value| it["outcome"] == "refused" && breaks_only_senders(it);
    let breaking = data.iter().filter(is_breaking).count();
    Err(SyncError::Refused { conflicts: count("conflict"), refused: count("refused"), breaking })
}

/// Whether breaking changes are the only reason for which the template was not published, so that `--force` helps.
fn breaks_only_senders(it: &Value) -> bool {
    let all = |member: &str| it[member].as_array().map(Vec::as_slice).unwrap_or_default();
    !all("breaking").is_empty() && !all("diagnostics").iter().any(|it| it["severity"] == "error")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn force_is_named_only_where_it_would_publish_something() {
        let told = |diagnostics: Value, breaking: Value| {
            let one =
                json!({"outcome": "refused", "diagnostics": diagnostics, "breaking": breaking});
            success(&json!({"success": false, "data": [one]})).expect_err("refused").to_string()
        };
        let (fault, change) = (json!([{"severity": "error"}]), json!([{"path": "a"}]));
        assert_eq!(told(fault.clone(), json!([])), "1 refused, as told above");
        assert_eq!(told(fault, change.clone()), "1 refused, as told above");
        assert!(told(json!([{"severity": "warning"}]), change).contains("--force"));
    }
}
