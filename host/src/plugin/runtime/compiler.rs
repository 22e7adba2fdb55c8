//! Turns components into machine code within bounds: in a child process of this binary, which may
//! use so much memory and so much CPU time and no more. Compilation of one function can take memory
//! and time that grow with the square of its size, and a thread that compiles cannot be stopped; a
//! process can, when a newer file comes or when the server ends.

pub mod child;

use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::artifact::Artifact;
use super::engine::PluginEngine;
use super::log::printable;

pub use child::CompileLimits;

/// The hidden subcommand of the child process.
pub const CHILD_SUBCOMMAND: &str = "compile-plugin";

/// Compilations at one time, at most; more wait. Each may use the whole memory limit.
const MAX_AT_ONE_TIME: usize = 4;
/// A compilation may take this many times its CPU time limit by the wall clock, since the machine may be busy.
const WALL_CLOCK_FACTOR: u32 = 5;
/// Bytes kept of the start of the child's standard error, at most.
const MAX_STDERR_BYTES: u64 = 1 << 10;

/// Why a component was not compiled. Each limit names its setting.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// Not a component, or one that does not compile.
    #[error("not a WebAssembly component that can be compiled: {0}")]
    Component(wasmtime::Error),
    /// The compilation needs more memory than its limit.
    #[error(
        "compiling the component takes more memory than it may: plugins.compile_memory_bytes is {limit}; \
         build it smaller (a very large function, or code that nothing calls), or raise the setting"
    )]
    Memory { limit: u64 },
    /// The child aborted (SIGABRT), and its standard error does not blame an allocation.
    #[error(
        "the plugin compiler process aborted: either compiling takes more memory than \
         plugins.compile_memory_bytes, which is {limit} (build the component smaller, or raise the \
         setting), or the compiler has a fault (then please report it); its standard error begins: {stderr}"
    )]
    Aborted { limit: u64, stderr: String },
    /// The compilation needs more CPU time than its limit.
    #[error(
        "compiling the component takes more CPU time than it may: plugins.compile_seconds is {limit}; \
         build it smaller (a very large function, or code that nothing calls), or raise the setting"
    )]
    Time { limit: u64 },
    /// The compilation was not finished in time, though it did not use up its CPU time.
    #[error(
        "compiling the component was not finished after {waited} s ({WALL_CLOCK_FACTOR} times \
         plugins.compile_seconds, which is {limit}), though it used less CPU time than it may; the machine is \
         probably busy: install the plugin again, or raise plugins.compile_seconds"
    )]
    Deadline {
        /// How long it took, in seconds.
        waited: u64,
        limit: u64,
    },
    #[error(
        "the plugin compiler process ended without a result ({status}); its standard error begins: {stderr}"
    )]
    Broken {
        /// The exit status or the signal.
        status: String,
        /// The first KiB of the child's standard error.
        stderr: String,
    },
    /// The child could not be started.
    #[error("the plugin compiler process cannot be started: {0}")]
    Start(#[from] io::Error),
    #[error("the server is shutting down")]
    Stopping,
}

#[derive(Debug, Clone)]
pub enum Compiler {
    /// Threads of this process, without bounds: for tests and benchmarks, whose process is not the
    /// server's, and whose components are their own.
    Unbounded,
    /// A child process for each component.
    Children(Arc<Children>),
}

/// Child processes that compile.
#[derive(Debug)]
pub struct Children {
    program: PathBuf,
    limits: CompileLimits,
    places: Semaphore,
    stop: CancellationToken,
}

impl Compiler {
    /// Children of this binary, within limits.
    #[must_use]
    pub fn children(program: PathBuf, limits: CompileLimits) -> Self {
        let (places, stop) = (Semaphore::new(MAX_AT_ONE_TIME), CancellationToken::new());
        Self::Children(Arc::new(Children { program, limits, places, stop }))
    }

    /// Ends what is being compiled, and compiles nothing more.
    pub fn stop(&self) {
        match self {
            Self::Unbounded => {}
            Self::Children(children) => children.stop.cancel(),
        }
    }

    /// The machine code of a component. Ends with its future.
    ///
    /// # Errors
    /// Not a component, or beyond a limit.
    pub async fn compile(
        &self,
        engine: &PluginEngine,
        artifact: &Artifact,
    ) -> Result<Vec<u8>, CompileError> {
        match self {
            // The server's own components are small and trusted, and a server must start without children.
            Self::Children(children) if !artifact.is_builtin() => {
                children.compile(artifact.bytes()).await
            }
            Self::Children(_) | Self::Unbounded => {
                let (engine, artifact) = (engine.clone(), artifact.clone());
                let compiled =
                    tokio::task::spawn_blocking(move || engine.compile(artifact.bytes()));
                match compiled.await {
                    Ok(code) => code.map_err(CompileError::Component),
                    Err(panicked) => Err(CompileError::Component(wasmtime::Error::new(panicked))),
                }
            }
        }
    }
}

impl Children {
    async fn compile(&self, wasm: &[u8]) -> Result<Vec<u8>, CompileError> {
        // Never closed, so the only answer is a place.
        let _place = self.places.acquire().await;
        let waited = Duration::from_secs(self.limits.seconds) * WALL_CLOCK_FACTOR;
        let deadline =
            CompileError::Deadline { waited: waited.as_secs(), limit: self.limits.seconds };
        tokio::select! {
            compiled = tokio::time::timeout(waited, self.compile_in_a_child(wasm)) => {
                compiled.map_err(|_elapsed| deadline)?
            }
            () = self.stop.cancelled() => Err(CompileError::Stopping),
        }
    }

    /// The child is killed where this future is dropped.
    async fn compile_in_a_child(&self, wasm: &[u8]) -> Result<Vec<u8>, CompileError> {
        let mut child = self.start().map_err(CompileError::Start)?;
        let (Some(mut stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(CompileError::Start(io::ErrorKind::BrokenPipe.into()));
        };
        let (_sent, answer, stderr) =
            tokio::join!(send(&mut stdin, wasm), self.answer(stdout), read_stderr_head(stderr));
        // The child ends itself where its standard input does: this one stays open until then.
        let status = child.wait().await.map_err(CompileError::Start)?;
        drop(stdin);
        let answer = answer.map_err(CompileError::Start)?;
        match (status.success(), answer.split_first()) {
            (true, Some((&child::COMPILED, code))) => Ok(code.to_vec()),
            (true, Some((&child::REFUSED, text))) => {
                let text = String::from_utf8_lossy(text).into_owned();
                Err(CompileError::Component(wasmtime::Error::msg(text)))
            }
            (true, Some((&child::OUT_OF_MEMORY, _))) => Err(self.out_of_memory()),
            (_, _) => Err(self.ended(status, stderr)),
        }
    }

    fn start(&self) -> io::Result<Child> {
        let limits = [self.limits.memory_bytes, self.limits.seconds].map(|it| it.to_string());
        Command::new(&self.program)
            .arg(CHILD_SUBCOMMAND)
            .args(limits)
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
    }

    async fn answer(&self, stdout: ChildStdout) -> io::Result<Vec<u8>> {
        let mut answer = Vec::new();
        stdout.take(self.limits.memory_bytes).read_to_end(&mut answer).await?;
        Ok(answer)
    }

    fn out_of_memory(&self) -> CompileError {
        CompileError::Memory { limit: self.limits.memory_bytes }
    }

    #[cfg(unix)]
    fn ended(&self, status: ExitStatus, stderr: String) -> CompileError {
        use std::os::unix::process::ExitStatusExt as _;

        use rustix::process::Signal;
        match status.signal() {
            Some(signal) if signal == Signal::XCPU.as_raw() => {
                CompileError::Time { limit: self.limits.seconds }
            }
            // The standard library aborts when an allocation fails, and says so; an abort has other causes too.
            Some(signal) if signal == Signal::ABORT.as_raw() => {
                if stderr.contains("memory allocation of") {
                    self.out_of_memory()
                } else {
                    CompileError::Aborted { limit: self.limits.memory_bytes, stderr }
                }
            }
            Some(_) | None => CompileError::Broken { status: status.to_string(), stderr },
        }
    }

    #[cfg(not(unix))]
    fn ended(&self, status: ExitStatus, stderr: String) -> CompileError {
        CompileError::Broken { status: status.to_string(), stderr }
    }
}

/// A child that has ended says so by its status, not by its closed pipe.
async fn send(stdin: &mut ChildStdin, wasm: &[u8]) -> io::Result<()> {
    let length = u64::try_from(wasm.len()).unwrap_or(u64::MAX);
    stdin.write_all(&length.to_le_bytes()).await?;
    stdin.write_all(wasm).await?;
    stdin.flush().await
}

async fn read_stderr_head(mut stderr: ChildStderr) -> String {
    let mut head = Vec::new();
    // Whatever was read until an error is all that there is. The rest is drained, so that the child does not block.
    drop((&mut stderr).take(MAX_STDERR_BYTES).read_to_end(&mut head).await);
    drop(tokio::io::copy(&mut stderr, &mut tokio::io::sink()).await);
    printable(&String::from_utf8_lossy(&head))
}
