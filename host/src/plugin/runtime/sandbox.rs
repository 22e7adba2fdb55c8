//! What a guest sees of the world: a log, a counter, a frozen clock, seeded randomness, and a
//! place for its standard output. No file, no socket, no environment.

mod capture;
mod frozen_clock;

use std::time::Duration;

use wasmtime::Store;
use wasmtime::component::{HasData, HasSelf, Linker, ResourceTable};
use wasmtime_wasi::cli::{WasiCli, WasiCliView};
use wasmtime_wasi::clocks::{WasiClocks, WasiClocksView};
use wasmtime_wasi::p2::bindings::{cli, clocks, random};
use wasmtime_wasi::random::WasiRandom;
use wasmtime_wasi::{Deterministic, WasiCtx, WasiCtxBuilder, WasiCtxView, WasiView};
use wasmtime_wasi_io::bindings::wasi::io;

use super::bindings::host;
use super::limits::Meter;
use super::log::{CallPurpose, SlotLog, printable};
use super::meter::CallTime;
use capture::Capture;
use frozen_clock::FrozenClock;

/// Guests are deterministic: their randomness is these bytes, over and over.
const SEED: &[u8; 16] = b"waxwing-plugin-1";
const LOG_LINES: u32 = 64;
const LOG_FIELDS: usize = 16;

/// The host's side of one instance.
pub struct Guest {
    plugin: String,
    log: SlotLog,
    call_id: String,
    purpose: CallPurpose,
    table: ResourceTable,
    wasi: WasiCtx,
    output_head: Capture,
    clock: FrozenClock,
    meter: Meter,
    time: CallTime,
    limit: Duration,
    is_out_of_time: bool,
    log_lines: u32,
}

/// The interfaces that a guest may import; everything else is refused when it is inspected.
pub const ALLOWED_IMPORTS: [&str; 19] = [
    "waxwing:plugin/types@0.1.",
    "waxwing:plugin/host@0.1.",
    "wasi:io/error@0.2.",
    "wasi:io/poll@0.2.",
    "wasi:io/streams@0.2.",
    "wasi:cli/environment@0.2.",
    "wasi:cli/exit@0.2.",
    "wasi:cli/stdin@0.2.",
    "wasi:cli/stdout@0.2.",
    "wasi:cli/stderr@0.2.",
    "wasi:cli/terminal-input@0.2.",
    "wasi:cli/terminal-output@0.2.",
    "wasi:cli/terminal-stdin@0.2.",
    "wasi:cli/terminal-stdout@0.2.",
    "wasi:cli/terminal-stderr@0.2.",
    "wasi:random/random@0.2.",
    "wasi:random/insecure-seed@0.2.",
    "wasi:clocks/wall-clock@0.2.",
    "wasi:clocks/monotonic-clock@0.2.",
];

impl Guest {
    /// A sandbox for a plugin of that name, with the memory that the meter allows.
    pub fn new(plugin: String, log: SlotLog, meter: Meter) -> Self {
        let output_head = Capture::default();
        let clock = FrozenClock::default();
        let wasi = WasiCtxBuilder::new()
            .stdout(output_head.clone())
            .stderr(output_head.clone())
            .wall_clock(clock.clone())
            .monotonic_clock(clock.clone())
            .secure_random(Deterministic::new(SEED.to_vec()))
            .insecure_random(Deterministic::new(SEED.to_vec()))
            .insecure_random_seed(0)
            .max_random_size(64 << 10)
            .build();
        Self {
            plugin,
            log,
            call_id: String::new(),
            purpose: CallPurpose::Service,
            table: ResourceTable::new(),
            wasi,
            output_head,
            clock,
            meter,
            time: CallTime::default(),
            limit: Duration::ZERO,
            is_out_of_time: false,
            log_lines: 0,
        }
    }

    /// Gives the guest time, and the moment that it may know, for one call.
    pub fn begin_call(&mut self, limit: Duration, now_unix_ms: u64, call: (&str, CallPurpose)) {
        call.0.clone_into(&mut self.call_id);
        self.purpose = call.1;
        (self.limit, self.is_out_of_time) = (limit, false);
        self.time.begin();
        self.clock.set(now_unix_ms);
        self.output_head.clear();
        self.log_lines = 0;
    }

    /// Whether it still has time; if not, that is what stops it.
    fn has_time(&mut self) -> bool {
        self.is_out_of_time = self.time.look() >= self.limit;
        !self.is_out_of_time
    }

    /// The CPU time of the current call.
    pub fn time(&self) -> CallTime {
        self.time.clone()
    }

    /// What the call is made for.
    pub fn purpose(&self) -> CallPurpose {
        self.purpose
    }

    /// Counts memory for the engine.
    pub fn meter(&mut self) -> &mut Meter {
        &mut self.meter
    }

    /// Whether the guest tried to grow its memory beyond the limit.
    pub fn memory_exceeded(&self) -> bool {
        self.meter.exceeded()
    }

    /// Whether the guest ran out of time.
    pub fn time_exceeded(&self) -> bool {
        self.is_out_of_time
    }

    fn slot(&self) -> String {
        self.log.slot().to_owned()
    }

    fn count_dropped(&self) {
        metrics::counter!("waxwing_plugin_log_dropped_total", "slot" => self.slot()).increment(1);
    }

    /// What the guest wrote to its standard streams in this call, shortened.
    pub fn output_head(&self) -> String {
        self.output_head.text()
    }
}

/// Links all that a guest may import.
pub fn link(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    host::add_to_linker::<Guest, HasSelf<Guest>>(linker, |guest| guest)?;
    io::error::add_to_linker::<Guest, Io>(linker, |guest| &mut guest.table)?;
    io::poll::add_to_linker::<Guest, Io>(linker, |guest| &mut guest.table)?;
    io::streams::add_to_linker::<Guest, Io>(linker, |guest| &mut guest.table)?;
    cli::environment::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::exit::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::stdin::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::stdout::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::stderr::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::terminal_input::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::terminal_output::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::terminal_stdin::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::terminal_stdout::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    cli::terminal_stderr::add_to_linker::<Guest, WasiCli>(linker, Guest::cli)?;
    random::random::add_to_linker::<Guest, WasiRandom>(linker, |guest| guest.wasi.random())?;
    random::insecure_seed::add_to_linker::<Guest, WasiRandom>(linker, |guest| guest.wasi.random())?;
    clocks::wall_clock::add_to_linker::<Guest, WasiClocks>(linker, Guest::clocks)?;
    clocks::monotonic_clock::add_to_linker::<Guest, Standing>(linker, |guest| &mut guest.clock)?;
    Ok(())
}

/// Sets up a store for one instance: its meter, its deadline, its bound on bytes out.
pub fn store(engine: &wasmtime::Engine, guest: Guest, output_bytes: usize) -> Store<Guest> {
    let mut store = Store::new(engine, guest);
    store.limiter(|guest| guest.meter());
    store.set_hostcall_fuel(output_bytes);
    store.epoch_deadline_callback(|mut store| {
        // The ticker only asks: the time that other tasks or other processes took from the guest does not
        // count.
        if store.data_mut().has_time() {
            Ok(wasmtime::UpdateDeadline::YieldCustom(1, Box::pin(tokio::task::yield_now())))
        } else {
            Ok(wasmtime::UpdateDeadline::Interrupt)
        }
    });
    store
}

struct Io;

struct Standing;

impl HasData for Standing {
    type Data<'a> = &'a mut FrozenClock;
}

impl HasData for Io {
    type Data<'a> = &'a mut ResourceTable;
}

impl WasiView for Guest {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl host::Host for Guest {
    fn log(
        &mut self,
        level: host::Level,
        message: String,
        fields: Vec<super::bindings::types::Pair>,
    ) {
        if !self.log.is_heard(self.purpose) {
            return;
        }
        self.log_lines += 1;
        if self.log_lines > LOG_LINES {
            self.log.dropped();
            return self.count_dropped();
        }
        let fields = fields.iter().take(LOG_FIELDS).fold(String::new(), |text, it| {
            format!("{text} {}={}", printable(&it.key), printable(&it.value))
        });
        let message = format!("{}{fields}", printable(&message));
        let (plugin, slot) = (self.plugin.as_str(), self.log.slot());
        let word = match level {
            host::Level::Error => "error",
            host::Level::Warn => "warn",
            host::Level::Info => "info",
            host::Level::Debug | host::Level::Trace => "debug",
        };
        if !self.log.push(word, plugin, &self.call_id, &message) {
            return self.count_dropped();
        }
        match level {
            host::Level::Error => tracing::error!(slot, plugin, "{message}"),
            host::Level::Warn => tracing::warn!(slot, plugin, "{message}"),
            host::Level::Info => tracing::info!(slot, plugin, "{message}"),
            host::Level::Debug | host::Level::Trace => tracing::debug!(slot, plugin, "{message}"),
        }
    }

    fn count(&mut self, metric: String, delta: u64, labels: Vec<super::bindings::types::Pair>) {
        if self.log.is_heard(self.purpose) {
            self.log.counts().add(&metric, delta, &labels);
        }
    }
}
