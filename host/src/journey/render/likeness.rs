//! What the bodies of one version of a template have in common: one message of it, without anybody's data.
//!
//! It is made when the version is published, of its example or, without one, of its source, and stored; bodies are
//! compressed with it. It goes through the composer, so that transfer encodings and line ends are the same. A later
//! version of the composer makes it less like the messages, not wrong.

use super::template::Parts;
use crate::clock::Timestamp;
use crate::mail::mime::{self, Outgoing};
use crate::message::address::EmailAddress;
use crate::template::version::TemplateSource;

/// As far back as LZ4 looks.
const MAX_BYTES: usize = 64 << 10;

/// Of the version's rendered example.
#[must_use]
pub fn of_example(parts: &Parts) -> Vec<u8> {
    of(&parts.subject, parts.text.as_deref(), parts.html.as_deref())
}

/// Of the version's source, markup of the template language included.
#[must_use]
pub fn of_source(source: &TemplateSource) -> Vec<u8> {
    let html = source.html.as_ref().map(|html| match &source.layout {
        Some(layout) => format!("{layout}\n{html}"),
        None => html.clone(),
    });
    of(&source.subject, source.text.as_deref(), html.as_deref())
}

fn of(subject: &str, text: Option<&str>, html: Option<&str>) -> Vec<u8> {
    let Ok(nobody) = "nobody@example.com".parse::<EmailAddress>() else { return Vec::new() };
    let mut message = mime::compose(&Outgoing {
        message_id: "",
        date: Timestamp::from_millis(0),
        from_name: None,
        from: &nobody,
        to: &nobody,
        reply_to: None,
        subject,
        text,
        html,
        attachments: &[],
        headers: &[],
    });
    message.truncate(MAX_BYTES);
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::records::Body;
    use crate::template::version::Dictionary;

    fn packed(parts: &Parts, dictionary: Vec<u8>) -> usize {
        let raw = of_example(parts);
        Body::pack_with(&raw, Some(&Dictionary { id: 1, bytes: dictionary.into() })).bytes().len()
    }

    #[test]
    fn a_message_takes_a_third_of_the_room_with_its_templates_example_or_source() {
        let html = |row: &str| {
            let word = |n: u32| format!("{:08x}", n.wrapping_mul(2_654_435_761));
            let words = |row: u32| (0..6).map(|n| word(6 * row + n)).collect::<Vec<_>>().join(" ");
            let rows = (1..60).map(|n| format!("<p>{}</p>\n<b>{row}</b>\n", words(n)));
            rows.collect::<Vec<_>>().concat()
        };
        let parts = |row: &str| Parts {
            subject: "Your order".to_owned(),
            html: Some(html(row)),
            text: None,
        };
        let source = TemplateSource {
            subject: "Your order".to_owned(),
            html: Some(html("{{ amount }}")),
            ..TemplateSource::default()
        };
        let sent = parts("EUR 12.50");
        let alone = Body::pack(&of_example(&sent)).bytes().len();
        for dictionary in [of_example(&parts("USD 3")), of_source(&source)] {
            let with = packed(&sent, dictionary);
            assert!(with * 3 < alone, "{with} of {alone} bytes");
        }
    }
}
