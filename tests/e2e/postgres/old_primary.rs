//! A primary that was replaced comes back, and nobody has fenced it: it takes writes, and must get none.

use std::sync::atomic::Ordering;

use futures_util::future::{join, join_all};
use waxwing_tests::{Launch, Server, until_async};
use waxwing_tools::{Cluster, Pair};

use super::{BOUND, CLIENTS, Load, SENDS, assert_each_arrived_once};
use crate::fixture::message;

const DATABASE: &str = "old_primary";
/// Sends that are refused while the old primary is the only one that answers.
const REFUSED: usize = 20;

fn messages(cluster: &Cluster) -> String {
    cluster.run(DATABASE, "SELECT count(*) FROM messages")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_primary_that_comes_back_is_written_to_by_nobody() {
    let Some(pair) = Pair::start("an old primary of PostgreSQL") else { return };
    let url = pair.create(DATABASE);
    let launch = Launch::dev().with("delivery", "retry_pauses_s", "[2]");
    let server = Server::start(launch.with("store", "url", &url));
    let load = Load::default();
    let clients = join_all((0..CLIENTS).map(|_| load.client(&server)));
    let changes = async {
        load.until_accepted(SENDS).await;
        pair.primary.crash();
        pair.standby.promote();
        load.until_accepted(SENDS).await;

        pair.primary.start_again();
        // It would take writes: it waits for no standby any more.
        for statement in ["ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()"]
        {
            drop(pair.primary.run("postgres", statement));
        }
        let before = messages(&pair.primary);
        let told = "another one was promoted since";
        until_async("the old primary is noticed", BOUND, || async {
            server.log().contains(told).then_some(())
        })
        .await;
        load.until_accepted(SENDS).await;

        // Only the old one answers now.
        pair.standby.crash();
        let refused = || async {
            let answer = server.send(server.key(), &message("refused@example.com")).await;
            (answer.status == 503).then_some(())
        };
        until_async("a refusal", BOUND, refused).await;
        for _ in 0..REFUSED {
            let answer = server.send(server.key(), &message("refused@example.com")).await;
            answer.assert_refused(503, "UNAVAILABLE");
        }
        pair.standby.start_again();
        load.until_accepted(SENDS).await;
        load.is_over.store(true, Ordering::Relaxed);
        assert_eq!(messages(&pair.primary), before, "nothing was written to the old primary");
    };
    join(clients, changes).await;
    assert_each_arrived_once(&server, load).await;
}
