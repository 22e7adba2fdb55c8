//! Which header fields a signature covers (RFC 6376 section 5.4).
//!
//! Every name is listed once more than there are fields of it (oversigned), so none can be added (section 8.15).
//! Fields that servers add, change or take out on the way are never covered: Received, Return-Path,
//! Bcc, Authentication-Results, Resent-…, and other signatures.

use std::collections::HashMap;

use super::super::field::Field;

/// What readers show, and what decides how the body is read: covered also where there is none.
const ALWAYS_OVERSIGNED: [&str; 14] = [
    "from",
    "sender",
    "reply-to",
    "to",
    "cc",
    "subject",
    "date",
    "message-id",
    "in-reply-to",
    "references",
    "mime-version",
    "content-type",
    "content-transfer-encoding",
    "content-disposition",
];

/// Covered where there are some. Without them, a mailing list may add its own; readers want the
/// one-click fields (RFC 8058), the sender's identifier for complaints and the selector of a brand's
/// logo only from under a signature.
const OVERSIGNED_IF_PRESENT: [&str; 17] = [
    "content-id",
    "content-description",
    "content-language",
    "content-location",
    "content-base",
    "list-id",
    "list-unsubscribe",
    "list-unsubscribe-post",
    "list-help",
    "list-subscribe",
    "list-post",
    "list-owner",
    "list-archive",
    "auto-submitted",
    "disposition-notification-to",
    "feedback-id",
    "bimi-selector",
];

/// The names for the `h=` of a signature, in lower case.
pub(super) fn headers_to_sign(fields: &[Field<'_>]) -> Vec<&'static str> {
    let count = |name: &str| fields.iter().filter(|field| field.is(name)).count();
    let always = ALWAYS_OVERSIGNED.into_iter().map(|name| (name, count(name)));
    let present = OVERSIGNED_IF_PRESENT.into_iter().map(|name| (name, count(name)));
    always
        .chain(present.filter(|(_, count)| *count > 0))
        .flat_map(|(name, count)| std::iter::repeat_n(name, count + 1))
        .collect()
}

/// The fields that a list of names means: the first of a name is the lowest field, and so on up.
pub(super) fn fields_for_names<'a>(
    fields: &[Field<'a>],
    headers_to_sign: &[&str],
) -> Vec<Field<'a>> {
    let mut left = HashMap::new();
    headers_to_sign
        .iter()
        .filter_map(|name| {
            let upwards = || fields.iter().rev().filter(|field| field.is(name));
            left.entry(*name).or_insert_with(upwards).next().copied()
        })
        .collect()
}
