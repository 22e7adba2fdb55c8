//! Addresses: by themselves, in an envelope's path, and in From.

use waxwing_mail::address::EmailAddress;
use waxwing_mail::domain_name::DomainName;
use waxwing_mail::mailbox::mailboxes;
use waxwing_mail::sandbox_path;

pub fn check(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    if let Ok(address) = text.parse::<EmailAddress>() {
        holds(&address);
    }
    if let Ok(name) = text.parse::<DomainName>() {
        assert!(name.as_str().is_ascii() && name.as_str().len() <= 253);
        assert_eq!(name.as_str().parse().as_ref(), Ok(&name), "a canonical name is its own form");
        assert!(name.as_str().ends_with(name.organizational()));
    }
    if let Ok(list) = mailboxes(text) {
        assert!(!list.is_empty());
        for mailbox in list {
            holds(&mailbox.address);
            let name = mailbox.name.unwrap_or_default();
            assert!(!name.chars().any(char::is_control), "{name:?}");
        }
    }
    let _path = sandbox_path::decode(text);
}

fn holds(address: &EmailAddress) {
    let text = address.to_string();
    assert!(text.len() <= 254 && address.local().len() <= 64, "{text:?}");
    assert!(!text.chars().any(char::is_control), "{text:?}");
    assert_eq!(text.parse().as_ref(), Ok(address), "an address reads as it is written");
    assert_eq!(address.needs_smtputf8(), !text.is_ascii());
    assert_eq!(sandbox_path::decode(&sandbox_path::encode(address)), text, "a path comes back");
    assert_eq!(address.folded(), address.folded().to_lowercase());
}
