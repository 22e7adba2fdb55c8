//! A good component, and no plugin: it exports a world of its own.

#![cfg_attr(target_family = "wasm", expect(unsafe_code, reason = "generated exports"))]

mod generated {
    wit_bindgen::generate!({
        inline: "
            package other:hello@1.0.0;
            interface greeter { greet: func(age: u32) -> u32; }
            world greeting { export greeter; }
        ",
        pub_export_macro: true,
    });
}

struct Guest;

impl generated::exports::other::hello::greeter::Guest for Guest {
    fn greet(age: u32) -> u32 {
        age.saturating_add(1)
    }
}

// Natively nothing is exported, so this says that the guest is in use: no `dead_code`.
#[cfg(not(target_family = "wasm"))]
const _: fn() -> Guest = || Guest;

#[cfg(target_family = "wasm")]
generated::export!(Guest with_types_in generated);
