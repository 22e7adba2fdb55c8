//! What `bindgen!` makes of `wit/v0`.

#![expect(missing_docs, reason = "generated code")]

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

pub mod mjml {
    wasmtime::component::bindgen!({
        path: "../wit/v0",
        world: "mjml-compilation",
        exports: { default: async },
        with: {
            "waxwing:plugin/types": super::plan::waxwing::plugin::types,
            "waxwing:plugin/host": super::plan::waxwing::plugin::host,
        },
    });
}

pub use plan::waxwing::plugin::{host, types};

/// The context of a call that is made now.
pub fn context(call_id: String, clock: &crate::clock::Clock) -> types::CallContext {
    types::CallContext {
        call_id,
        now_unix_ms: clock.now().unsigned_millis(),
        locale: None,
        dry_run: false,
        extra: Vec::new(),
    }
}
