//! Where a message goes: the operator's routes, and the mail exchangers of a domain.

pub mod mx;
pub mod route;
