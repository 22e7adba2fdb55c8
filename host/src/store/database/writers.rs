//! Who else may write while a transaction does.

/// Whom a transaction lets write at the same time. A file has one writer whatever it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Writers {
    /// Nobody: what it reads stays true until it commits.
    Alone,
    /// Those that say the same. `TRANSACTIONS.md` says of each why it may.
    Beside,
}
