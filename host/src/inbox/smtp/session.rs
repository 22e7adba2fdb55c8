//! One client of the sandbox inbox, from MAIL to the end of DATA. Nothing here may panic: each
//! panic would cost the server one of its threads.

use std::io;
use std::mem;
use std::net::IpAddr;

use mailin_embedded::response::OK;
use mailin_embedded::{Handler, Response};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::clock::Clock;
use crate::inbox::InboxError;
use crate::inbox::archive::{Archive, Arrival};
use crate::mail::path;

const MAX_MESSAGE: usize = 32 * 1_024 * 1_024;
const MAX_RECIPIENTS: usize = 100;

/// What a client has said so far.
#[derive(Debug, Clone)]
pub struct Session {
    archive: Archive,
    clock: Clock,
    runtime: Handle,
    return_path: String,
    recipients: Vec<String>,
    body: Body,
}

#[derive(Debug, Clone)]
enum Body {
    Fits(Vec<u8>),
    TooLarge,
}

impl Session {
    /// A session that has not begun; mailin clones it for each client.
    pub fn new(archive: Archive, clock: Clock, runtime: Handle) -> Self {
        let (return_path, recipients) = (String::new(), Vec::new());
        Self { archive, clock, runtime, return_path, recipients, body: Body::Fits(Vec::new()) }
    }

    /// Waits for the archive without entering its runtime, which panics once that has shut down.
    fn store(&mut self, raw: Vec<u8>) -> Option<Result<(), InboxError>> {
        let arrival = Arrival {
            recipients: mem::take(&mut self.recipients),
            return_path: mem::take(&mut self.return_path),
            raw,
            received_at: self.clock.now(),
        };
        let archive = self.archive.clone();
        let (answer, stored) = oneshot::channel();
        self.runtime.spawn(async move {
            // The receiver waits below until it is answered or this task is gone.
            answer.send(archive.insert(&arrival).await).ok();
        });
        stored.blocking_recv().ok()
    }
}

impl Handler for Session {
    fn mail(&mut self, _ip: IpAddr, _domain: &str, _from: &str) -> Response {
        self.recipients.clear();
        OK
    }

    fn rcpt(&mut self, to: &str) -> Response {
        if self.recipients.len() >= MAX_RECIPIENTS {
            return Response::custom(452, "4.5.3 Too many recipients".to_owned());
        }
        self.recipients.push(path::decode(to));
        OK
    }

    fn data_start(&mut self, _domain: &str, from: &str, _8bit: bool, _to: &[String]) -> Response {
        self.return_path = path::decode(from);
        self.body = Body::Fits(Vec::new());
        OK
    }

    /// Never fails: mailin would answer each failed line with a reply of its own.
    fn data(&mut self, line: &[u8]) -> io::Result<()> {
        if let Body::Fits(raw) = &mut self.body {
            if raw.len() + line.len() > MAX_MESSAGE {
                self.body = Body::TooLarge;
            } else {
                raw.extend_from_slice(line);
            }
        }
        Ok(())
    }

    fn data_end(&mut self) -> Response {
        match mem::replace(&mut self.body, Body::Fits(Vec::new())) {
            Body::TooLarge => refusal(552, "5.3.4 Message too large, at most 32 MiB"),
            Body::Fits(raw) => match self.store(raw) {
                Some(Ok(())) => Response::custom(250, "2.0.0 Ok: kept in the inbox".to_owned()),
                Some(Err(error)) => {
                    tracing::warn!(%error, "a message to the sandbox inbox was not kept");
                    refusal(451, "4.3.0 The inbox could not keep the message")
                }
                None => refusal(451, "4.3.2 The server is shutting down"),
            },
        }
    }
}

/// A negative answer to DATA. mailin stays in DATA after what it takes for an error, and swallows
/// the commands that follow, so this is not marked as one; the code on the wire is the same.
fn refusal(code: u16, text: &str) -> Response {
    let mut response = Response::custom(code, text.to_owned());
    response.is_error = false;
    response
}
