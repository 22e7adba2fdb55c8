//! The command line: the only place that prints, and that decides exit codes.

mod account;
mod audit;
mod backup;
mod check;
mod credits;
mod dev;
mod doctor;
mod domain;
mod error;
mod export;
mod init;
mod installation;
mod key;
mod maintenance;
mod master_key;
mod message;
mod migrate;
mod nodes;
mod open;
mod output;
mod plugin;
mod publish_folder;
mod queue;
mod restore;
mod serve;
mod shell;
mod suppression;
mod sync_error;
mod template;
mod top;
mod user;
mod webhook;

use std::process::ExitCode;
use std::time::Duration;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::plugin::compiler::{self, CompileLimits};
use error::CliError;

/// How long the end of the process waits for work on files that nobody waits for any more.
const LAST_WORK: Duration = Duration::from_secs(1);

/// A transactional e-mail server whose policy is WebAssembly.
#[derive(Debug, Parser)]
#[command(name = "waxwing", version, about, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start everything on this machine, with embedded defaults, and print a curl to paste
    Dev(dev::Dev),
    /// Write a configuration for this machine, and print the DNS records that it needs
    Init(init::Init),
    /// Start the server with a configuration file
    Serve(serve::Serve),
    /// Check a configuration and every file that it names; all faults at once
    Check(check::Check),
    /// Look whether a server is well: what is wrong, why it matters, what to do
    Doctor(doctor::Doctor),
    /// Move everything from a file of SQLite to PostgreSQL, or back
    Migrate(migrate::Migrate),
    /// Open, list, show and change accounts
    #[command(subcommand)]
    Account(account::AccountCommand),
    /// Add, list and remove the people who use the dashboard
    #[command(subcommand)]
    User(user::UserCommand),
    /// Make, list, change and switch off API keys
    #[command(subcommand)]
    Key(key::KeyCommand),
    /// Publish, list and show templates
    #[command(subcommand)]
    Template(template::TemplateCommand),
    /// Grant credits, show balance and ledger
    #[command(subcommand)]
    Credits(credits::CreditsCommand),
    /// Add sender domains, see what to publish, look at DNS, rotate keys
    #[command(subcommand)]
    Domain(domain::DomainCommand),
    /// Create, validate, install and monitor plugins
    #[command(subcommand)]
    Plugin(plugin::PluginCommand),
    /// List, show, cancel, retry and resend messages; suppress an address
    #[command(subcommand)]
    Message(message::MessageCommand),
    /// List the servers that work with the database, and for a day those that are gone
    Nodes(nodes::Nodes),
    /// Inspect the queue: which destinations have waiting mail, and why
    #[command(subcommand)]
    Queue(queue::QueueCommand),
    /// Watch the running server: rates, the time of each step, the queue by destination, plugins
    Top(top::Top),
    /// Put addresses on the list of those that nothing more is sent to, list them, take them off
    #[command(subcommand)]
    Suppression(suppression::SuppressionCommand),
    /// Make, list, change, test and replay webhooks
    #[command(subcommand)]
    Webhook(webhook::WebhookCommand),
    /// Refuse messages and changes for a while, and say why
    #[command(subcommand)]
    Maintenance(maintenance::MaintenanceCommand),
    /// List and rotate the keys under which the server seals its secrets
    #[command(subcommand)]
    MasterKey(master_key::MasterKeyCommand),
    /// Print the completions of a shell: bash, zsh, fish and others
    Completions(shell::Completions),
    /// Write a manual page for each command
    Man(shell::ManualPages),
    /// Take an encrypted backup of the server's state, while it runs or not
    Backup(backup::Backup),
    /// Make a data directory of a backup
    Restore(restore::Restore),
    /// Export what the server keeps of an account
    Export(export::Export),
    /// Compile a component for the server that is this process's parent
    #[command(name = compiler::CHILD_SUBCOMMAND, hide = true)]
    CompilePlugin { memory_bytes: u64, seconds: u64 },
}

/// Runs the command line of this process.
#[must_use]
pub fn main() -> ExitCode {
    let command = command();
    let matches = command.clone().get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let change = audit::Change::of(&command, &matches);
    if let Command::CompilePlugin { memory_bytes, seconds } = cli.command {
        return compiler::child::run(CompileLimits { memory_bytes, seconds });
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let result = match runtime {
        Ok(runtime) => {
            let result = runtime.block_on(async {
                if let Some(change) = &change {
                    change.permit().await?;
                }
                run(cli.command).await?;
                if let Some(change) = change {
                    change.record().await?;
                }
                output::fault().map_or(Ok(()), |it| Err(CliError::Unsaid(it)))
            });
            // Nobody waits for what still works on files: a disk that hangs would keep the process for ever.
            runtime.shutdown_timeout(LAST_WORK);
            result
        }
        Err(error) => Err(CliError::Runtime(error)),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::tell(format_args!("error: {error}"));
            error.exit_code()
        }
    }
}

fn command() -> clap::Command {
    let mut command = Cli::command();
    command.build();
    command
}

async fn run(command: Command) -> Result<(), CliError> {
    match command {
        Command::Dev(dev) => Box::pin(dev::run(dev)).await,
        Command::Init(it) => Box::pin(init::run(it)).await,
        Command::Serve(serve) => Box::pin(serve::run(serve)).await,
        Command::Check(check) => check::run(&check).await,
        Command::Doctor(doctor) => Box::pin(doctor::run(&doctor)).await,
        Command::Migrate(migrate) => Box::pin(migrate::run(&migrate)).await,
        Command::Account(command) => Box::pin(account::run(command)).await,
        Command::User(command) => Box::pin(user::run(command)).await,
        Command::Key(command) => key::run(command).await,
        Command::Template(command) => Box::pin(template::run(command)).await,
        Command::Credits(command) => credits::run(command).await,
        Command::Domain(command) => Box::pin(domain::run(command)).await,
        Command::Plugin(command) => Ok(Box::pin(plugin::run(command)).await?),
        Command::Message(command) => Box::pin(message::run(command)).await,
        Command::Nodes(command) => nodes::run(&command).await,
        Command::Queue(command) => queue::run(command).await,
        Command::Top(it) => Box::pin(top::run(it)).await,
        Command::Suppression(command) => suppression::run(command).await,
        Command::Webhook(command) => Box::pin(webhook::run(command)).await,
        Command::Maintenance(command) => Box::pin(maintenance::run(command)).await,
        Command::MasterKey(command) => Box::pin(master_key::run(command)).await,
        Command::Completions(it) => {
            shell::complete(&it, Cli::command());
            Ok(())
        }
        Command::Man(it) => shell::manual(&it, Cli::command()),
        Command::Backup(backup) => backup::run(backup).await,
        Command::Restore(restore) => restore::run(restore).await,
        Command::Export(export) => Box::pin(export::run(export)).await,
        // It has run before there was a runtime.
        Command::CompilePlugin { .. } => Ok(()),
    }
}
