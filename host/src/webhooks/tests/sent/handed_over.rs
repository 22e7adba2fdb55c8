//! Nodes that post to the webhooks of one database: who posts what while a share moves, and when a node stops.

use super::*;
use crate::nodes::{Epoch, Membership, Share};

/// A node among others. It begins without shares.
struct Node {
    membership: Arc<Membership>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Node {
    fn start(webhooks: &Arc<Webhooks>) -> Self {
        let (membership, stop) = (Arc::new(Membership::joining()), CancellationToken::new());
        let send = Arc::clone(webhooks).send(Arc::clone(&membership), stop.clone());
        Self { membership, stop, task: tokio::spawn(send) }
    }

    /// Renews its time, with all shares in that epoch, or with none.
    fn renew(&self, epoch: Option<Epoch>) {
        let shares: Vec<(Share, Epoch)> =
            epoch.into_iter().flat_map(|epoch| Share::all().map(move |it| (it, epoch))).collect();
        self.membership.renewed(&shares, 2, Instant::now() + Duration::from_hours(1));
    }

    async fn stop(self) {
        self.stop.cancel();
        self.task.await.expect("no panic");
    }
}

async fn happens_and_is_handed_out(webhooks: &Webhooks, n: usize) {
    happens(webhooks, n).await;
    assert!(webhooks.publish_some(9).await.expect("handed out"));
}

#[tokio::test]
async fn a_post_under_way_is_not_repeated_by_the_node_that_gets_the_share() {
    let clock = Clock::manual(START);
    let (_directory, webhooks) = webhooks(&clock, Schedule::default(), SHORT).await;
    let endpoint = Endpoint::start([Say::Nothing, status(200, "")]).await;
    let (id, _) = create(&webhooks, &endpoint.url()).await;
    let (stopping, starting) = (Node::start(&webhooks), Node::start(&webhooks));
    stopping.renew(Some(1));
    happens_and_is_handed_out(&webhooks, 1).await;
    endpoint.hears(1).await;

    // As at a rolling restart: the next node has just come, and its first renewal gives it all shares.
    stopping.renew(None);
    starting.renew(Some(2));
    happens_and_is_handed_out(&webhooks, 2).await;
    until_all(&webhooks, id, 1, DeliveryState::Delivered).await;
    let ask = async || {
        let waiting = Some(DeliveryState::Pending);
        let page = webhooks.store.webhook_deliveries(id, waiting, None, 9).await.expect("read");
        page.deliveries.first().is_some_and(|it| it.attempts.len() == 1).then_some(())
    };
    until("the first node has stored how its post ended", ask).await;
    let numbers = |heard: &[Heard]| heard.iter().map(number).collect::<Vec<_>>();
    assert_eq!(numbers(&endpoint.heard()), [1, 2], "one node posts one event");

    clock.advance(Duration::from_secs(6));
    until_all(&webhooks, id, 2, DeliveryState::Delivered).await;
    assert_eq!(numbers(&endpoint.heard()), [1, 2, 1], "the other one makes the next attempt");
    stopping.stop().await;
    starting.stop().await;
}

#[tokio::test]
async fn a_stop_waits_for_posts_under_way_and_stores_how_they_ended() {
    let clock = Clock::manual(START);
    let (_directory, webhooks) =
        webhooks(&clock, Schedule::default(), Duration::from_secs(6)).await;
    let endpoint = Endpoint::start([Say::Nothing]).await;
    let (id, _) = create(&webhooks, &endpoint.url()).await;
    happens(&webhooks, 1).await;
    let run = Run::of(&webhooks);
    endpoint.hears(1).await;
    run.stop().await;
    let page = webhooks.store.webhook_deliveries(id, None, None, 1).await.expect("read");
    assert_eq!(page.deliveries[0].attempts.len(), 1, "it is not made again at the next start");
}
