//! Plugins on the command line without a server: validated by the server's own code, under its limits.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use clap::Args;

use super::super::output::Output;
use super::error::ToolError;
use crate::clock::Clock;
use crate::config::{Config, LogFilter};
use crate::plugin::Stage;
use crate::plugin::validation::Validator;
use crate::server;
use crate::server::data_dir::DataDir;
use crate::telemetry;

/// The largest component that a server can be configured to take.
const MAX_COMPONENT_BYTES: u64 = 32 << 20;

/// Whose limits hold, and how to answer.
#[derive(Debug, Clone, Args)]
pub struct Tools {
    /// A server's configuration file: its limits and its rule for signatures hold then
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    pub output: Output,
}

/// What plugins are validated with.
#[derive(Debug)]
pub struct ToolHost {
    /// The server's own validator.
    pub validator: Validator,
    pub config: Config,
    pub clock: Clock,
    /// Bytes that a component may have.
    pub largest: u64,
}

impl Tools {
    /// Starts the engine. Warnings are shown on standard error.
    pub fn open(&self) -> Result<ToolHost, ToolError> {
        self.open_logging(LogFilter::level(tracing::Level::WARN))
    }

    /// The same, with more of the log.
    pub fn open_logging(&self, filter: LogFilter) -> Result<ToolHost, ToolError> {
        let mut config = Config::load(self.config.as_deref(), std::env::vars())?;
        config.log.filter = filter;
        telemetry::logs::start(&config.log);
        let plugins = &config.plugins;
        let clock = Clock::system();
        let signatures = (plugins.signatures, plugins.trusted_keys.clone());
        let kept = kept_code();
        let kept = kept.as_ref().map(|(path, secret)| (path.as_path(), secret.as_slice()));
        let compiled = (kept, server::plugins::compiler(&config));
        let validator = Validator::for_tools(plugins.limits, signatures, compiled, clock.clone())?;
        // Without a configuration nobody has said what the server takes, so there is a warning only.
        let largest =
            if self.config.is_some() { plugins.max_component_bytes } else { MAX_COMPONENT_BYTES };
        Ok(ToolHost { validator, config, clock, largest })
    }
}

impl ToolHost {
    /// What a server would say to a component of that size that these tools let pass.
    pub fn too_large(&self, bytes: u64) -> Option<String> {
        let usual = self.config.plugins.max_component_bytes;
        (bytes > usual).then(|| {
            format!(
                "the component has {bytes} bytes: a server takes it only if its configuration \
                 raises plugins.max_component_bytes, which is {usual} by default"
            )
        })
    }
}

/// Compiled code is kept for this user, under a secret of this user. It is never kept in a project:
/// whoever made the project would then decide which machine code runs here.
fn kept_code() -> Option<(PathBuf, [u8; 32])> {
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|it| it.is_absolute());
    let base = set("XDG_CACHE_HOME")
        .or_else(|| set("HOME").map(|home| home.join(".cache")))
        .or_else(|| set("LOCALAPPDATA"))?;
    let home = DataDir::open(&base.join("waxwing")).ok()?;
    home.make_master_key().ok()?;
    Some((home.compiled_plugins(), home.master_key().ok()?))
}

/// How long each stage took; calls `at_end` for each as it ends.
pub struct Stopwatch<'a> {
    state: Mutex<Vec<(Stage, Instant, Option<Duration>)>>,
    at_end: &'a (dyn Fn(Stage, Duration) + Send + Sync),
}

impl<'a> Stopwatch<'a> {
    /// Nothing has begun.
    pub fn new(at_end: &'a (dyn Fn(Stage, Duration) + Send + Sync)) -> Self {
        Self { state: Mutex::default(), at_end }
    }

    /// A stage begins, and the one before ends. Cases with settings of their own go through some
    /// stages once more; that is all a part of the test.
    pub fn enter(&self, stage: Stage) -> bool {
        let mut stages = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if stages.last().is_none_or(|(last, ..)| *last < stage) {
            self.end_last(&mut stages);
            stages.push((stage, Instant::now(), None));
        }
        true
    }

    /// The last stage ended well; all of them.
    pub fn finish(self) -> Vec<(Stage, Duration)> {
        let mut stages = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.end_last(&mut stages);
        stages.iter().filter_map(|(stage, _, took)| Some((*stage, (*took)?))).collect()
    }

    /// The last stage did not end well; which one it is, and those before it.
    pub fn fail(self) -> (Option<Stage>, Vec<(Stage, Duration)>) {
        let stages = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let last = stages.last().map(|(stage, ..)| *stage);
        let ended = stages.iter().filter_map(|(stage, _, took)| Some((*stage, (*took)?)));
        (last, ended.collect())
    }

    fn end_last(&self, stages: &mut [(Stage, Instant, Option<Duration>)]) {
        if let Some((stage, begun, took)) = stages.last_mut() {
            let ended = begun.elapsed();
            *took = Some(ended);
            (self.at_end)(*stage, ended);
        }
    }
}

/// A time for people: `0.052 ms`.
pub fn milliseconds(time: Duration) -> String {
    let micros = time.as_micros();
    format!("{}.{:03} ms", micros / 1_000, micros % 1_000)
}

/// A size for people: `43 KB`.
pub fn kilobytes(bytes: u64) -> String {
    format!("{} KB", bytes.div_ceil(1_000))
}

/// A file that a command needs.
pub fn read(path: &Path) -> Result<Vec<u8>, ToolError> {
    std::fs::read(path).map_err(|source| ToolError::File { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_are_readable() {
        assert_eq!(milliseconds(Duration::from_nanos(52_700)), "0.052 ms");
        assert_eq!(milliseconds(Duration::from_millis(1_250)), "1250.000 ms");
        assert_eq!(kilobytes(43_001), "44 KB");
    }

    #[test]
    fn a_stage_that_comes_again_belongs_to_the_last_one() {
        let ended = Mutex::new(Vec::new());
        let at_end = |stage, _| ended.lock().unwrap().push(stage);
        let watch = Stopwatch::new(&at_end);
        for stage in [Stage::Compiling, Stage::Testing, Stage::Linking, Stage::Testing] {
            assert!(watch.enter(stage));
        }
        let stages: Vec<Stage> = watch.finish().into_iter().map(|(stage, _)| stage).collect();
        assert_eq!(stages, [Stage::Compiling, Stage::Testing]);
        assert_eq!(*ended.lock().unwrap(), stages);
    }

    #[test]
    fn the_stage_that_failed_is_known() {
        let watch = Stopwatch::new(&|_, _| {});
        assert!(watch.enter(Stage::Inspecting) && watch.enter(Stage::Compiling));
        let (failed, ended) = watch.fail();
        assert_eq!(failed, Some(Stage::Compiling));
        assert_eq!(ended.len(), 1);
    }
}
