//! Slow templates of one account beside a good one of another.

use std::num::NonZeroUsize;

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};

use super::{ANYBODY, NOW, plugins, text_template};
use crate::id::AccountId;
use crate::plugin::Plugins;
use crate::plugin::config::binding::Scope;
use crate::plugin::runtime::limits::Limits;

const ENDLESS: &str =
    "{% for a in (1..1000000) %}{% for b in (1..1000000) %}{% endfor %}{% endfor %}";

/// Whether the text was rendered. A preview is one render: of a send that fails, the example is rendered too.
async fn is_rendered(plugins: &Plugins, account: AccountId, text: &str) -> bool {
    let account = account.to_string();
    let scope = Scope { account: &account, ..ANYBODY };
    let (context, data) = (plugins.context("test".to_owned()), r#"{"name":"Ada"}"#.to_owned());
    let rendered = plugins.table().preview(&scope, &text_template(text), &context, &data).await;
    matches!(rendered, Ok(Ok(_)))
}

#[tokio::test]
async fn an_account_renders_while_another_has_filled_the_queue() {
    let mut limits = Limits::default();
    limits.renderer.call_ms = 50;
    let plugins = plugins(limits).await;
    let (greedy, other) = (AccountId::new(NOW), AccountId::new(NOW));
    assert!(is_rendered(&plugins, other, "Dear {{ name }}").await);
    // Twice as many as there are places.
    let cores = std::thread::available_parallelism().map_or(2, NonZeroUsize::get);
    let count = 4 * cores;
    let mut slow: Vec<_> =
        (0..count).map(|_| Box::pin(is_rendered(&plugins, greedy, ENDLESS))).collect();
    // All of them ask for a place before the other account does; together they would give way to it.
    for one in &mut slow {
        assert!(one.as_mut().now_or_never().is_none());
    }
    let (mut slow, mut ended) = (FuturesUnordered::from_iter(slow), 0);
    let mut quick = Box::pin(is_rendered(&plugins, other, "Dear {{ name }}"));
    let is_rendered = loop {
        tokio::select! {
            is_rendered = &mut quick => break is_rendered,
            Some(is_rendered) = slow.next() => {
                assert!(!is_rendered, "the template is endless");
                ended += 1;
            }
        }
    };
    assert!(is_rendered);
    assert!(ended <= count / 2, "{ended} of {count} slow renders went first");
}
