//! `waxwing export`: what the server keeps of an account, as one zip file that needs no program of ours.

mod unfinished_file;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::Args;
use serde_json::{Value, json};
use tempfile::{Builder, NamedTempFile};
use zip::ZipWriter;
use zip::result::ZipError;
use zip::write::SimpleFileOptions;

use unfinished_file::UnfinishedFile;

use super::error::CliError;
use super::open::{Opened, Target};
use crate::api::shapes::{
    Account, AuditLogPage, DecisionRecord, DomainSummary, Key, LedgerEntry, Message, Suppression,
    TestRecipient, Webhook,
};
use crate::id::AccountId;
use crate::management::accounts;
use crate::management::messages;
use crate::server::{self, directory};
use crate::store::{
    DecisionFilter, MessageFilter, MessageRow, TemplateFilter, TemplateOwner, WebhookOwner,
};
use crate::template::kind::TemplateKind;

/// Rows of one question to the store.
const PAGE_ROWS: u32 = 500;
/// How the name of a file begins that is not whole yet.
const UNFINISHED: &str = ".waxwing-export-";

/// Export what the server keeps of an account
#[derive(Debug, Args)]
#[command(
    after_help = "The zip file has a file of JSON lines for each kind of thing, in the words of the API, and each \
                  message that is kept as messages/msg_….eml. Secrets (keys, passwords, the keys of DKIM and of \
                  webhooks) are not in it.

Example:
  waxwing export --account acc_01JAB3… --to account.zip"
)]
pub struct Export {
    /// `acc_…`
    #[arg(long)]
    account: AccountId,
    /// The zip file to make; one that is there is not overwritten
    #[arg(long)]
    to: PathBuf,
    #[command(flatten)]
    target: Target,
}

/// The zip file, which gets its name when it is whole.
struct Archive<'a> {
    path: &'a Path,
    file: NamedTempFile,
    zip: ZipWriter<UnfinishedFile>,
    /// Bytes that are in the file.
    written: Arc<AtomicU64>,
    /// How many things each file has.
    counts: BTreeMap<&'static str, u64>,
}

pub async fn run(export: Export) -> Result<(), CliError> {
    let mut stops = server::StopSignals::listen_as_command().map_err(CliError::Runtime)?;
    // A process that a signal ends would leave the unfinished file, with personal data.
    tokio::select! {
        written = Box::pin(write(export)) => written,
        stop = stops.next() => {
            stop.map_err(CliError::Runtime)?;
            Err(CliError::Stopped)
        }
    }
}

async fn write(export: Export) -> Result<(), CliError> {
    let Export { account, to, target } = export;
    let opened = target.open().await?;
    let now = opened.clock.now();
    let row = opened.store.account(account, now).await?;
    let rows = accounts::with_sent_lately(&opened.store, vec![row], now).await?;
    let mut archive = Archive::new(&to)?;
    archive
        .add("account.jsonl", rows.into_iter().map(|(row, sent)| json!(Account::new(row, sent))))?;
    let keys = opened.store.keys(account).await?;
    archive.add("keys.jsonl", keys.into_iter().map(|it| json!(Key::from(it))))?;
    archive.add("members.jsonl", members(&opened, account).await?)?;
    let rules = opened.domain_check_settings();
    let domains = opened.store.domains(account, None, u32::MAX >> 1).await?;
    let domains = domains.iter().map(|it| json!(DomainSummary::new(it, &rules)));
    archive.add("domains.jsonl", domains)?;
    archive.add("templates.jsonl", templates(&opened, account).await?)?;
    let webhooks = WebhookOwner::Account(account);
    let webhooks = opened.store.webhooks(webhooks, None, u32::MAX >> 1).await?;
    archive.add("webhooks.jsonl", webhooks.into_iter().map(|it| json!(Webhook::new(it, now))))?;
    let recipients = opened.store.test_recipients(account).await?;
    let recipients = recipients.into_iter().map(|it| json!(TestRecipient::from(it)));
    archive.add("test-recipients.jsonl", recipients)?;
    add_lists(&mut archive, &opened, account).await?;
    add_messages(&mut archive, &opened, account).await?;
    let counts = archive.finish()?;
    let answer = json!({"accountId": account, "to": to, "counts": counts});
    target.output.one(&answer, || {
        let counts = counts.iter().map(|(file, count)| format!("\n  {file}: {count}"));
        format!("{account} is in {}{}", to.display(), counts.collect::<String>())
    });
    Ok(())
}

async fn members(opened: &Opened, account: AccountId) -> Result<Vec<Value>, CliError> {
    let (mut members, mut after) = (Vec::new(), None);
    loop {
        let page = opened.store.members(account, after, PAGE_ROWS).await?;
        let Some(last) = page.last() else { return Ok(members) };
        after = Some(last.user.id);
        members.extend(page.iter().map(|it| {
            json!({
                "id": it.user.id,
                "email": it.user.email.to_string(),
                "role": it.role.as_str(),
                "since": it.since.rfc3339(),
                "hasPassword": it.user.password.is_some(),
                "hasFactor": it.user.has_factor,
            })
        }));
    }
}

/// Templates, layouts and partials with their drafts and published versions.
async fn templates(opened: &Opened, account: AccountId) -> Result<Vec<Value>, CliError> {
    let (owner, mut templates) = (TemplateOwner::Account(account), Vec::new());
    for kind in [TemplateKind::Template, TemplateKind::Layout, TemplateKind::Partial] {
        let mut after: Option<String> = None;
        loop {
            let filter = TemplateFilter { owner, kind, after: after.as_deref(), limit: PAGE_ROWS };
            let rows = opened.store.list_templates(&filter).await?;
            let Some(last) = rows.last() else { break };
            after = Some(last.slug.to_string());
            templates.extend(rows.iter().map(|it| {
                let published = it.published.as_ref();
                json!({
                    "kind": kind.as_str(),
                    "slug": it.slug.to_string(),
                    "createdAt": it.created_at.rfc3339(),
                    "draft": it.draft.as_ref().map(|it| &it.source),
                    "publishedRevision": published.map(|it| it.revision),
                    "published": published.map(|it| &it.source),
                })
            }));
        }
    }
    Ok(templates)
}

/// The lists that may be long: suppressions, the ledger, the audit log, refusals.
async fn add_lists(
    archive: &mut Archive<'_>,
    opened: &Opened,
    account: AccountId,
) -> Result<(), CliError> {
    let (store, now) = (&opened.store, opened.clock.now());
    archive.begin("suppressions.jsonl")?;
    let mut after: Option<String> = None;
    loop {
        let page = store.suppressions(account, None, after.as_deref(), PAGE_ROWS, now).await?;
        let rows = page.suppressions.into_iter().map(|it| json!(Suppression::from(it)));
        archive.lines("suppressions.jsonl", rows)?;
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    archive.begin("ledger.jsonl")?;
    let mut first = None;
    loop {
        let rows = store.ledger_from(account, first, PAGE_ROWS + 1).await?;
        let whole = usize::try_from(PAGE_ROWS).unwrap_or(usize::MAX);
        let page = rows.iter().take(whole).map(|it| json!(LedgerEntry::from(it)));
        archive.lines("ledger.jsonl", page)?;
        first = rows.get(whole).map(|it| it.number);
        if first.is_none() {
            break;
        }
    }
    archive.begin("audit.jsonl")?;
    let mut before = None;
    loop {
        let rows = store.audit(account, before, PAGE_ROWS).await?;
        let Some((last, _)) = rows.last() else { break };
        before = Some(*last);
        let mut page = json!(AuditLogPage::whole(rows.into_iter().map(|(_, row)| row)));
        let rows = page["data"].as_array_mut().map(std::mem::take).unwrap_or_default();
        archive.lines("audit.jsonl", rows)?;
    }
    archive.begin("refusals.jsonl")?;
    let filter =
        DecisionFilter { account: Some(account), only_refusals: true, ..DecisionFilter::default() };
    let mut after = None;
    loop {
        let page = store.decisions(&filter, after, PAGE_ROWS).await?;
        let rows = page.decisions.into_iter().map(|it| json!(DecisionRecord::from(it)));
        archive.lines("refusals.jsonl", rows)?;
        after = page.next;
        if after.is_none() {
            return Ok(());
        }
    }
}

/// Each message with its events, attempts and decisions, and its content where that is kept.
async fn add_messages(
    archive: &mut Archive<'_>,
    opened: &Opened,
    account: AccountId,
) -> Result<(), CliError> {
    archive.begin("messages.jsonl")?;
    let mut after = None;
    loop {
        let page =
            opened.store.messages(account, &MessageFilter::default(), after, PAGE_ROWS).await?;
        for row in &page.messages {
            match opened.store.message(row.id).await {
                // Retention has deleted it meanwhile.
                Err(error) if error.is_not_found() => {}
                details => archive.lines("messages.jsonl", [json!(Message::from(details?))])?,
            }
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    loop {
        let page =
            opened.store.messages(account, &MessageFilter::default(), after, PAGE_ROWS).await?;
        for row in &page.messages {
            add_content(archive, opened, row).await?;
        }
        after = page.next;
        if after.is_none() {
            return Ok(());
        }
    }
}

async fn add_content(
    archive: &mut Archive<'_>,
    opened: &Opened,
    row: &MessageRow,
) -> Result<(), CliError> {
    match messages::content(&opened.store, row).await? {
        Some(content) => archive.content(&format!("messages/{}.eml", row.id), &content),
        None => Ok(()),
    }
}

impl<'a> Archive<'a> {
    fn new(path: &'a Path) -> Result<Self, CliError> {
        if path.exists() {
            return Err(CliError::Usage(format!(
                "{} is there already; name another file, or move that one away",
                path.display()
            )));
        }
        let unwritable = |source| CliError::Unwritable { path: path.to_owned(), source };
        let file = Builder::new().prefix(UNFINISHED).tempfile_in(directory::of_file(path));
        let file = file.map_err(unwritable)?;
        let (unfinished, written) = UnfinishedFile::new(file.reopen().map_err(unwritable)?);
        Ok(Self { path, file, zip: ZipWriter::new(unfinished), written, counts: BTreeMap::new() })
    }

    /// A file with these lines.
    fn add(
        &mut self,
        name: &'static str,
        rows: impl IntoIterator<Item = Value>,
    ) -> Result<(), CliError> {
        self.begin(name)?;
        self.lines(name, rows)
    }

    fn begin(&mut self, name: &'static str) -> Result<(), CliError> {
        self.counts.insert(name, 0);
        self.start(name)
    }

    /// Further lines of the file that was begun last.
    fn lines(
        &mut self,
        name: &'static str,
        rows: impl IntoIterator<Item = Value>,
    ) -> Result<(), CliError> {
        for row in rows {
            writeln!(self.zip, "{row}").map_err(|error| self.failed(ZipError::Io(error)))?;
            *self.counts.entry(name).or_default() += 1;
        }
        Ok(())
    }

    fn content(&mut self, name: &str, content: &[u8]) -> Result<(), CliError> {
        *self.counts.entry("messages/*.eml").or_default() += 1;
        self.start(name)?;
        self.zip.write_all(content).map_err(|error| self.failed(ZipError::Io(error)))
    }

    fn start(&mut self, name: &str) -> Result<(), CliError> {
        // Its length is not known before.
        let options = SimpleFileOptions::default().large_file(true).unix_permissions(0o600);
        self.zip.start_file(name, options).map_err(|error| self.failed(error))
    }

    /// Gives the file its name.
    fn finish(self) -> Result<BTreeMap<&'static str, u64>, CliError> {
        let Self { path, file, zip, written, counts } = self;
        let failed = |error| unfinished(path, &written, error);
        let whole = zip.finish().map_err(failed)?;
        whole.sync().map_err(|error| failed(error.into()))?;
        let unwritable = |source| CliError::Unwritable { path: path.to_owned(), source };
        file.persist_noclobber(path).map_err(|error| unwritable(error.error))?;
        Ok(counts)
    }

    fn failed(&self, error: ZipError) -> CliError {
        unfinished(self.path, &self.written, error)
    }
}

/// The file that was begun goes with what holds it.
fn unfinished(path: &Path, written: &AtomicU64, error: ZipError) -> CliError {
    let source = if let ZipError::Io(error) = error { error } else { std::io::Error::other(error) };
    CliError::Unfinished { path: path.to_owned(), written: written.load(Ordering::Relaxed), source }
}
