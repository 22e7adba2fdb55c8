//! The `waxwing` binary.

use std::process::ExitCode;

/// For C libraries too (SQLite); decision 0042 says why. `.cargo/config.toml` has its settings.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    waxwing::cli::main()
}
