//! What stands in DNS and behind it: TXT records, tags of DKIM, DMARC and SPF, MTA-STS, status codes.

use waxwing_mail::mta_sts::{self, StsPolicy};
use waxwing_mail::status::EnhancedCode;

use crate::sdk::slip::slip;
use crate::sdk::tags::Tags;
use crate::sdk::text::{same_host, shown, unquoted};

pub fn check(input: &[u8]) {
    if let Ok(policy) = StsPolicy::parse(input) {
        assert!(!policy.allows(""), "nothing is no host");
        assert!(!policy.allows(".") && !policy.allows("*.example.com"));
    }
    let records: Vec<&[u8]> = input.split(|it| *it == b'\n').collect();
    if let Some(id) = mta_sts::record_id(&records) {
        assert!((1..=32).contains(&id.len()) && id.bytes().all(|it| it.is_ascii_alphanumeric()));
    }
    let Ok(text) = str::from_utf8(input) else { return };
    if let Ok(code) = text.parse::<EnhancedCode>() {
        assert_eq!(code.to_string().parse(), Ok(code));
    }
    let _found = EnhancedCode::find(text);
    let line = shown(text);
    assert!(!line.chars().any(char::is_control), "{line:?}");
    let plain = unquoted(text);
    match Tags::parse(&plain) {
        Ok(tags) => {
            if let Some((name, value)) = tags.first() {
                assert_eq!(tags.value(name), Some(value), "the first of a name counts");
            }
        }
        Err(fault) => assert!(!fault.sentence().is_empty()),
    }
    slip(&plain, |it| it.starts_with("v=spf1"));
    assert!(same_host(text, text));
}
