//! What must hold whatever a stranger sends: one module for each fuzz target, each with a `check` that panics
//! where something does not hold.
//!
//! The parsers stand in crates that bring neither a compiler of plugins nor a database. Two targets take files by
//! path: `json` those of the host's journey, which is no crate, and `dns` those of the SDK, whose bindings take
//! longer to build than all the rest.

pub mod address;
pub mod content;
pub mod dialog;
pub mod dns;
pub mod header;
pub mod json;
pub mod liquid;
pub mod reply;
pub mod report;
pub mod seven_bit;

#[expect(dead_code, reason = "the rest of these files is for plugins")]
#[path = "../../../plugin-sdk/src/dns"]
mod sdk {
    pub mod slip;
    pub mod tags;
    pub mod text;
}

#[path = "../../src/journey/accept"]
mod accept {
    pub mod json;

    /// What the parser needs of the journey's refusals, which bring half of the host along.
    pub mod refusal {
        #[derive(Debug)]
        pub struct Fault {
            pub field: String,
            pub code: String,
            pub message: String,
        }

        impl Fault {
            pub fn new(field: &str, code: &str, message: impl Into<String>) -> Self {
                let (field, code) = (field.to_owned(), code.to_owned());
                Self { field, code, message: message.into() }
            }
        }
    }
}
