//! What `wit-bindgen` makes of the world `plan-restriction`.
//!
//! A crate of its own, because two worlds that export the same interface cannot be generated into
//! one: their export macros have the same name.

wit_bindgen::generate!({
    path: "../../../wit/v0",
    world: "plan-restriction",
    pub_export_macro: true,
    default_bindings_module: "waxwing_plugin::__export::plan",
    additional_derives: [PartialEq],
});
