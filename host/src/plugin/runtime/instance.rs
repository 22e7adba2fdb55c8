//! One instance of a generation: its world, its store, and what a call of it may cost.

use std::time::Duration;

use wasmtime::{Store, Trap};

use super::bindings::types::CallContext;
use super::error::CallFailure;
use super::kind::Kind;
use super::limits::CallLimits;
use super::log::CallPurpose;
use super::meter::{CallMeter, CpuTime};
use super::sandbox::Guest;
use super::world::World;
use crate::clock::Clock;

/// One configured instance.
pub struct Instance<W: World> {
    world: W,
    store: Store<Guest>,
    plugin: String,
    limits: CallLimits,
    clock: Clock,
    cpu: CpuTime,
    rehearsals: CpuTime,
}

/// What a call is bounded by.
#[derive(Debug, Clone, Copy)]
pub enum Budget {
    /// A call for a message.
    Call,
    /// A call that prepares: `describe`, `configure`, `self-test`, `compile`.
    Prepare,
}

impl<W: World> Instance<W> {
    /// Takes over a world that was made in a store.
    pub fn new(
        world: W,
        store: Store<Guest>,
        plugin: String,
        limits: CallLimits,
        clock: Clock,
        (cpu, rehearsals): (CpuTime, CpuTime),
    ) -> Self {
        Self { world, store, plugin, limits, clock, cpu, rehearsals }
    }

    /// The world, and the store that its calls need. [`Instance::arm`] comes first, always.
    pub fn parts(&mut self) -> (&W, &mut Store<Guest>) {
        (&self.world, &mut self.store)
    }

    /// Gives the guest the time of one call, which the log names by its id.
    pub fn arm(&mut self, budget: Budget, call: (&str, CallPurpose)) {
        let time = time(self.limits, budget);
        arm(&mut self.store, time, &self.clock, call);
    }

    /// Gives the guest the time of one call for a message. Its clock stands at the moment of that
    /// call, so that a recorded call is answered as it was then.
    pub fn arm_for(&mut self, ctx: &CallContext) {
        let call = (ctx.call_id.as_str(), CallPurpose::of(ctx));
        arm_at(&mut self.store, self.limits.call(), ctx.now_unix_ms, call);
    }

    /// The meter of the call that this instance is armed for.
    pub fn cpu(&self) -> CallMeter {
        let guest = self.store.data();
        let sum = match guest.purpose() {
            CallPurpose::Service => &self.cpu,
            CallPurpose::Rehearsal => &self.rehearsals,
        };
        CallMeter { sum: sum.clone(), call: guest.time() }
    }

    /// What a finished call means; a failed one says which limit or which bug it was.
    pub fn outcome<T>(
        &mut self,
        call: &'static str,
        budget: Budget,
        result: wasmtime::Result<T>,
    ) -> Result<T, CallFailure> {
        result.map_err(|error| {
            failure(W::KIND, &self.store, &self.plugin, self.limits, (call, budget), &error)
        })
    }

    /// The plugin answered what the interface does not allow.
    pub fn broken(&self, call: &'static str, detail: String) -> CallFailure {
        CallFailure::BrokenPromise { plugin: self.plugin.clone(), call, detail }
    }
}

/// Which limit or which bug made a call fail.
pub fn failure(
    kind: Kind,
    store: &Store<Guest>,
    plugin: &str,
    limits: CallLimits,
    (call, budget): (&'static str, Budget),
    error: &wasmtime::Error,
) -> CallFailure {
    let (plugin, knobs) = (plugin.to_owned(), kind.knobs());
    let interrupted = matches!(error.downcast_ref::<Trap>(), Some(Trap::Interrupt));
    if interrupted && store.data().time_exceeded() {
        let (knob, limit_ms) = match budget {
            Budget::Call => (knobs.call, limits.call_ms),
            Budget::Prepare => (knobs.prepare, limits.prepare_ms),
        };
        return CallFailure::Time { plugin, call, knob, limit_ms: limit_ms.into() };
    }
    if store.data().memory_exceeded() {
        let limit = limits.memory_bytes;
        return CallFailure::Memory { plugin, call, knob: knobs.memory, limit };
    }
    if is_out_of_hostcall_fuel(error) {
        let limit = limits.output_bytes;
        return CallFailure::Output { plugin, call, knob: knobs.output, limit };
    }
    // The innermost cause: wasmtime wraps it in a backtrace of the guest.
    let detail = error.root_cause().to_string();
    CallFailure::Trapped { plugin, call, detail, words: store.data().output_head() }
}

/// Whether a guest gave out more than it may. wasmtime 48 keeps the error's type to itself, so only its
/// text tells (`decisions/0039-wasmtime-tells-fuel-in-text.md`); `plugin/tests/hostile` fails where that changes.
fn is_out_of_hostcall_fuel(error: &wasmtime::Error) -> bool {
    error.root_cause().to_string().contains("fuel allocated for hostcalls")
}

fn time(limits: CallLimits, budget: Budget) -> Duration {
    match budget {
        Budget::Call => limits.call(),
        Budget::Prepare => limits.prepare(),
    }
}

/// Gives a guest time, and the moment that it may know, for one call.
pub fn arm(store: &mut Store<Guest>, time: Duration, clock: &Clock, call: (&str, CallPurpose)) {
    arm_at(store, time, clock.now().unsigned_millis(), call);
}

fn arm_at(store: &mut Store<Guest>, time: Duration, now_unix_ms: u64, call: (&str, CallPurpose)) {
    store.data_mut().begin_call(time, now_unix_ms, call);
    store.set_epoch_deadline(1);
}

impl<W: World> std::fmt::Debug for Instance<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Instance").field("plugin", &self.plugin).finish_non_exhaustive()
    }
}
