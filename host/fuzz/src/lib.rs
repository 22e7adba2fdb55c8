//! The relay's protocol without the rest of the host: the same files, in a package of their own.
//!
//! The host as a whole brings a compiler of plugins and a database; building them with a sanitizer
//! takes most of an hour, and the protocol needs neither.

#[path = "../../src/account"]
pub mod account {
    pub mod brand;
}

#[path = "../../src/clock.rs"]
pub mod clock;
#[path = "../../src/credit.rs"]
pub mod credit;
#[path = "../../src/id.rs"]
pub mod id;

#[path = "../../src/domain"]
pub mod domain {
    pub mod name;
}

#[path = "../../src/message"]
pub mod message {
    pub mod address;
}

#[path = "../../src/journey"]
pub mod journey {
    pub mod accept {
        pub mod refusal;
    }
}

#[path = "../../src/template"]
pub mod template {
    pub mod slug;
    pub mod version;
}

#[path = "../../src/relay/dialog/exercise.rs"]
pub mod exercise;

#[path = "../../src/relay"]
pub mod relay {
    pub mod dialog;
    pub mod reply;

    mod command;
    mod data;
    mod envelope;
    mod line;
    mod sasl;
}
