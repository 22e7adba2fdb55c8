//! Why nothing was recorded.

use std::path::PathBuf;

use crate::dns::ResolverError;
use crate::plugin::Kind;
use crate::plugin::golden_cases::MAX_INPUT_BYTES;
use crate::upkeep::verify_domains::Unjudged;

/// Why nothing was recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Only domain policies get answers of DNS.
    #[error("this is a {found}, and only a domain policy gets answers of DNS")]
    NotADomainPolicy { found: Kind },
    /// A case is not overwritten by the way.
    #[error(
        "{} is there already: name another case with --case, or write it once more with --update",
        path.display()
    )]
    CaseExists { path: PathBuf },
    /// `plugin test` would not read it.
    #[error("what was seen has {bytes} bytes, and an input has at most {MAX_INPUT_BYTES}")]
    TooLarge {
        /// How large it is.
        bytes: usize,
    },
    #[error(transparent)]
    Resolver(#[from] ResolverError),
    /// The policy gave no answer.
    #[error(transparent)]
    Unjudged(#[from] Unjudged),
}
