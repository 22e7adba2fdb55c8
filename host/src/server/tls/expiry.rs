//! When a certificate ends: `notAfter` (RFC 5280 section 4.1.2.5), the only field that the TLS
//! library reads and does not give away.

use time::PrimitiveDateTime;
use time::macros::format_description;

use crate::clock::Timestamp;

const INTEGER: u8 = 0x02;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;

/// The end of a certificate in DER; none where it is not a certificate.
pub(super) fn not_after(der: &[u8]) -> Option<Timestamp> {
    let mut certificate = Elements(Elements(der).expect(SEQUENCE)?);
    let mut signed = Elements(certificate.expect(SEQUENCE)?);
    if signed.0.first() == Some(&VERSION) {
        signed.expect(VERSION)?;
    }
    let _serial_number = signed.expect(INTEGER)?;
    let _signature = signed.expect(SEQUENCE)?;
    let _issuer = signed.expect(SEQUENCE)?;
    let mut validity = Elements(signed.expect(SEQUENCE)?);
    let _not_before = validity.next()?;
    let (tag, text) = validity.next()?;
    moment(tag, std::str::from_utf8(text).ok()?)
}

fn moment(tag: u8, text: &str) -> Option<Timestamp> {
    let text = match tag {
        GENERALIZED_TIME => text.to_owned(),
        // Two digits of a year, from 1950 to 2049.
        UTC_TIME if text.starts_with(['5', '6', '7', '8', '9']) => format!("19{text}"),
        UTC_TIME => format!("20{text}"),
        _ => return None,
    };
    let form = format_description!("[year][month][day][hour][minute][second]Z");
    let moment = PrimitiveDateTime::parse(&text, form).ok()?.assume_utc();
    Some(Timestamp::from_millis(moment.unix_timestamp() * 1_000))
}

/// What is left of a row of DER elements.
struct Elements<'a>(&'a [u8]);

impl<'a> Elements<'a> {
    fn expect(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.next().filter(|(found, _)| *found == tag).map(|(_, content)| content)
    }

    fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (length, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            // The long form: up to four bytes of length.
            0x81..=0x84 => {
                let (length, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
                (length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)), rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, content))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate_until(year: i32) -> Vec<u8> {
        let mut params = rcgen::CertificateParams::new(["localhost".to_owned()]).expect("a name");
        params.not_after = rcgen::date_time_ymd(year, 3, 9);
        let key = rcgen::KeyPair::generate().expect("a key");
        params.self_signed(&key).expect("a certificate").der().to_vec()
    }

    #[test]
    fn both_forms_of_a_date_are_read() {
        for (year, expected) in [(1999, "1999"), (2031, "2031"), (2049, "2049"), (2050, "2050")] {
            let end = not_after(&certificate_until(year)).expect("an end");
            assert_eq!(end.rfc3339(), format!("{expected}-03-09T00:00:00Z"));
        }
    }

    #[test]
    fn what_is_cut_off_or_garbled_has_no_end() {
        let whole = certificate_until(2031);
        for length in 0..whole.len() {
            assert_eq!(whole.get(..length).and_then(not_after), None, "{length} bytes");
        }
        assert_eq!(not_after(&[SEQUENCE, 0x84, 0xff, 0xff, 0xff, 0xff]), None);
        assert_eq!(not_after(b"-----BEGIN CERTIFICATE-----"), None);
    }
}
