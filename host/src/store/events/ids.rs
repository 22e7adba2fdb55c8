//! The identifiers of events. They are not stored: an event's time and number, which nobody changes, give it again.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::clock::Timestamp;
use crate::id::EventId;
use crate::store::StoreError;
use crate::store::database::{Row, column};

/// Derives identifiers of events. The number is hidden in them: it would tell each account how much the whole server
/// sends.
#[derive(Clone)]
pub struct EventIds(Hmac<Sha256>);

impl EventIds {
    /// With the salt of a data directory.
    pub fn new(salt: &str) -> Self {
        Self(Hmac::new_from_slice(salt.as_bytes()).expect("HMAC takes keys of any length"))
    }

    /// Of a row with the columns `id`, `sequence` and `created_at`.
    pub fn of(&self, row: &Row) -> Result<EventId, StoreError> {
        Ok(match column(row, "id")? {
            Some(given) => given,
            None => self.derive(
                column(row, "sequence")?,
                Timestamp::from_millis(column(row, "created_at")?),
            ),
        })
    }

    fn derive(&self, sequence: i64, at: Timestamp) -> EventId {
        let mac = self.0.clone().chain_update(sequence.to_be_bytes()).finalize().into_bytes();
        let (bits, _) = mac.split_first_chunk::<16>().expect("32 bytes");
        EventId::derived(at, u128::from_be_bytes(*bits))
    }
}

impl std::fmt::Debug for EventIds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EventIds").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_keeps_the_identifier_that_its_number_and_time_give_it() {
        let (ids, at) = (EventIds::new("salt"), Timestamp::from_millis(1_800_000_000_000));
        let id = ids.derive(7, at);
        // Receivers of webhooks know it: the derivation never changes.
        assert_eq!(id.to_string(), "evt_01MCC5RM00KXJGPB1RA0XH1TC6");
        assert_eq!(EventIds::new("salt").derive(7, at), id);
        assert_ne!(EventIds::new("pepper").derive(7, at), id);
        assert_ne!(ids.derive(8, at), id);
        assert_ne!(ids.derive(7, Timestamp::from_millis(1_800_000_000_001)), id);
    }
}
