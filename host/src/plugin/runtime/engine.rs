//! One wasmtime engine, with its ticker and the threads that compile.

use std::sync::Arc;

use rayon::{ThreadPool, ThreadPoolBuilder};
use wasmtime::{Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig};

use super::ticker::Ticker;

/// Instances of all generations together: idle warm ones and running calls.
const INSTANCES: u32 = 512;
const MAX_MEMORY: usize = 128 << 20;

/// The engine. The ticker ends when the last clone of the engine is gone.
#[derive(Clone)]
pub struct PluginEngine {
    engine: Engine,
    ticker: Ticker,
    compilers: Arc<ThreadPool>,
}

impl PluginEngine {
    /// Starts an engine with pooled instances, or without where the machine has too little
    /// address space for the pool.
    pub fn start() -> wasmtime::Result<Self> {
        let engine =
            Engine::new(&config(&InstanceAllocationStrategy::Pooling(pool()))).or_else(|error| {
                tracing::warn!(%error, "cannot reserve a pool of plugin instances; allocating each on demand");
                Engine::new(&config(&InstanceAllocationStrategy::OnDemand))
            });
        let engine = engine?;
        let ticker = Ticker::start(engine.weak())?;
        let compilers = ThreadPoolBuilder::new()
            .thread_name(|n| format!("plugin-compiler-{n}"))
            .start_handler(|_| be_nice())
            .build()
            .map_err(wasmtime::Error::new)?;
        Ok(Self { engine, ticker, compilers: Arc::new(compilers) })
    }

    /// Turns a component into machine code on threads that step back for those that serve
    /// requests. Blocks until it is done.
    pub fn compile(&self, wasm: &[u8]) -> wasmtime::Result<Vec<u8>> {
        self.compilers.install(|| self.engine.precompile_component(wasm))
    }

    /// Counts the guests that run, and ticks for them.
    pub fn ticker(&self) -> &Ticker {
        &self.ticker
    }

    pub fn wasmtime(&self) -> &Engine {
        &self.engine
    }
}

impl std::fmt::Debug for PluginEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PluginEngine")
    }
}

/// On Linux the priority of a "process" is that of a thread.
#[cfg(target_os = "linux")]
fn be_nice() {
    let thread = rustix::thread::gettid();
    if let Err(error) = rustix::process::setpriority_process(Some(thread), 10) {
        tracing::debug!(%error, "cannot lower the priority of a plugin compiler thread; compiling competes with sends for CPU time");
    }
}

#[cfg(not(target_os = "linux"))]
fn be_nice() {}

/// For a process that only compiles: how instances are allocated does not change machine code.
pub fn without_a_pool() -> Config {
    config(&InstanceAllocationStrategy::OnDemand)
}

fn config(strategy: &InstanceAllocationStrategy) -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        .concurrency_support(false)
        .epoch_interruption(true)
        .max_wasm_stack(512 << 10)
        .async_stack_size(1 << 20)
        .allocation_strategy(strategy.clone());
    config
}

fn pool() -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::default();
    pool.total_component_instances(INSTANCES)
        .total_core_instances(INSTANCES * 4)
        .total_memories(INSTANCES)
        .total_tables(INSTANCES * 4)
        .total_stacks(INSTANCES)
        .max_memory_size(MAX_MEMORY)
        .max_tables_per_component(16)
        .max_memories_per_component(4)
        .max_core_instances_per_component(64)
        .table_elements(100_000)
        .pagemap_scan(Enabled::Auto);
    if PoolingAllocationConfig::is_pagemap_scan_available() {
        pool.linear_memory_keep_resident(2 << 20).table_keep_resident(64 << 10);
    }
    pool
}
