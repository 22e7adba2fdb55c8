//! The fields of a certificate that the TLS library reads and does not give away: from when until when it is valid (RFC
//! 5280 section 4.1.2.5), and what names it to its CA (RFC 9773 section 4.1).

use time::PrimitiveDateTime;
use time::macros::format_description;

use crate::clock::Timestamp;

const BOOLEAN: u8 = 0x01;
const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
const OBJECT_IDENTIFIER: u8 = 0x06;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;
const KEY_IDENTIFIER: u8 = 0x80;
/// 2.5.29.35 (RFC 5280 section 4.2.1.1).
const AUTHORITY_KEY_IDENTIFIER: [u8; 3] = [0x55, 0x1d, 0x23];

/// What is read of a certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fields<'a> {
    pub not_before: Timestamp,
    pub not_after: Timestamp,
    /// The bytes of its DER integer.
    pub serial_number: &'a [u8],
    pub authority_key_identifier: Option<&'a [u8]>,
}

/// The end of a certificate in DER; none where it is not a certificate.
pub(super) fn not_after(der: &[u8]) -> Option<Timestamp> {
    fields(der).map(|it| it.not_after)
}

/// The fields of a certificate in DER; none where it is not a certificate.
pub(super) fn fields(der: &[u8]) -> Option<Fields<'_>> {
    let mut certificate = Elements(Elements(der).expect(SEQUENCE)?);
    let mut signed = Elements(certificate.expect(SEQUENCE)?);
    if signed.0.first() == Some(&VERSION) {
        signed.expect(VERSION)?;
    }
    let serial_number = signed.expect(INTEGER)?;
    let _signature = signed.expect(SEQUENCE)?;
    let _issuer = signed.expect(SEQUENCE)?;
    let mut validity = Elements(signed.expect(SEQUENCE)?);
    let [not_before, not_after] = [validity.next()?, validity.next()?].map(moment);
    let _subject = signed.expect(SEQUENCE)?;
    let _public_key = signed.expect(SEQUENCE)?;
    Some(Fields {
        not_before: not_before?,
        not_after: not_after?,
        serial_number,
        authority_key_identifier: authority_key_identifier(signed),
    })
}

/// That of the extensions, which are last in the signed part.
fn authority_key_identifier(mut signed: Elements<'_>) -> Option<&[u8]> {
    let extensions = loop {
        let (tag, content) = signed.next()?;
        if tag == EXTENSIONS {
            break content;
        }
    };
    let mut extensions = Elements(Elements(extensions).expect(SEQUENCE)?);
    while let Some(extension) = extensions.expect(SEQUENCE) {
        let mut parts = Elements(extension);
        if parts.expect(OBJECT_IDENTIFIER)? != AUTHORITY_KEY_IDENTIFIER {
            continue;
        }
        let (mut tag, mut value) = parts.next()?;
        if tag == BOOLEAN {
            (tag, value) = parts.next()?;
        }
        let value = Some(value).filter(|_| tag == OCTET_STRING)?;
        return Elements(Elements(value).expect(SEQUENCE)?).expect(KEY_IDENTIFIER);
    }
    None
}

fn moment((tag, text): (u8, &[u8])) -> Option<Timestamp> {
    let text = std::str::from_utf8(text).ok()?;
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

    /// The example of RFC 9773, appendix A.
    const EXAMPLE: &str = "-----BEGIN CERTIFICATE-----
MIIBQzCB66ADAgECAgUAh2VDITAKBggqhkjOPQQDAjAVMRMwEQYDVQQDEwpFeGFt
cGxlIENBMCIYDzAwMDEwMTAxMDAwMDAwWhgPMDAwMTAxMDEwMDAwMDBaMBYxFDAS
BgNVBAMTC2V4YW1wbGUuY29tMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEeBZu
7cbpAYNXZLbbh8rNIzuOoqOOtmxA1v7cRm//AwyMwWxyHz4zfwmBhcSrf47NUAFf
qzLQ2PPQxdTXREYEnKMjMCEwHwYDVR0jBBgwFoAUaYhba4dGQEHhs3uEe6CuLN4B
yNQwCgYIKoZIzj0EAwIDRwAwRAIge09+S5TZAlw5tgtiVvuERV6cT4mfutXIlwTb
+FYN/8oCIClDsqBklhB9KAelFiYt9+6FDj3z4KGVelYM5MdsO3pK
-----END CERTIFICATE-----
";

    #[test]
    fn what_names_a_certificate_to_its_ca_is_read() {
        use rustls::pki_types::CertificateDer;
        use rustls::pki_types::pem::PemObject as _;

        let der = CertificateDer::from_pem_slice(EXAMPLE.as_bytes()).expect("a certificate");
        let fields = fields(&der).expect("its fields");
        assert_eq!(fields.serial_number, [0x00, 0x87, 0x65, 0x43, 0x21]);
        let identifier = [
            0x69, 0x88, 0x5b, 0x6b, 0x87, 0x46, 0x40, 0x41, 0xe1, 0xb3, 0x7b, 0x84, 0x7b, 0xa0,
            0xae, 0x2c, 0xde, 0x01, 0xc8, 0xd4,
        ];
        assert_eq!(fields.authority_key_identifier, Some(&identifier[..]));
        let own = certificate_until(2031);
        let own = super::fields(&own).expect("its fields");
        assert_eq!(own.authority_key_identifier, None);
        assert!(own.not_before < own.not_after);
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
