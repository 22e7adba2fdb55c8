//! Octets as text.

use std::fmt::Write as _;

/// Two lower-case digits for each octet.
#[must_use]
pub fn hexadecimal(octets: &[u8]) -> String {
    octets.iter().fold(String::with_capacity(2 * octets.len()), |mut text, octet| {
        let _infallible = write!(text, "{octet:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_octet_has_two_digits() {
        assert_eq!(hexadecimal(&[0x00, 0x0a, 0xff]), "000aff");
        assert_eq!(hexadecimal(&[]), "");
    }
}
