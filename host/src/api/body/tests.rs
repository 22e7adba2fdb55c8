use http::StatusCode;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt, stream};
use hyper::body::{Frame, SizeHint};

use super::*;
use crate::clock::Timestamp;
use crate::id::AccountId;

const MIB: usize = 1 << 20;

fn owner(n: i64) -> ShareOwner {
    AccountId::first_of(Timestamp::from_millis(n)).into()
}

/// A body chunk; the counter tells how many are alive.
struct Chunk(Arc<AtomicUsize>);

impl Chunk {
    fn arrives(alive: &Arc<AtomicUsize>) -> Bytes {
        alive.fetch_add(1, Ordering::Relaxed);
        Bytes::from_owner(Self(Arc::clone(alive)))
    }
}

impl AsRef<[u8]> for Chunk {
    fn as_ref(&self) -> &[u8] {
        &[0; 8 << 10]
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A body that announces a length and sends one byte.
struct Unfinished {
    length: u64,
    first: Option<Bytes>,
}

impl Unfinished {
    fn of(length: usize) -> Body {
        let length = u64::try_from(length).expect("a length");
        Body::new(Self { length, first: Some(Bytes::from_static(b"{")) })
    }
}

impl hyper::body::Body for Unfinished {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.first.take().map_or(Poll::Pending, |first| Poll::Ready(Some(Ok(Frame::data(first)))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }
}

#[tokio::test]
async fn drained_chunks_are_freed_one_by_one() {
    let alive = Arc::new(AtomicUsize::new(0));
    let most = Arc::new(AtomicUsize::new(0));
    let (arriving, seen) = (Arc::clone(&alive), Arc::clone(&most));
    let chunks = stream::repeat_with(move || {
        let chunk = Chunk::arrives(&arriving);
        seen.fetch_max(arriving.load(Ordering::Relaxed), Ordering::Relaxed);
        Ok::<_, std::convert::Infallible>(chunk)
    });
    drain(Body::from_stream(chunks.take(4_000))).await;
    assert_eq!(most.load(Ordering::Relaxed), 1, "chunks in memory at one time");
    assert_eq!(alive.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn unfinished_large_bodies_of_one_account_hold_up_nobody_else() {
    let memory = FairShare::new(64 * MIB / KIB);
    let mut unfinished: Vec<_> = (0..8)
        .map(|_| Box::pin(collect(10 * MIB, Unfinished::of(10 * MIB), owner(1), &memory)))
        .collect();
    for body in &mut unfinished {
        assert!(body.as_mut().now_or_never().is_none());
    }
    let small = collect(10 * MIB, Body::from("{}"), owner(2), &memory).now_or_never();
    assert!(matches!(small, Some(Ok(_))), "another account's body waits for no memory");
    let large = collect(10 * MIB, Body::from(vec![b' '; 10 * MIB]), owner(2), &memory);
    assert!(matches!(large.now_or_never(), Some(Ok(_))), "nor does a large one");
}

#[tokio::test]
async fn bodies_of_unknown_length_do_not_wait_for_each_other() {
    let memory = FairShare::new(64 * MIB / KIB);
    let body = || {
        let chunks =
            (0..10).map(|_| Ok::<_, std::convert::Infallible>(Bytes::from(vec![b' '; MIB])));
        // Each chunk comes on its own, so the bodies grow side by side.
        let chunks = stream::iter(chunks).then(|chunk| async {
            tokio::task::yield_now().await;
            chunk
        });
        collect(10 * MIB, Body::from_stream(chunks), owner(1), &memory)
    };
    let bodies = futures_util::future::join_all((0..8).map(|_| body())).now_or_never();
    assert!(bodies.is_none(), "reading yields");
    let read = futures_util::future::join_all((0..8).map(|_| body())).await;
    assert!(read.iter().any(Result::is_ok), "some are read");
    let refused = read.iter().filter_map(|it| it.as_ref().err());
    assert!(refused.clone().count() > 0, "the account has its share only");
    for problem in refused {
        assert_eq!(problem.status(), StatusCode::SERVICE_UNAVAILABLE);
    }
}
