//! Writes every change by the command line into the audit log, and what takes content or all of the data out of the server:
//! who may read the data directory has no other name. A change of an account that is being deleted is refused before.
//!
//! One place for all commands, so that a new one cannot be forgotten: a test holds that each command stands in one of
//! the lists below. A command that knows more than its arguments say notes its [`Act`](crate::management::acts::Act).

use std::ffi::OsString;

use clap::{ArgMatches, Command, FromArgMatches};

use super::error::CliError;
use super::open::Target;
use super::output;
use crate::account::AccountState;
use crate::id::{AccountId, KeyId, MessageId, WebhookId};
use crate::management::accounts::AccountError;
use crate::management::acts;
use crate::store::{ActorId, AuditRow, Store, StoreError, WebhookOwner};

/// Commands that change something, with the operation of the API that does the same where there is one; and those that
/// take all of the server, all of an account, or the content of a message away with them.
const CHANGES: [(&str, &str); 44] = [
    ("account create", "create_account"),
    ("account update", "change_account"),
    ("account brand", "change_brand"),
    ("account deactivate", "change_account"),
    ("account activate", "change_account"),
    ("account delete", "delete_account"),
    ("user add", "invite_user"),
    ("user reset", "make_reset_link"),
    ("user role", "give_role"),
    ("user remove", "remove_user"),
    ("key create", "create_key"),
    ("key update", "change_key"),
    ("key deactivate", "deactivate_key"),
    ("template archive", "archive_template"),
    ("template create", "publish_template"),
    ("template delete", "delete_template"),
    ("template duplicate", "duplicate_template"),
    ("template publish", "publish_template"),
    ("template rollback", "roll_back_template"),
    ("credits grant", "grant_credits"),
    ("domain add", "add_domain"),
    ("domain check", "check_domain"),
    ("domain rotate", "rotate_domain"),
    ("domain delete", "delete_domain"),
    ("maintenance on", "set_maintenance"),
    ("maintenance off", "set_maintenance"),
    ("master-key rotate", "rotate_master_key"),
    ("master-key reseal", "reseal_values"),
    ("master-key drop", "drop_master_keys"),
    ("backup", TAKE_BACKUP),
    ("message cancel", "cancel_message"),
    ("message raw", "show_message_raw"),
    ("message retry", "retry_message"),
    ("message suppress", "add_suppression"),
    ("suppression add", "add_suppression"),
    ("suppression remove", "delete_suppression"),
    ("webhook create", "create_webhook"),
    ("webhook update", "change_webhook"),
    ("webhook delete", "delete_webhook"),
    ("webhook rotate", "rotate_webhook"),
    ("webhook replay", "replay_webhook"),
    ("webhook test", "test_webhook"),
    ("export", "export_account"),
    ("queue hold", "hold_queue"),
];
const TAKE_BACKUP: &str = "take_backup";
/// What can still be done with an account that is being deleted.
const OF_DELETED_ACCOUNTS: [&str; 3] = ["delete_account", "export_account", "show_message_raw"];
/// How the things begin whose account is known to the store alone.
const OWNED: [&str; 3] = ["key_", "msg_", "whk_"];
/// Commands that ask a running server, which writes it down itself, change no store, move it as it is, or only look; and
/// `restore`, which writes itself into the store that it makes.
#[cfg(test)]
const NO_CHANGES: [&str; 70] = [
    "account list",
    "account show",
    "backup keygen",
    "check",
    "compile-plugin",
    "completions",
    "credits show",
    "dev",
    "doctor",
    "domain list",
    "domain records",
    "domain show",
    "init",
    "key list",
    "maintenance show",
    "man",
    "master-key list",
    "message attempts",
    "message events",
    "message list",
    "message resend",
    "message show",
    "nodes",
    "migrate",
    "plugin activate",
    "plugin bench",
    "plugin build",
    "plugin check",
    "plugin decisions",
    "plugin dev",
    "plugin disable",
    "plugin impact",
    "plugin inspect",
    "plugin install",
    "plugin keygen",
    "plugin list",
    "plugin logs",
    "plugin new",
    "plugin record",
    "plugin replay",
    "plugin rollback",
    "plugin settings",
    "plugin shadow",
    "plugin sign",
    "plugin test",
    "plugin verify",
    "queue list",
    "queue release",
    "queue why",
    "restore",
    "serve",
    "suppression list",
    "suppression show",
    "template check",
    "template diff",
    "template list",
    "template preview",
    "template pull",
    "template push",
    "template recipients add",
    "template recipients list",
    "template recipients remove",
    "template show",
    "template types",
    "template versions",
    "top",
    "user list",
    "webhook deliveries",
    "webhook list",
    "webhook show",
];

/// A command that changes something.
#[derive(Debug)]
pub struct Change {
    action: &'static str,
    target: Target,
    account: Option<AccountId>,
    subject: Option<String>,
}

impl Change {
    /// What a command line would change; none where it changes nothing.
    pub fn of(command: &Command, matches: &ArgMatches) -> Option<Self> {
        let (mut command, mut matches, mut path) = (command, matches, Vec::new());
        while let Some((name, inner)) = matches.subcommand() {
            path.push(name);
            command = command.find_subcommand(name)?;
            matches = inner;
        }
        let path = path.join(" ");
        let (_, action) = CHANGES.into_iter().find(|(it, _)| *it == path)?;
        let text = |id: &str| {
            let values = matches.try_get_raw(id).ok().flatten()?;
            let values: Vec<String> =
                values.map(|it| OsString::from(it).to_string_lossy().into_owned()).collect();
            Some(values.join(" "))
        };
        let named = command.get_positionals().find_map(|it| text(it.get_id().as_str()));
        let named = named.or_else(|| text("email")).or_else(|| text("slug"));
        Some(Self {
            action,
            target: Target::from_arg_matches(matches).ok()?,
            account: text("account").or_else(|| named.clone()).and_then(|it| it.parse().ok()),
            subject: named,
        })
    }

    /// Refuses a command that changes an account which is being deleted, as the API does: the deletion could miss a row that
    /// the command adds.
    pub async fn permit(&self) -> Result<(), CliError> {
        let subject = self.subject.as_deref().unwrap_or_default();
        let is_of_account =
            self.account.is_some() || OWNED.iter().any(|it| subject.starts_with(it));
        if OF_DELETED_ACCOUNTS.contains(&self.action) || !is_of_account {
            return Ok(());
        }
        let opened = self.target.open().await?;
        let account = match self.account {
            Some(account) => Some(account),
            None => owner(&opened.store, subject).await?,
        };
        let Some(account) = account else { return Ok(()) };
        match opened.store.account(account, opened.clock.now()).await {
            Ok(found) if found.account.state == AccountState::Deleting => {
                Err(AccountError::BeingDeleted.into())
            }
            // The command itself says what is missing.
            Err(error) if !error.is_not_found() => Err(error.into()),
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Writes it down, behind the command.
    pub async fn record(self) -> Result<(), CliError> {
        let opened = match self.target.open().await {
            // It can be backed up before the server brings it up to date, and not yet be written.
            Err(CliError::Store(StoreError::Earlier)) if self.action == TAKE_BACKUP => {
                tracing::warn!(
                    "the backup is not written into the audit log, because no server has brought the database up to date yet"
                );
                return Ok(());
            }
            opened => opened?,
        };
        let (id, account) = output::told();
        let account = self.account.or(account.and_then(|it| it.parse().ok()));
        let (action, account, subject) = match output::noted_act() {
            Some(act) => (act.action, act.account.or(account), Some(act.subject)),
            None => (self.action, account, self.subject.or(id)),
        };
        let row = AuditRow {
            at: opened.clock.now(),
            account: acts::log_of(action, account),
            actor: ActorId::CommandLine,
            acting: false,
            actor_name: None,
            action: action.to_owned(),
            subject,
            ip: None,
        };
        Ok(opened.store.record_audit(&row).await?)
    }
}

/// Whose a key, a message or a webhook is.
async fn owner(store: &Store, subject: &str) -> Result<Option<AccountId>, StoreError> {
    if let Ok(id) = subject.parse::<KeyId>() {
        return Ok(store.key(id).await?.map(|it| it.account_id));
    }
    if let Ok(id) = subject.parse::<MessageId>() {
        return Ok(store.message_row(id).await?.map(|it| it.account_id));
    }
    let Ok(id) = subject.parse::<WebhookId>() else { return Ok(None) };
    Ok(match store.webhook(id).await?.map(|it| it.owner) {
        Some(WebhookOwner::Account(account)) => Some(account),
        Some(WebhookOwner::Server) | None => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::openapi;

    /// Acts that a running server does not offer over its API.
    const OF_COMMANDS: [&str; 6] = [
        "drop_master_keys",
        "export_account",
        "hold_queue",
        "reseal_values",
        "rotate_master_key",
        TAKE_BACKUP,
    ];

    fn leaves(command: &Command, path: &str, found: &mut Vec<String>) {
        let mut inner = command.get_subcommands().filter(|it| it.get_name() != "help").peekable();
        // One that may stand without the commands below it does something itself.
        if inner.peek().is_none() || !command.is_subcommand_required_set() {
            found.push(path.to_owned());
        }
        for command in inner {
            leaves(command, format!("{path} {}", command.get_name()).trim(), found);
        }
    }

    #[test]
    fn every_command_is_known_to_change_something_or_not() {
        let mut found = Vec::new();
        leaves(&super::super::command(), "", &mut found);
        let mut known: Vec<&str> =
            CHANGES.iter().map(|(path, _)| *path).chain(NO_CHANGES).collect();
        known.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, known, "put a new command into one of the two lists");
    }

    #[test]
    fn a_command_calls_its_change_what_the_api_calls_it() {
        let document = openapi::json();
        let operations = openapi::operations(&document);
        let names: Vec<&str> =
            operations.filter_map(|(_, _, it)| it["operationId"].as_str()).collect();
        for (command, action) in CHANGES {
            let is_known = names.contains(&action) || OF_COMMANDS.contains(&action);
            assert!(is_known, "{command}: {action} is no operation");
        }
    }

    #[test]
    fn a_change_names_what_it_is_made_to() {
        let of = |line: &str| {
            let command = super::super::command();
            let matches = command.clone().try_get_matches_from(line.split(' ')).expect("a command");
            Change::of(&command, &matches)
        };
        let key = "key_01ARZ3NDEKTSV4RRFFQ69G5FAV";
        let change = of(&format!("waxwing key deactivate {key} --data-dir d")).expect("a change");
        assert_eq!((change.action, change.subject.as_deref()), ("deactivate_key", Some(key)));
        let account = "acc_01ARZ3NDEKTSV4RRFFQ69G5FAV";
        let change = of(&format!("waxwing key create --account {account}")).expect("a change");
        assert_eq!(change.account.map(|it| it.to_string()).as_deref(), Some(account));
        for name in ["add", "create", "invite"] {
            let change = of(&format!("waxwing user {name} --email ada@example.com --operator"));
            let change = change.expect("a change");
            let subject = change.subject.as_deref();
            assert_eq!(
                (change.action, subject),
                ("invite_user", Some("ada@example.com")),
                "{name}"
            );
        }
        assert!(of(&format!("waxwing key list --account {account}")).is_none());
    }
}
