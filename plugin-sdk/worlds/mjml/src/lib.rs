//! What `wit-bindgen` makes of the world `mjml-compilation`.
//!
//! A crate of its own, because two worlds that export the same interface cannot be generated into
//! one: their export macros have the same name.

wit_bindgen::generate!({
    path: "../../../wit/v0",
    world: "mjml-compilation",
    pub_export_macro: true,
    default_bindings_module: "waxwing_plugin::__export::mjml",
    additional_derives: [PartialEq],
    with: {
        "waxwing:plugin/types@0.1.0": waxwing_world_plan::waxwing::plugin::types,
        "waxwing:plugin/host@0.1.0": waxwing_world_plan::waxwing::plugin::host,
    },
});
