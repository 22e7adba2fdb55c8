//! Parsers and writers of e-mail formats: addresses, header fields, status codes, reports, MTA-STS policies.
//!
//! Pure: bytes in, values or bytes out. Nothing here knows the time, a key, an account or the network, so that a
//! fuzz target builds without the server.

pub mod address;
pub mod domain_name;
pub mod status;

pub mod encoded_header;
pub mod field;
pub mod line;
pub mod mailbox;
pub mod mta_sts;
pub mod report;
pub mod sandbox_path;
pub mod seven_bit;
