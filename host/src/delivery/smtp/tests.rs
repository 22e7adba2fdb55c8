//! Sessions with a peer that plays a script: what it says, and what it must hear.

mod hostile;
mod login;
mod open;
mod peer;
mod refusals;
mod security;
mod send;

use std::time::Duration;

use super::*;
use peer::Peer;

const MESSAGE: &[u8] = b"Subject: x\r\n\r\nhello\r\n";

const HELLO: &str = "
    S: 220 mx.example ready
    C: EHLO out.example
    S: 250-mx.example
    S: 250-SIZE 1000
    S: 250 8BITMIME
";

const PIPELINING: &str = "
    S: 220 mx.example ready
    C: EHLO out.example
    S: 250-mx.example
    S: 250 PIPELINING
";

const AT_ONCE: &str = "
    C: MAIL FROM:<a@shop.example>
    C: RCPT TO:<b@example.com>
    C: DATA
";

fn address(text: &str) -> EmailAddress {
    text.parse().expect("an address")
}

/// Sends [`MESSAGE`] from `a@shop.example` to `b@example.com`.
async fn send(session: &mut Session) -> Result<Reply, Refused> {
    send_that(session, MESSAGE).await
}

async fn send_that(session: &mut Session, message: &[u8]) -> Result<Reply, Refused> {
    let (sender, recipient) = (address("a@shop.example"), address("b@example.com"));
    let envelope =
        Envelope { sender: Some(&sender), recipient: &recipient, eight_bit: false, utf8: false };
    session.send(&envelope, message).await
}

/// Time-outs for peers that are to miss them.
fn impatient() -> Timeouts {
    let short = Duration::from_secs(1);
    Timeouts {
        connect: Duration::from_secs(10),
        greeting: short,
        command: short,
        data_block: short,
        content: short,
        end_of_data: short,
    }
}

/// A script without the margin of its lines.
fn dialog(parts: &[&str]) -> String {
    let lines = parts.iter().flat_map(|part| part.lines()).map(str::trim_start);
    lines.filter(|line| !line.is_empty()).flat_map(|line| [line, "\n"]).collect()
}
