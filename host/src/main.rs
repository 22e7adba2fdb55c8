//! The `waxwing` binary.

use std::process::ExitCode;

/// Gives memory back to the system after a peak, which the system's own allocator does not:
/// `decisions/` says what was measured.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    waxwing::cli::main()
}
