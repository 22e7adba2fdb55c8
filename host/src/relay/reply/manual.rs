//! The manual of the replies, `REPLIES.md`, made from their list.

use waxwing_smtp::server::reply::{Reply, Topic};

const PREFACE: &str = "\
<!-- Made from crates/smtp/src/server/reply/list.rs; a test compares the two and says how to write this file anew. -->

# What the relay answers

For whoever has a printer, a shop or a script that cannot send. Find the three-digit code and the
number with dots in the program's log or on its display, e.g. `535 5.7.8`, then read its row; where
several rows have the same numbers, the words tell them apart.

- A code that begins with **4** means *not now*: the message is not lost, a program with a queue sends
  it again by itself. One that begins with **5** means *not like this*: something must be changed first.
- The word in capitals is the same one that the HTTP API gives as its `code`.
- The settings that work: the server's name; port 587 (here often 2587) with STARTTLS, or port 465
  (2465) with SSL/TLS; authentication *normal password* (PLAIN or LOGIN); the API key as user name **and**
  as password; a sender address on a verified domain.
";

const CHAPTERS: [(Topic, &str, &str); 8] = [
    (Topic::Login, "Logging in", ""),
    (Topic::Message, "The message is refused", "Nothing is charged for a message that is refused."),
    (Topic::Envelope, "Addresses and size", ""),
    (Topic::Outage, "The server cannot take it now", ""),
    (Topic::Session, "The session is ended", "The server says this and closes the connection."),
    (Topic::Protocol, "The program does not speak SMTP as it should", ""),
    (
        Topic::Report,
        "Reports come back",
        "Said by the listener for reports (`[bounces] listen`) only.",
    ),
    (Topic::Success, "Nothing is wrong", ""),
];

const HEAD: &str = "| code | example | said at | cause | what to do |\n|---|---|---|---|---|\n";

pub fn manual() -> String {
    let chapters = CHAPTERS.map(|(topic, title, note)| {
        let note = if note.is_empty() { String::new() } else { format!("{note}\n\n") };
        let rows: Vec<String> =
            Reply::ALL.iter().filter(|it| it.topic() == topic).map(|it| row(*it)).collect();
        format!("\n## {title}\n\n{note}{HEAD}{}", rows.concat())
    });
    format!("{PREFACE}{}", chapters.concat())
}

fn row(reply: Reply) -> String {
    let code = match reply.enhanced() {
        Some(enhanced) => format!("{} {enhanced}", reply.code()),
        None => reply.code().to_string(),
    };
    format!(
        "| `{code}` | `{}` | {} | {} | {} |\n",
        reply.text(),
        reply.when(),
        reply.cause(),
        reply.remedy(),
    )
}
