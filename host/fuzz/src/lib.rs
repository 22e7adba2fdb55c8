//! What must hold whatever a stranger sends: one module for each fuzz target, each with a `check` that panics
//! where something does not hold.
//!
//! The parsers stand in crates that bring neither a compiler of plugins nor a database. Three targets take files by
//! path: `json` and `bounce_dialog` those of the host, which are no crates, and `dns` those of the SDK, whose bindings
//! take longer to build than all the rest.

pub mod address;
pub mod bounce_dialog;
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

mod message {
    pub use waxwing_mail::address;
}

#[path = "../../src/relay"]
mod relay {
    pub mod bounces {
        #[expect(dead_code, reason = "the rest is for the driver of a real session")]
        pub mod dialog;

        use crate::message::address::EmailAddress;

        /// In place of the host's, which reads signed return paths.
        #[derive(Debug)]
        pub struct Addresses;

        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Recipient {
            ReturnPath(char),
            Feedback,
            Postmaster,
        }

        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct Mail {
            pub sender: Option<EmailAddress>,
            pub recipients: Vec<Recipient>,
            pub data: Vec<u8>,
        }

        impl Addresses {
            pub fn recipient(&self, address: &EmailAddress) -> Option<Recipient> {
                match address.local() {
                    "fbl" => Some(Recipient::Feedback),
                    "postmaster" => Some(Recipient::Postmaster),
                    local => {
                        local.strip_prefix("bounce+")?.chars().next().map(Recipient::ReturnPath)
                    }
                }
            }
        }
    }
}
