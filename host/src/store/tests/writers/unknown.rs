//! A COMMIT whose answer is lost: what became of it is looked up, and nothing is done twice.

use waxwing_tools::Cluster;

use super::super::*;
use super::proxy::{Cut, Proxy};

const CUTS: [Cut; 2] = [Cut::BeforeCommit, Cut::BeforeAnswer];

/// A store behind a proxy, with an account of ten credits.
struct Cuttable {
    proxy: Proxy,
    store: Store,
    account: AccountId,
}

impl Cuttable {
    async fn new(cluster: &Cluster, database: &str) -> Self {
        let _made = cluster.create(database);
        let proxy = Proxy::start(&cluster.socket()).await;
        let store = Store::open(Place::Server(proxy.url(database))).await.expect("opens");
        let account = test_data::open_account(&store, 10, NOW).await;
        Self { proxy, store, account }
    }

    async fn job(&self) -> Job {
        let revision = self.store.revision().await.expect("readable");
        test_data::job(revision, self.account, vec![message(1)], NOW)
    }

    async fn balance(&self) -> i64 {
        self.store.account(self.account, NOW).await.expect("there").balance.0
    }

    async fn messages(&self) -> Vec<MessageId> {
        let all = MessageFilter::default();
        let page = self.store.messages(self.account, &all, None, 100).await.expect("readable");
        page.messages.iter().map(|it| it.id).collect()
    }

    async fn events(&self, message: MessageId) -> Vec<String> {
        let events = self.store.message(message).await.expect("there").events;
        events.iter().map(|it| it.r#type.as_str().to_owned()).collect()
    }
}

/// The identifier of a job's only message.
fn identifier(job: &Job) -> MessageId {
    let [JobItem::Message(message)] = &job.items[..] else { panic!("one message") };
    message.id
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_without_an_answer_is_accepted_once_under_its_identifier() {
    let Some(cluster) = Cluster::shared("unknown outcomes of commits") else { return };
    for (number, cut) in CUTS.into_iter().enumerate() {
        let fixture = Cuttable::new(cluster, &format!("unknown_commit_{number}")).await;
        let job = fixture.job().await;
        fixture.proxy.cut(cut);
        let outcomes = fixture.store.commit(std::slice::from_ref(&job), NOW).await;
        let outcomes = outcomes.expect("it is known in the end");
        assert!(fixture.proxy.has_cut(), "{cut:?}");
        assert_eq!(accepted(&outcomes[0]), 1, "{cut:?}");
        assert_eq!(fixture.messages().await, [identifier(&job)], "{cut:?}");
        assert_eq!(fixture.balance().await, 9, "{cut:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_without_an_answer_is_attempted_only_where_it_is_held() {
    let Some(cluster) = Cluster::shared("unknown outcomes of leases") else { return };
    for (number, cut) in CUTS.into_iter().enumerate() {
        let fixture = Cuttable::new(cluster, &format!("unknown_lease_{number}")).await;
        let job = fixture.job().await;
        let id = identifier(&job);
        fixture.store.commit(&[job], NOW).await.expect("commits");
        let until = NOW.after(Duration::from_mins(1));
        fixture.proxy.cut(cut);
        let leases = fixture.store.lease("one", &[id], NOW, until).await.expect("known");
        assert!(fixture.proxy.has_cut(), "{cut:?}");
        assert_eq!(leases.len(), usize::from(cut == Cut::BeforeAnswer), "{cut:?}");
        let again = fixture.store.lease("one", &[id], NOW, until).await.expect("leases");
        assert_eq!(leases.len() + again.len(), 1, "{cut:?}");
        assert!(leases.iter().chain(&again).all(|it| it.attempt == 1), "{cut:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_settlement_without_an_answer_may_be_written_again() {
    let Some(cluster) = Cluster::shared("unknown outcomes of settlements") else { return };
    for (number, cut) in CUTS.into_iter().enumerate() {
        let fixture = Cuttable::new(cluster, &format!("unknown_settle_{number}")).await;
        let job = fixture.job().await;
        let id = identifier(&job);
        fixture.store.commit(&[job], NOW).await.expect("commits");
        let until = NOW.after(Duration::from_mins(1));
        let leases = fixture.store.lease("one", &[id], NOW, until).await.expect("leases");
        let settlement = settled(&leases[0], FAILED);
        fixture.proxy.cut(cut);
        let unknown = fixture.store.settle("one", std::slice::from_ref(&settlement), NOW).await;
        assert!(unknown.is_err_and(|it| it.is_unknown()), "{cut:?}");
        fixture.store.settle("one", &[settlement], NOW).await.expect("settles");
        let wanted = ["message.queued", "message.sending", "message.failed"];
        assert_eq!(fixture.events(id).await, wanted, "{cut:?}");
        assert_eq!(fixture.balance().await, 10, "{cut:?}: paid back once");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_without_an_answer_says_that_it_may_have_been_made() {
    let Some(cluster) = Cluster::shared("unknown outcomes of changes") else { return };
    for (number, cut) in CUTS.into_iter().enumerate() {
        let fixture = Cuttable::new(cluster, &format!("unknown_change_{number}")).await;
        fixture.proxy.cut(cut);
        let (kind, more) = (EntryKind::Grant, Credits(5));
        let grant = fixture.store.add_credits(fixture.account, kind, more, "test", NOW).await;
        let error = grant.expect_err("nobody knows");
        assert!(error.is_unknown(), "{cut:?}: {error}");
        assert!(error.to_string().contains("look before you repeat it"), "{error}");
        let balance = fixture.balance().await;
        assert_eq!(balance, if cut == Cut::BeforeAnswer { 15 } else { 10 }, "{cut:?}");
    }
}
