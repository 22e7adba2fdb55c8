//! Sizes, times and lists in the words of findings.

use std::time::Duration;

use crate::dns::Outcome;

/// Characters of what others say (a greeting, a record of a block list) that a finding quotes.
const MAX_QUOTED_CHARS: usize = 160;

/// As in `5.0 MiB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let (mut tenths, mut unit) = (bytes.saturating_mul(10) / 1_024, 0);
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1_024;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS.get(unit).unwrap_or(&""))
}

/// As in `4 min`, in the largest unit.
pub fn span(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7_200 => format!("{} min", seconds / 60),
        seconds @ 7_200..172_800 => format!("{} h", seconds / 3_600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

/// What somebody else said: on one line, without control characters, and not too long.
pub fn quoted(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().next().unwrap_or_default();
    let visible = line.chars().filter(|it| !it.is_control());
    visible.take(MAX_QUOTED_CHARS).collect::<String>().trim().to_owned()
}

/// Why nothing is known of a name, where nothing is.
pub fn unseen(outcome: &Outcome) -> Option<&'static str> {
    match outcome {
        Outcome::Answers(_) | Outcome::NoData | Outcome::NxDomain => None,
        Outcome::ServFail => Some("the name servers cannot resolve it"),
        Outcome::Refused => Some("the name servers refuse to answer"),
        Outcome::TimedOut => Some("the name servers do not answer in time"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_said_in_units() {
        assert_eq!(size(512), "0.5 KiB");
        assert_eq!(size(5 << 20), "5.0 MiB");
        assert_eq!(size(3 << 40), "3.0 TiB");
        for (seconds, said) in [(90, "90 s"), (240, "4 min"), (7_200, "2 h"), (864_000, "10 days")]
        {
            assert_eq!(span(Duration::from_secs(seconds)), said);
        }
    }

    #[test]
    fn what_others_say_is_one_short_line() {
        assert_eq!(quoted(b"220 mx\x1b[31m ready\r\nmore"), "220 mx[31m ready");
        assert_eq!(quoted(&[b'a'; 1_000]).len(), MAX_QUOTED_CHARS);
    }
}
