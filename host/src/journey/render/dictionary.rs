//! What the bodies of one version of a template have in common: one message of it, without anybody's data.
//!
//! It is made when the version is published, of its example or, without one, of its source, and stored; bodies are
//! compressed with it. It goes through the composer, so that transfer encodings and line ends are the same. A later
//! version of the composer makes it less like the messages, not wrong.

use super::template::Parts;
use crate::clock::Timestamp;
use crate::mail::mime::{self, Outgoing};
use crate::message::address::EmailAddress;
use crate::template::source::TemplateSource;
use crate::template::version::Blocks;

/// LZ4 looks back 64 KiB: with more than half of it a dictionary would soon be too far away from what is like it.
const MAX_BYTES: usize = 32 << 10;
/// Makes the composer choose quoted-printable, as nearly all messages have a name or a currency sign that is not ASCII. In
/// 7bit the dictionary would lack every `=3D` of an attribute, and the line breaks.
const NOT_ASCII: char = '\u{e9}';

/// Of the version's rendered example.
#[must_use]
pub fn of_example(parts: &Parts) -> Vec<u8> {
    of(&parts.subject, parts.text.as_deref(), parts.html.as_deref())
}

/// Of the version's source, markup of the template language included.
#[must_use]
pub fn of_source(source: &TemplateSource, blocks: &Blocks) -> Vec<u8> {
    let layout = blocks.layout.as_ref().and_then(|it| it.source.html.as_ref());
    let html = source.html.as_ref().map(|html| match layout {
        Some(layout) => format!("{layout}\n{html}"),
        None => html.clone(),
    });
    let [text, html] =
        [source.text.as_ref(), html.as_ref()].map(|it| it.map(|it| format!("{it}\n{NOT_ASCII}")));
    of(&source.subject, text.as_deref(), html.as_deref())
}

fn of(subject: &str, text: Option<&str>, html: Option<&str>) -> Vec<u8> {
    let mut message = compose(subject, text, html);
    message.truncate(MAX_BYTES);
    message
}

fn compose(subject: &str, text: Option<&str>, html: Option<&str>) -> Vec<u8> {
    let Ok(nobody) = "nobody@example.com".parse::<EmailAddress>() else { return Vec::new() };
    mime::compose(&Outgoing {
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
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::records::Body;
    use crate::template::version::Dictionary;

    fn message(parts: &Parts) -> Vec<u8> {
        compose(&parts.subject, None, parts.html.as_deref())
    }

    fn packed(parts: &Parts, dictionary: Vec<u8>) -> usize {
        let raw = message(parts);
        Body::pack_with(&raw, Some(&Dictionary { id: 1, bytes: dictionary.into() })).bytes().len()
    }

    /// A word that occurs once.
    fn word(n: u32) -> String {
        format!("{:08x}", n.wrapping_mul(2_654_435_761))
    }

    /// Rows with words that occur once, and with what differs between messages.
    fn html(rows: u32, differs: &str) -> String {
        let words = |row: u32| (0..6).map(|n| word(6 * row + n)).collect::<Vec<_>>().join(" ");
        let rows = (0..rows).map(|n| format!("<p>{}</p>\n<b>{differs}</b>\n", words(n)));
        rows.collect::<Vec<_>>().concat()
    }

    fn parts(rows: u32, differs: &str) -> Parts {
        Parts {
            subject: "Your order".to_owned(),
            html: Some(html(rows, differs)),
            ..Parts::default()
        }
    }

    fn alone(parts: &Parts) -> usize {
        Body::pack(&message(parts)).bytes().len()
    }

    #[test]
    fn with_its_templates_example_a_message_takes_a_third_of_the_room() {
        let source = TemplateSource {
            subject: "Your order".to_owned(),
            html: Some(html(60, "{{ amount }}")),
            ..TemplateSource::default()
        };
        let sent = parts(60, "EUR 12.50");
        for dictionary in [of_example(&parts(60, "USD 3")), of_source(&source, &Blocks::default())]
        {
            let (with, alone) = (packed(&sent, dictionary), alone(&sent));
            assert!(with * 3 < alone, "{with} of {alone} bytes");
        }
    }

    #[test]
    fn without_an_example_a_dictionary_is_encoded_as_most_messages_are() {
        let links = |value: &str| {
            let link = |n: u32| {
                format!("<a class=\"{}\" id=\"{}\">{value}</a>\n", word(2 * n), word(2 * n + 1))
            };
            (0..80).map(link).collect::<Vec<_>>().concat()
        };
        let source =
            TemplateSource { html: Some(links("{{ total }}")), ..TemplateSource::default() };
        let sent = Parts { html: Some(links("£12.50")), ..Parts::default() };
        let with = packed(&sent, of_source(&source, &Blocks::default()));
        let in_seven_bits = packed(&sent, of("", None, source.html.as_deref()));
        assert!(with * 3 < in_seven_bits * 2, "{with} and {in_seven_bits} bytes");
    }

    #[test]
    fn a_message_longer_than_lz4_looks_back_gains_what_the_dictionary_has() {
        let sent = parts(1_500, "EUR 12.50");
        assert!(message(&sent).len() > 100 << 10);
        let dictionary = of_example(&parts(1_500, "EUR 3"));
        assert_eq!(dictionary.len(), MAX_BYTES);
        let (with, alone) = (packed(&sent, dictionary), alone(&sent));
        assert!(alone - with > MAX_BYTES / 2, "{with} of {alone} bytes");
    }
}
