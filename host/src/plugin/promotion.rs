//! What a component passes before it answers calls: validation, golden cases, the impact on recorded
//! calls, and the shadow of the active version.

pub mod builtin;
pub mod builtin_cases;
pub mod comparison;
pub mod error;
pub mod evidence;
pub mod golden_cases;
pub mod impact;
pub mod installed;
pub mod measure;
pub mod shadow;
pub mod stateless;
pub mod validation;
