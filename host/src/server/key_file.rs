//! The content of `master.key`: 32 bytes from the first start on; lines from the first rotation on, the newest key first, so that
//! what was sealed before still opens.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::clock::Timestamp;
use crate::id::fill_random;

/// Each value that does not open with the newest key is tried with all of them.
pub const MAX_MASTER_KEYS: usize = 8;

const HEADING: &str = "waxwing master keys 1";
/// A file that was cut would be one with fewer keys.
const END: &str = "end";
/// In the place of a time, for the key of the first start.
const FIRST: &str = "first";

#[derive(Clone, PartialEq, Eq)]
pub struct MasterKey {
    pub bytes: [u8; 32],
    /// Since when it seals; none for the key of the first start.
    pub since: Option<Timestamp>,
}

impl MasterKey {
    #[must_use]
    pub fn random(since: Option<Timestamp>) -> Self {
        let mut bytes = [0; 32];
        fill_random(&mut bytes);
        Self { bytes, since }
    }
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MasterKey")
    }
}

/// The keys in the content of a file, the newest first and never none; none where the content is not what a server has
/// written.
#[must_use]
pub fn read(content: &[u8]) -> Option<Vec<MasterKey>> {
    if let Ok(bytes) = content.try_into() {
        return Some(vec![MasterKey { bytes, since: None }]);
    }
    let text = std::str::from_utf8(content).ok()?;
    let mut lines = text.lines();
    if lines.next() != Some(HEADING) || lines.next_back() != Some(END) {
        return None;
    }
    let keys: Vec<MasterKey> = lines.map(key).collect::<Option<_>>()?;
    (1..=MAX_MASTER_KEYS).contains(&keys.len()).then_some(keys)
}

fn key(line: &str) -> Option<MasterKey> {
    let (bytes, since) = line.split_once(' ')?;
    let bytes = STANDARD.decode(bytes).ok()?.try_into().ok()?;
    let since = if since == FIRST { None } else { Some(Timestamp::parse_rfc3339(since)?) };
    Some(MasterKey { bytes, since })
}

/// The content of a file with these keys.
#[must_use]
pub fn written(keys: &[MasterKey]) -> String {
    let lines = keys.iter().map(|key| {
        let since = key.since.map_or_else(|| FIRST.to_owned(), Timestamp::rfc3339);
        format!("{} {since}", STANDARD.encode(key.bytes))
    });
    let lines = std::iter::once(HEADING.to_owned()).chain(lines);
    let lines: Vec<String> = lines.chain(std::iter::once(END.to_owned())).collect();
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_of_a_file_are_read_back_in_their_order() {
        let since = Some(Timestamp::from_millis(1_800_000_000_123));
        let keys = [MasterKey::random(since), MasterKey::random(None)];
        assert_eq!(read(written(&keys).as_bytes()).as_deref(), Some(&keys[..]));
    }

    #[test]
    fn the_file_of_a_first_start_has_one_key() {
        let key = MasterKey { bytes: [7; 32], since: None };
        assert_eq!(read(&[7; 32]), Some(vec![key]));
    }

    #[test]
    fn a_file_that_was_cut_anywhere_is_refused() {
        let keys = [MasterKey::random(None), MasterKey::random(None)];
        let content = written(&keys);
        for length in (0..content.len() - 1).filter(|it| *it != 32) {
            assert_eq!(read(&content.as_bytes()[..length]), None, "{length} bytes");
        }
    }

    #[test]
    fn more_keys_than_a_server_makes_are_refused() {
        let keys = [(); MAX_MASTER_KEYS + 1].map(|()| MasterKey::random(None));
        assert_eq!(read(written(&keys).as_bytes()), None);
    }
}
