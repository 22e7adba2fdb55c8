//! What a shell and `man` know of the command line: completions and manual pages, made from its own definition.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

use super::error::CliError;
use super::output::dump;

/// Print the completions of a shell
#[derive(Debug, Args)]
#[command(
    after_help = "Bash:  waxwing completions bash > /usr/share/bash-completion/completions/waxwing\n\
    zsh:   waxwing completions zsh > /usr/local/share/zsh/site-functions/_waxwing\n\
    fish:  waxwing completions fish > ~/.config/fish/completions/waxwing.fish"
)]
pub struct Completions {
    shell: Shell,
}

/// Write a manual page for each command
#[derive(Debug, Args)]
#[command(after_help = "waxwing man /usr/local/share/man/man1\nman waxwing-queue-why")]
pub struct ManualPages {
    /// The directory to write them to; it is made where it is missing
    directory: PathBuf,
}

/// Prints them.
pub fn complete(completions: &Completions, mut command: clap::Command) {
    let mut script = Vec::new();
    clap_complete::generate(completions.shell, &mut command, "waxwing", &mut script);
    dump(&script);
}

/// Writes them.
pub fn manual(pages: &ManualPages, command: clap::Command) -> Result<(), CliError> {
    fs::create_dir_all(&pages.directory)
        .and_then(|()| clap_mangen::generate_to(command, &pages.directory))
        .map_err(|source| CliError::Unwritable { path: pages.directory.clone(), source })
}
