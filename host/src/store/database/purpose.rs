//! What connections are for.

#[derive(Debug, Clone, Copy)]
pub enum Purpose {
    Work,
    /// Pages of lists. One that takes too long is `StoreError::Busy`, not a database fault.
    Lists,
}
