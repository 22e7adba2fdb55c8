//! The data of the HTML templates. askama escapes every value; nothing is marked as safe.

use askama::Template;

use super::content::{Attachment, Content};
use super::links;
use crate::clock::Timestamp;
use crate::inbox::store::MailId;
use crate::inbox::store::{Page, StoredMessage, Summary};
use crate::message::line::printable;

/// Which messages a list shows.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListFilter<'a> {
    pub limit: u16,
    pub after: Option<MailId>,
    pub to: Option<&'a str>,
}

impl Default for ListFilter<'_> {
    fn default() -> Self {
        Self { limit: 50, after: None, to: None }
    }
}

/// Of a longer source only the beginning is put into the page; the raw link has the rest.
const SHOWN_SOURCE: usize = 256 * 1_024;

#[derive(Debug, Template)]
#[template(path = "inbox.html")]
pub struct List<'a> {
    rows: Vec<Row>,
    kept: i64,
    to: Option<&'a str>,
    newest: Option<String>,
    older: Option<String>,
    host: &'a str,
}

#[derive(Debug)]
struct Row {
    mail: Summary,
    age: String,
    all_to: String,
}

#[derive(Debug, Template)]
#[template(path = "inbox_message.html")]
pub struct Message<'a> {
    mail: Summary,
    return_path: &'a str,
    content: &'a Content,
    files: Vec<File<'a>>,
    links: Vec<String>,
    source: String,
    is_source_cut: bool,
    size: String,
    date: String,
}

#[derive(Debug)]
struct File<'a> {
    about: &'a Attachment,
    number: usize,
    size: String,
}

impl<'a> List<'a> {
    /// The list as of `now`, for a browser that reached the inbox at `host`.
    pub fn new(
        page: Page,
        kept: i64,
        wanted: ListFilter<'a>,
        host: &'a str,
        now: Timestamp,
    ) -> Self {
        let to = wanted.to;
        let last = page.rows.last().map(|row| row.id).filter(|_| page.has_more);
        let newest = wanted.after.map(|_| link(ListFilter { after: None, ..wanted }));
        let older = last.map(|last| link(ListFilter { after: Some(last), ..wanted }));
        let rows = page.rows.into_iter().map(|mail| Row::new(mail, now)).collect();
        Self { rows, kept, to, newest, older, host }
    }
}

impl Row {
    fn new(mail: Summary, now: Timestamp) -> Self {
        let all_to = link(ListFilter { to: Some(&mail.to), ..ListFilter::default() });
        Self { age: age(mail.received_at, now), all_to, mail: shown(mail) }
    }
}

impl<'a> Message<'a> {
    /// A message and what is inside it.
    pub fn new(stored: &'a StoredMessage, content: &'a Content) -> Self {
        let source = stored.raw.get(..SHOWN_SOURCE).unwrap_or(&stored.raw);
        let files = content.attachments.iter().enumerate();
        Self {
            mail: shown(stored.summary.clone()),
            return_path: &stored.return_path,
            content,
            files: files
                .map(|(number, about)| File { about, number, size: size(about.size) })
                .collect(),
            links: links::of(content),
            source: String::from_utf8_lossy(source).into_owned(),
            is_source_cut: source.len() < stored.raw.len(),
            size: size(stored.raw.len()),
            date: stored.summary.received_at.rfc5322(),
        }
    }
}

/// A stranger may have written the subject and the name.
fn shown(mail: Summary) -> Summary {
    Summary { subject: printable(&mail.subject), from_name: printable(&mail.from_name), ..mail }
}

/// The address of a list.
fn link(wanted: ListFilter<'_>) -> String {
    let mut query = Vec::new();
    if let Some(to) = wanted.to {
        query.push(format!("to={}", percent_encoded(to)));
    }
    if wanted.limit != ListFilter::default().limit {
        query.push(format!("limit={}", wanted.limit));
    }
    if let Some(after) = wanted.after {
        query.push(format!("after={after}"));
    }
    if query.is_empty() { "/inbox".to_owned() } else { format!("/inbox?{}", query.join("&")) }
}

/// RFC 3986: everything but the unreserved characters is encoded.
pub fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            encoded.extend(format!("{byte:02X}").chars());
        }
    }
    encoded
}

/// How long ago, in the largest unit that fits; the date once a week has passed.
fn age(then: Timestamp, now: Timestamp) -> String {
    match then.until(now).as_secs() {
        0..5 => "just now".to_owned(),
        seconds @ 5..60 => format!("{seconds} s ago"),
        seconds @ 60..3_600 => format!("{} min ago", seconds / 60),
        seconds @ 3_600..86_400 => format!("{} h ago", seconds / 3_600),
        seconds @ 86_400..604_800 => format!("{} d ago", seconds / 86_400),
        _ => then.rfc3339().chars().take(10).collect(),
    }
}

fn size(bytes: usize) -> String {
    const KIB: usize = 1_024;
    const MIB: usize = KIB * KIB;
    match bytes {
        0..KIB => format!("{bytes} B"),
        KIB..MIB => format!("{} KiB", bytes / KIB),
        _ => format!("{}.{} MiB", bytes / MIB, bytes % MIB * 10 / MIB),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::inbox::store::MailId;

    #[test]
    fn ages_and_sizes_read_well() {
        let then = Timestamp::parse_rfc3339("2026-11-21T10:00:00Z").expect("valid");
        for (seconds, text) in [
            (0, "just now"),
            (59, "59 s ago"),
            (60, "1 min ago"),
            (7_300, "2 h ago"),
            (90_000, "1 d ago"),
            (700_000, "2026-11-21"),
        ] {
            assert_eq!(age(then, then.after(Duration::from_secs(seconds))), text);
        }
        for (bytes, text) in [(999, "999 B"), (2_048, "2 KiB"), (1_600_000, "1.5 MiB")] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn a_link_keeps_the_filter() {
        let after = "in_7".parse::<MailId>().ok();
        let wanted = ListFilter { limit: 10, after, to: Some("a+b@example.com") };
        assert_eq!(link(wanted), "/inbox?to=a%2Bb%40example.com&limit=10&after=in_7");
        assert_eq!(link(ListFilter::default()), "/inbox");
    }
}
