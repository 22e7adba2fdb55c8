//! The command line of `waxwing-load floor`.

use std::path::PathBuf;

use clap::Args as Arguments;

/// Of the floor.
#[derive(Debug, Arguments)]
pub struct FloorArgs {
    /// Where its database is made
    #[arg(long, value_name = "PATH")]
    pub data_dir: PathBuf,
    /// A folder with a folder for each template
    #[arg(long, value_name = "PATH")]
    pub templates: PathBuf,
    /// The key of its one account
    #[arg(long, value_name = "KEY")]
    pub api_key: String,
}
