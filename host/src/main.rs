//! The `waxwing` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    waxwing::cli::main()
}
