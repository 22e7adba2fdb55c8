//! Endpoints that want to be left alone, and those that fail: what is due for them waits, and nobody else.

use super::*;

const LATER: Duration = Duration::from_hours(2);

/// Tries of all deliveries of a webhook that are written down.
async fn attempts(webhooks: &Webhooks, id: WebhookId) -> usize {
    let page = webhooks.store.webhook_deliveries(id, None, None, 500).await.expect("read");
    let made = page.deliveries.iter().map(|it| it.attempts.len());
    made.sum()
}

async fn until_tries(webhooks: &Webhooks, id: WebhookId, count: usize) {
    let ask = async || (attempts(webhooks, id).await >= count).then_some(());
    until(&format!("{count} attempts"), ask).await;
}

fn hours() -> Schedule {
    Schedule::with_pauses(vec![Duration::from_hours(1); 50])
}

#[tokio::test]
async fn an_endpoint_that_asks_for_a_pause_gets_nothing_before_it_is_over() {
    let clock = Clock::manual(START);
    let (_directory, webhooks) = webhooks(&clock, hours(), TIME).await;
    let busy = status(429, "retry-after: 60\r\n");
    let busy = Endpoint::start([busy.clone(), busy, status(200, "")]).await;
    let good = Endpoint::start([status(200, "")]).await;
    let (asks, _) = create(&webhooks, &busy.url()).await;
    let (takes, _) = create(&webhooks, &good.url()).await;
    for n in 0..20 {
        happens(&webhooks, n).await;
    }
    let run = Run::of(&webhooks);
    until_tries(&webhooks, asks, 2).await;
    until_all(&webhooks, takes, 20, DeliveryState::Delivered).await;
    clock.advance(Duration::from_secs(59));
    for n in 20..40 {
        happens(&webhooks, n).await;
    }
    until_all(&webhooks, takes, 40, DeliveryState::Delivered).await;
    assert_eq!(busy.heard().len(), 2, "what was under way when it asked, and nothing more");
    webhooks.test(asks).await.expect("tested");
    assert!(busy.heard()[2].body.contains("webhook.test"), "a test by hand is made");
    clock.advance(Duration::from_secs(1));
    until_all(&webhooks, asks, 39, DeliveryState::Delivered).await;
    clock.advance(LATER);
    until_all(&webhooks, asks, 41, DeliveryState::Delivered).await;
    assert_eq!(busy.heard().len(), 2 + 1 + 40);
    run.stop().await;
}

#[tokio::test]
async fn a_failing_endpoint_gets_one_probe_at_a_time_until_it_recovers() {
    let clock = Clock::manual(START);
    // Two slots: one for an owner, so that nothing is under way beside the fifth failure.
    let (_directory, webhooks) = webhooks_with_places(&clock, hours(), TIME, 2).await;
    let answers = (0..12).map(|_| status(500, "")).chain([status(200, "")]);
    let endpoint = Endpoint::start(answers).await;
    let good = Endpoint::start([status(200, "")]).await;
    let (fails, _) = create(&webhooks, &endpoint.url()).await;
    let (takes, _) = create(&webhooks, &good.url()).await;
    for n in 0..40 {
        happens(&webhooks, n).await;
    }
    let run = Run::of(&webhooks);
    until_tries(&webhooks, fails, 5).await;
    until_all(&webhooks, takes, 40, DeliveryState::Delivered).await;
    let mut made = endpoint.heard().len();
    assert_eq!(made, 5, "five failures, and then a pause");
    while made < 12 {
        clock.advance(Duration::from_mins(1));
        made += 1;
        until_tries(&webhooks, fails, made).await;
        happens(&webhooks, 40 + made).await;
        let others = good.heard().len() + 1;
        good.hears(others).await;
        assert_eq!(endpoint.heard().len(), made, "one, and then a pause");
    }
    clock.advance(Duration::from_mins(1));
    let all = good.heard().len();
    until_all(&webhooks, fails, all - 12, DeliveryState::Delivered).await;
    clock.advance(LATER);
    until_all(&webhooks, fails, all, DeliveryState::Delivered).await;
    run.stop().await;
}

#[tokio::test]
async fn another_url_is_another_endpoint() {
    let clock = Clock::manual(START);
    let (_directory, webhooks) = webhooks(&clock, hours(), TIME).await;
    let busy = Endpoint::start([status(503, "retry-after: 86400\r\n")]).await;
    let good = Endpoint::start([status(200, "")]).await;
    let (id, _) = create(&webhooks, &busy.url()).await;
    for n in 0..10 {
        happens(&webhooks, n).await;
    }
    let run = Run::of(&webhooks);
    until_tries(&webhooks, id, 2).await;
    let wanted = WebhookFields { url: Some(good.url()), ..WebhookFields::default() };
    webhooks.change(id, wanted).await.expect("changed");
    until_all(&webhooks, id, 8, DeliveryState::Delivered).await;
    assert_eq!(busy.heard().len(), 2);
    run.stop().await;
}

#[tokio::test]
async fn a_webhook_with_more_than_it_is_probed_with_is_disabled_in_the_end() {
    let clock = Clock::manual(START);
    let (_directory, webhooks) = webhooks_with_places(&clock, Schedule::default(), TIME, 2).await;
    let endpoint = Endpoint::start([status(500, "")]).await;
    let (id, _) = create(&webhooks, &endpoint.url()).await;
    for n in 0..30 {
        happens(&webhooks, n).await;
    }
    let run = Run::of(&webhooks);
    until_tries(&webhooks, id, 5).await;
    clock.advance(Duration::from_hours(5 * 24));
    until_all(&webhooks, id, 30, DeliveryState::Failed).await;
    let webhook = webhooks.find(id).await.expect("there");
    assert_eq!(webhook.state, WebhookState::Disabled);
    assert!(webhook.reason.contains(&START.rfc3339()), "{}", webhook.reason);
    assert_eq!(endpoint.heard().len(), 5 + 1, "no delivery has used up its attempts");
    run.stop().await;
}
