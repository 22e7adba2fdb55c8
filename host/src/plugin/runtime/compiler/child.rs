//! The child's side: it bounds itself, reads a component from standard input and writes machine code
//! to standard output.

use std::any::Any;
use std::io::{self, Read as _, Write as _};
use std::panic;
use std::process::ExitCode;

use rayon::ThreadPoolBuilder;
use wasmtime::Engine;

use crate::plugin::runtime::engine;

/// What one compilation may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompileLimits {
    pub memory_bytes: u64,
    /// CPU time of all its threads together, in seconds.
    pub seconds: u64,
}

/// The first byte of an answer: machine code follows.
pub const COMPILED: u8 = 0;
/// Why it is not a component that can be compiled follows.
pub const REFUSED: u8 = 1;
/// The memory did not suffice.
pub const OUT_OF_MEMORY: u8 = 2;

/// Threads: each holds a function's memory.
const MAX_THREADS: usize = 4;
/// The program itself, the stacks of its threads and what an allocator reserves take address space, and
/// little memory.
const ADDRESS_SPACE: u64 = 2 << 30;
/// Seconds of CPU time between the signal that says why, and the one that cannot be missed.
const GRACE: u64 = 5;

/// Compiles one component within limits. The answer is for the parent alone.
#[must_use]
pub fn run(limits: CompileLimits) -> ExitCode {
    match bound(limits).and_then(|()| compile()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The parent reads the first KiB of it; if the parent is gone, nobody does.
            let _written = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

fn compile() -> io::Result<()> {
    let wasm = read()?;
    end_with_the_parent()?;
    let (kind, answer) = match panic::catch_unwind(|| compiled(&wasm)) {
        Ok(Ok(code)) => (COMPILED, code),
        Ok(Err(error)) if is_out_of_memory(&error) => (OUT_OF_MEMORY, Vec::new()),
        Ok(Err(error)) => (REFUSED, error.to_string().into_bytes()),
        Err(panicked) if says_out_of_memory(&*panicked) => (OUT_OF_MEMORY, Vec::new()),
        Err(panicked) => panic::resume_unwind(panicked),
    };
    let mut stdout = io::stdout().lock();
    stdout.write_all(&[kind])?;
    stdout.write_all(&answer)?;
    stdout.flush()
}

fn compiled(wasm: &[u8]) -> wasmtime::Result<Vec<u8>> {
    let engine = Engine::new(&engine::without_a_pool())?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = ThreadPoolBuilder::new().num_threads(cores.min(MAX_THREADS)).build();
    let threads = threads.map_err(wasmtime::Error::new)?;
    threads.install(|| engine.precompile_component(wasm))
}

fn is_out_of_memory(error: &wasmtime::Error) -> bool {
    error.chain().any(|cause| {
        let system = cause.downcast_ref::<io::Error>();
        system.is_some_and(|it| it.kind() == io::ErrorKind::OutOfMemory)
            || cause.is::<rayon::ThreadPoolBuildError>()
    })
}

/// Where an allocation fails, the standard library aborts the process, and Cranelift's own collections
/// panic: `panic_on_oom` of wasmtime's crates, which has no type of its own.
fn says_out_of_memory(panicked: &(dyn Any + Send)) -> bool {
    panicked.downcast_ref::<String>().is_some_and(|it| it.contains("out-of-memory"))
}

fn read() -> io::Result<Vec<u8>> {
    let mut stdin = io::stdin().lock();
    let mut length = [0; 8];
    stdin.read_exact(&mut length)?;
    let mut wasm = Vec::new();
    stdin.take(u64::from_le_bytes(length)).read_to_end(&mut wasm)?;
    Ok(wasm)
}

/// The parent holds the other end of standard input. Where the parent is gone, so is that, however it
/// ended; a death signal would come when the parent's *thread* ends, and only on Linux.
fn end_with_the_parent() -> io::Result<()> {
    std::thread::Builder::new().name("parent".to_owned()).spawn(|| {
        let mut nothing = [0; 1];
        while io::stdin().read(&mut nothing).is_ok_and(|bytes| bytes > 0) {}
        std::process::exit(1);
    })?;
    Ok(())
}

#[cfg(unix)]
fn bound(limits: CompileLimits) -> io::Result<()> {
    use rustix::io::Errno;
    use rustix::process::{Resource, Rlimit, setpriority_process, setrlimit};
    let memory = limits.memory_bytes;
    let address_space = memory.saturating_add(ADDRESS_SPACE);
    let bounds = [
        // What a process can write to, on Linux; elsewhere the address space has to do.
        (Resource::Data, memory, memory),
        (Resource::As, address_space, address_space),
        // The first bound ends it by a signal that says why, the second one by SIGKILL.
        (Resource::Cpu, limits.seconds, limits.seconds.saturating_add(GRACE)),
        (Resource::Core, 0, 0),
    ];
    for (resource, most, hardest) in bounds {
        match setrlimit(resource, Rlimit { current: Some(most), maximum: Some(hardest) }) {
            // A stricter one holds already.
            Ok(()) | Err(Errno::PERM) => {}
            Err(error) if cfg!(target_os = "linux") => return Err(error.into()),
            Err(_) => {}
        }
    }
    // Requests go first; and where the machine has no memory left, this process goes, not the server.
    // Neither is needed for an answer.
    let _may_be_forbidden = setpriority_process(None, 10);
    let _may_be_forbidden = std::fs::write("/proc/self/oom_score_adj", "1000");
    Ok(())
}

#[cfg(not(unix))]
fn bound(_limits: CompileLimits) -> io::Result<()> {
    Ok(())
}
