//! The header of a message: split without losing an octet, read, and written in ASCII.

use waxwing_mail::encoded_header;
use waxwing_mail::field::{MAX_FIELDS, MAX_HEADER, Message, unfold};
use waxwing_mail::mailbox::mailboxes;

pub fn check(input: &[u8]) {
    let Ok(message) = Message::split(input) else { return };
    let header: Vec<&[u8]> = message.fields.iter().map(|it| it.whole).collect();
    let header = header.concat();
    assert!(header.len() <= MAX_HEADER && message.fields.len() <= MAX_FIELDS);
    assert_eq!([&header, message.tail].concat(), input, "no octet is lost");
    assert!(message.tail.ends_with(message.body));
    for field in &message.fields {
        assert!(!field.name.is_empty() && field.name.bytes().all(|it| it.is_ascii_graphic()));
        assert!(message.named(field.name).any(|it| it.whole == field.whole));
        let line = unfold(field.value);
        // Its outcome is the business of `address`.
        let _list = mailboxes(&field.text());
        let Ok(encoded) = encoded_header::encode(field) else { continue };
        assert!(encoded.is_ascii() && encoded.ends_with(b"\r\n"), "{encoded:?}");
        // What is split again is one field of that name: nothing breaks out of it.
        let is_clean = !line.iter().any(|it| it.is_ascii_control() && *it != b'\t');
        if is_clean {
            let again = Message::split(&encoded).expect("a field");
            assert_eq!(again.fields.len(), 1, "{encoded:?}");
            assert_eq!(again.fields[0].name, field.name);
        }
    }
}
