//! A swap while a message is being rendered: it ends with the generation that it began with.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::{join, join_all};
use serde_json::Value;

use super::{Component, RENDERER, decision, note, of_kind, sent, server};

/// As many as there are threads that serve requests on two cores, so that others have to share.
const SLOW: usize = 2;
/// About two seconds on the machine that this was written on.
const SLOWLY: &str = "[limits]\ncall_ms = 30000\n[settings]\nturns = 1000000000\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_render_ends_with_its_own_generation_though_another_is_live() {
    let server = server();
    let (slow, b) = (Component::guest("slow-render"), Component::guest("visible-b"));
    // Compiled now, so that the swap itself is quick.
    server.swap(RENDERER, &b.bytes, &b.digest).await;
    server.place("liquid-renderer.toml", SLOWLY);
    server.swap(RENDERER, &slow.bytes, &slow.digest).await;

    let ended = AtomicUsize::new(0);
    let in_flight = join_all((0..SLOW).map(|n| {
        let (server, ended) = (&server, &ended);
        async move {
            let id = server.send(server.key(), &note(n)).await.message_id();
            ended.fetch_add(1, Ordering::Relaxed);
            id
        }
    }));
    let swapped = async {
        let called = |view: &Value| (view["active"]["calls"] == SLOW).then_some(());
        server.until_slot(RENDERER, "the slow ones render", called).await;
        server.swap(RENDERER, &b.bytes, &b.digest).await;
        let quick = sent(&server, 9).await;
        assert_eq!(of_kind(&quick, "renderer")["digest"], b.digest);
        let ended = ended.load(Ordering::Relaxed);
        assert_eq!(ended, 0, "one that came later is decided by the new one and is through");
    };
    let (slow_ones, ()) = join(in_flight, swapped).await;
    for id in &slow_ones {
        let decision = decision(&server, id).await;
        let renderer = of_kind(&decision, "renderer");
        assert_eq!(renderer["digest"], slow.digest, "{renderer}");
        let took = Duration::from_micros(renderer["micros"].as_u64().expect("a number"));
        assert!(took > Duration::from_millis(500), "it was slow: {took:?}");
        let message = server.message(id);
        let subject = message["subject"].as_str().unwrap_or_default();
        assert!(subject.starts_with("[slow] Note "), "{message}");
    }
}
