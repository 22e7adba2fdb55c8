//! What `bindgen!` makes of `wit/v0`, and the one trait through which the host sees its worlds.

#![expect(missing_docs, reason = "generated code")]

pub mod world;

pub mod plan {
    wasmtime::component::bindgen!({
        path: "../wit/v0",
        world: "plan-restriction",
        exports: { default: async },
    });
}

pub mod domain {
    wasmtime::component::bindgen!({
        path: "../wit/v0",
        world: "domain-verification",
        exports: { default: async },
        with: {
            "waxwing:plugin/types": super::plan::waxwing::plugin::types,
            "waxwing:plugin/host": super::plan::waxwing::plugin::host,
        },
    });
}

pub mod template {
    wasmtime::component::bindgen!({
        path: "../wit/v0",
        world: "template-renderer",
        exports: { default: async },
        with: {
            "waxwing:plugin/types": super::plan::waxwing::plugin::types,
            "waxwing:plugin/host": super::plan::waxwing::plugin::host,
        },
    });
}

pub use plan::waxwing::plugin::{host, types};
