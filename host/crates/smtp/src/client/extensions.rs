//! What a server offers in its reply to EHLO (RFC 5321 section 4.1.1.1).

use super::reader::ReplyLines;

/// A server's extensions, as far as they matter here.
#[expect(clippy::struct_excessive_bools, reason = "each is a keyword that is there or is not")]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extensions {
    /// PIPELINING (RFC 2920).
    pub pipelining: bool,
    /// 8BITMIME (RFC 6152).
    pub eight_bit_mime: bool,
    /// SMTPUTF8 (RFC 6531).
    pub smtp_utf8: bool,
    /// ENHANCEDSTATUSCODES (RFC 2034).
    pub enhanced_status_codes: bool,
    /// STARTTLS (RFC 3207).
    pub start_tls: bool,
    /// AUTH PLAIN (RFC 4954).
    pub auth_plain: bool,
    /// AUTH LOGIN.
    pub auth_login: bool,
    /// SIZE (RFC 1870): none where it is not offered, 0 where it is offered without a limit. See [`Self::limit`].
    pub size: Option<u64>,
}

impl Extensions {
    /// The most octets that the server says it takes; none where it names no limit.
    #[must_use]
    pub fn limit(&self) -> Option<u64> {
        self.size.filter(|size| *size > 0)
    }

    /// What the lines after the first one say; what is not understood is not offered.
    #[must_use]
    pub fn parse(lines: &ReplyLines) -> Self {
        let mut extensions = Self::default();
        for line in lines.texts.iter().skip(1) {
            // Old servers write `AUTH=` where the RFC has a space.
            let upper = line.to_ascii_uppercase().replace('=', " ");
            let mut words = upper.split_ascii_whitespace();
            match words.next().unwrap_or_default() {
                "PIPELINING" => extensions.pipelining = true,
                "8BITMIME" => extensions.eight_bit_mime = true,
                "SMTPUTF8" => extensions.smtp_utf8 = true,
                "ENHANCEDSTATUSCODES" => extensions.enhanced_status_codes = true,
                "STARTTLS" => extensions.start_tls = true,
                "SIZE" => {
                    extensions.size = words.next().map_or(Some(0), |limit| limit.parse().ok());
                }
                "AUTH" => {
                    for mechanism in words {
                        extensions.auth_plain |= mechanism == "PLAIN";
                        extensions.auth_login |= mechanism == "LOGIN";
                    }
                }
                _ => {}
            }
        }
        extensions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(lines: &[&str]) -> Extensions {
        let texts = lines.iter().map(|&it| it.to_owned()).collect();
        Extensions::parse(&ReplyLines { code: 250, texts })
    }

    #[test]
    fn keywords_are_read_in_any_case() {
        let extensions = parse(&[
            "mx.example PIPELINING",
            "Size 10240000",
            "VRFY",
            "starttls",
            "AUTH=LOGIN",
            "AUTH CRAM-MD5 PLAIN",
            "8bitmime ",
            "SMTPUTF8",
        ]);
        let expected = Extensions {
            eight_bit_mime: true,
            smtp_utf8: true,
            start_tls: true,
            auth_plain: true,
            auth_login: true,
            size: Some(10_240_000),
            ..Extensions::default()
        };
        assert_eq!(extensions, expected, "and the first line is a greeting");
    }

    #[test]
    fn a_size_without_a_number_is_no_limit() {
        assert_eq!(parse(&["x", "SIZE"]).size, Some(0));
        assert_eq!(parse(&["x", "SIZE 0"]).limit(), None);
        assert_eq!(parse(&["x", "SIZE 99"]).limit(), Some(99));
        assert_eq!(parse(&["x", "SIZE many"]).size, None);
        assert_eq!(parse(&["x", "PIPELINING2", ""]), Extensions::default());
    }
}
