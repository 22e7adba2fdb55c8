//! Wraps every plugin call made for a message: refuses quarantined inputs, counts the call, records samples,
//! feeds the shadow, and reports traps.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::failure_report::{FailureReport, TrapSink, Version, gave_up};
use crate::plugin::config::binding::{Binding, Scope};
use crate::plugin::promotion::installed::{CallStats, InstalledPlugin};
use crate::plugin::promotion::shadow::Shadow;
use crate::plugin::records::sample::{CallEnd, Sample};
use crate::plugin::records::{Call, answer};
use crate::plugin::runtime::bindings::types::Failure;
use crate::plugin::runtime::error::CallFailure;
use crate::plugin::runtime::kind::Kind;

/// The first calls of a new generation, all of which are recorded.
const FIRST_SAMPLES: u64 = 20;
/// Bytes of a call that is recorded or reported.
const MAX_CALL_BYTES: usize = 256 << 10;

/// A call that is about to be made.
pub struct ObservedCall<'a, P, R> {
    pub shadows: &'a [Arc<Shadow>],
    pub trap_sink: &'a TrapSink,
    /// The plugin that is called.
    pub plugin: P,
    pub stats: &'a CallStats,
    /// Whose calls the plugin answers.
    pub binding: &'a Binding,
    /// Whom this call is for.
    pub scope: &'a Scope<'a>,
    /// A hash of what the plugin may trap on.
    pub input: u64,
    /// What errors call that input.
    pub name: &'static str,
    pub call: &'static str,
    /// What goes in, for records.
    pub record: R,
    /// The published template version that is rendered, if any: its example helps to find who is to blame.
    pub version: &'a (dyn Fn() -> Option<Version> + Sync),
}

/// A call that was made.
pub struct CallResult<T> {
    pub result: Result<Result<T, Failure>, CallFailure>,
    pub took: Duration,
    pub sample: Option<Arc<Sample>>,
}

impl<P: Fn() -> InstalledPlugin, R: Fn() -> Call> ObservedCall<'_, P, R> {
    /// Makes the call.
    pub async fn run<T>(
        self,
        kind: Kind,
        call: impl Future<Output = Result<Result<T, Failure>, CallFailure>>,
        to_json: impl Fn(&Result<T, Failure>) -> Value,
    ) -> CallResult<T> {
        let start = Instant::now();
        let before = self.stats.begin_call();
        let result = match self.stats.quarantined(self.input) {
            Some(detail) => {
                Err(CallFailure::InputQuarantined { input: self.name.to_owned(), detail })
            }
            None => call.await,
        };
        let took = start.elapsed();
        let failure = self.failure(kind, &result);
        self.stats.ended(failure.as_ref());
        let end = if failure.is_some() { CallEnd::Failed } else { CallEnd::Answered };
        if let Some(failure) = failure {
            self.report(failure, before);
        }
        let every = self.trap_sink.sample_every;
        let is_sample = every > 0
            && (end == CallEnd::Failed || before < FIRST_SAMPLES || before.is_multiple_of(every));
        let shadow = self.shadows.iter().find(|it| it.wants(kind, self.scope, self.binding));
        if !is_sample && shadow.is_none() {
            return CallResult { result, took, sample: None };
        }
        let answer = match &result {
            Ok(answered) => to_json(answered),
            Err(failure) => answer::failed(&failure.to_string()),
        };
        if let Some(shadow) = shadow {
            shadow.offer((self.record)(), answer.clone());
        }
        let sample = is_sample.then(|| self.sample(answer, end));
        let sample = sample.filter(|it| it.call.bytes() <= MAX_CALL_BYTES).map(Arc::new);
        CallResult { result, took, sample }
    }

    /// How the plugin failed, if it did: it broke, or it gave up. What it says of wrong data or of a
    /// wrong template is an answer.
    fn failure<T>(
        &self,
        kind: Kind,
        result: &Result<Result<T, Failure>, CallFailure>,
    ) -> Option<CallFailure> {
        match result {
            Ok(Ok(_)) => None,
            Ok(Err(Failure::InvalidInput(_) | Failure::Misconfigured(_)))
                if kind == Kind::Renderer || kind == Kind::Mjml =>
            {
                None
            }
            Ok(Err(failure)) => Some(gave_up((self.plugin)().identity(), self.call, failure)),
            Err(failure) => failure.is_trap().then(|| failure.clone()),
        }
    }

    fn sample(&self, answer: Value, end: CallEnd) -> Sample {
        let plugin = (self.plugin)();
        let mut call = (self.record)();
        call.settings = Some(plugin.generation_config().settings.clone());
        let identity = plugin.identity();
        let (slot, digest) = (identity.slot.clone(), identity.digest.clone());
        Sample { slot, digest, call, answer, end }
    }

    /// A call that is too large to keep is not reported: nobody could repeat it, so its sender could
    /// force a rollback.
    fn report(&self, failure: CallFailure, calls_before: u64) {
        let report = FailureReport {
            plugin: (self.plugin)(),
            input: self.input,
            call: (self.record)(),
            failure,
            calls_before,
            version: (self.version)(),
        };
        if report.call.bytes() > MAX_CALL_BYTES {
            return;
        }
        if self.trap_sink.traps.try_send(report).is_err() {
            tracing::debug!("plugin trap not reported: the queue of trap reports is full");
        }
    }
}
