//! The body of an answer, given to HTTP/2 in parts: when HTTP/2 asks for the next part, the client has taken the one before.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::Body;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};

use super::streams::Stream;

/// As large as a frame that every client takes (RFC 9113, section 4.2).
const PART_BYTES: usize = 16 << 10;

#[derive(Debug)]
pub struct Answer {
    body: Body,
    /// What was read of the body and is still to be given.
    rest: Bytes,
    stream: Stream,
}

impl Answer {
    #[must_use]
    pub fn new(body: Body, mut stream: Stream) -> Self {
        stream.answer();
        Self { body, rest: Bytes::new(), stream }
    }

    fn part(&mut self) -> Frame<Bytes> {
        let part = self.rest.split_to(self.rest.len().min(PART_BYTES));
        self.stream.offer();
        Frame::data(part)
    }
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = self.get_mut();
        if this.rest.is_empty() {
            this.stream.work();
            match ready!(Pin::new(&mut this.body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => this.rest = data,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                end => return Poll::Ready(end),
            }
        }
        Poll::Ready(Some(Ok(this.part())))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (body, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let mut all = SizeHint::new();
        all.set_lower(body.lower() + rest);
        if let Some(upper) = body.upper() {
            all.set_upper(upper + rest);
        }
        all
    }
}
