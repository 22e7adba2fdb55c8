//! However much waits, and wherever: a claim reads as many rows as with a short queue.

use waxwing_mx::{Behaviour, MxServer, Reply, Stage};

use super::fixture::{Fixture, MINUTE, Setup, server_on, smarthost};
use crate::delivery::routing::route::Route;
use crate::store::meter::Backlog;

const SHORT: u32 = 400;
const LONG: u32 = 20_000;
/// Messages that are delivered while the steps are counted.
const DELIVERED: usize = 200;

/// A queue, and the server that is to get some of it.
struct Plan<'a> {
    fixture: Fixture,
    well: &'a MxServer,
    /// What waits: how many, to whom, by which route. The last of them can be delivered.
    backlogs: Vec<(u32, &'a str, &'a str)>,
}

impl Plan<'_> {
    /// The steps in which the server gets its messages out of that queue.
    async fn steps(self) -> u64 {
        let Self { fixture, well, backlogs } = self;
        let first = fixture.send("first@first.example").await;
        fixture.after_attempts(first, 1).await;
        let before = well.message_count();
        for (messages, recipients, route) in backlogs {
            let due_at = fixture.clock.now().after(MINUTE);
            let backlog = Backlog { of: first, messages, recipients, route, due_at };
            fixture.store.add_backlog(&backlog).await;
        }
        let steps = fixture.store.count_steps().await;
        fixture.advance(MINUTE * 2);
        let ask = || async { (well.message_count() >= before + DELIVERED).then_some(()) };
        fixture.until("messages are delivered", ask).await;
        steps.count()
    }
}

fn assert_the_same(short: u64, long: u64) {
    // The number of rounds in which they are claimed differs from run to run.
    assert!(long < short * 3 / 2, "{short} steps with {SHORT} messages, {long} with {LONG}");
}

async fn through_a_smarthost(backlogs: Vec<(u32, &str, &str)>) -> u64 {
    let well = MxServer::start(Behaviour::sink());
    let setup = Setup { inbox: well.address(), ..Setup::smarthosts(&[smarthost("relay", &well)]) };
    Plan { fixture: Fixture::new(setup).await, well: &well, backlogs }.steps().await
}

#[tokio::test]
async fn a_claim_costs_the_same_however_many_wait_for_one_domain() {
    let [short, long] = [SHORT, LONG].map(|it| vec![(it, "n%d@example.com", "configured")]);
    assert_the_same(through_a_smarthost(short).await, through_a_smarthost(long).await);
}

#[tokio::test]
async fn a_claim_costs_the_same_however_many_wait_for_the_sandbox() {
    let [short, long] = [SHORT, LONG].map(|it| vec![(it, "n%d@example.com", "sandbox")]);
    assert_the_same(through_a_smarthost(short).await, through_a_smarthost(long).await);
}

#[tokio::test]
async fn a_claim_costs_the_same_however_many_domains_there_are() {
    let [short, long] = [SHORT, LONG].map(|it| vec![(it, "ada@n%d.example", "configured")]);
    assert_the_same(through_a_smarthost(short).await, through_a_smarthost(long).await);
}

/// Directly to `well.example` behind many messages to another domain, whose host says nothing.
async fn behind_a_domain_that_hangs(messages: u32) -> u64 {
    let hanging =
        server_on("127.0.0.2", 0, Behaviour::new().answer(Stage::Connect, Reply::silence()));
    let well = server_on("127.0.0.3", hanging.address().port(), Behaviour::sink());
    let setup = Setup { port: hanging.address().port(), ..Setup::route(Route::Direct) };
    let fixture = Fixture::new(setup).await;
    for (domain, last) in [("hanging", 2), ("well", 3)] {
        let (name, host) = (format!("{domain}.example"), format!("mx.{domain}.example"));
        fixture.dns.ip(&host, [127, 0, 0, last].into());
        fixture.dns.mx(&name, 10, &host);
    }
    let backlogs = vec![
        (messages, "n%d@hanging.example", "configured"),
        (LONG, "n%d@well.example", "configured"),
    ];
    Plan { fixture, well: &well, backlogs }.steps().await
}

#[tokio::test]
async fn a_claim_costs_the_same_behind_a_domain_that_takes_nothing() {
    let (short, long) =
        (behind_a_domain_that_hangs(SHORT).await, behind_a_domain_that_hangs(LONG).await);
    assert_the_same(short, long);
}

#[tokio::test]
async fn mail_for_a_destination_that_is_down_costs_nothing_until_it_is_due() {
    let server = MxServer::start(Behaviour::new());
    server.stop();
    let fixture = Fixture::new(Setup::smarthosts(&[smarthost("relay", &server)])).await;
    let first = fixture.send("first@first.example").await;
    fixture.after_attempts(first, 1).await;
    let (recipients, route, due_at) = ("n%d@example.com", "configured", fixture.clock.now());
    let backlog = Backlog { of: first, messages: LONG, recipients, route, due_at };
    fixture.store.add_backlog(&backlog).await;
    fixture.until_idle().await;
    let steps = fixture.store.count_steps().await;
    for _ in 0..20 {
        fixture.until_idle().await;
    }
    let steps = steps.count();
    assert!(steps < u64::from(LONG), "{steps} steps in 20 rounds while {LONG} wait");
    fixture.finish().await;
}
