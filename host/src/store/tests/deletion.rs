//! An account that is deleted leaves nothing behind, takes nothing of others with it, and goes on wherever a process has
//! ended.

use std::collections::BTreeMap;

use super::*;
use crate::account::plan::Plan;
use crate::id::Identifier;
use crate::management::accounts::{self, AccountChange, AccountError};
use crate::management::keys::{self, Grantor, KeyError, NewKey};
use crate::store::database::digits;
use crate::upkeep::account_deletion::once;

/// One row of an account in each table, in the order of what refers to what. A table with an account that is not
/// here fails the test.
const ROWS: [&str; 37] = [
    "INSERT INTO keys (id, account_id, name, mode, lookup, hash, scopes, domains, templates, networks, state, created_at)
     VALUES (:id, :account, 'k', 'live', hex(:id), randomblob(32), '[]', '[]', '[]', '[]', 'active', 1)",
    "INSERT INTO ledger (account_id, kind, amount, created_at) VALUES (:account, 'grant', 9, 1)",
    "INSERT INTO usage (day, account_id, sent) VALUES (20000, :account, 1)",
    // The first count is of a period with a message, the second one of a period whose messages retention has dropped.
    "INSERT INTO sent (period, state, account_id, changes)
     VALUES (7, 'accepted', :account, 1), (900, 'delivered', :account, 1)",
    "INSERT INTO messages (id, period, account_id, key_id, channel, sender, recipient, subject, route, state, reason,
                           credits, decisions, created_at, updated_at)
     VALUES (:id, 7, :account, :id, 'api', 'a@a.test', 'ada@a.test', 's', 'sandbox', 'queued', 'r', 2, '[]', 1, 1)",
    "INSERT INTO bodies (message_id, bytes) VALUES (:id, x'00000000')",
    "INSERT INTO queue (message_id, account_id, lane, due_at) VALUES (:id, :account, 'a.test', 1)",
    "INSERT INTO lanes (lane, account_id, due_at) VALUES ('sandbox', :account, 1)",
    "INSERT INTO attempts (message_id, number, started_at, ended_at, route, outcome, reply, conversation, uncertain)
     VALUES (:id, 1, 1, 1, 'sandbox', 'deferred', 'r', x'00', 0)",
    // The first event is about a message; the subject of the second one is gone already.
    "INSERT INTO events (subject, account_id, type, detail, created_at)
     VALUES (:id, :account, 1, 'd', 1), (x'00', :account, 1, 'd', 1)",
    "INSERT INTO samples (decision_id, kind, slot, digest, outcome, sealed, created_at)
     VALUES (:id, 'plan', 's', 'd', 'answered', x'00', 1)",
    "INSERT INTO decisions (id, account_id, outcome, plugins, created_at)
     VALUES (:id, :account, 'FORBIDDEN', '[]', 1)",
    "INSERT INTO domains (id, account_id, name, kind, verification_token, phase, since, progress, missing, requirements,
                          decision, organizational, skeleton, created_at)
     VALUES (:id, :account, 'a.test', 'dns', 't', 'pending', 1, 0, '[]', '[]', '', 'a.test', 'a.test', 1)",
    "INSERT INTO domain_checks (domain_id, number, findings, observations) VALUES (:id, 1, '[]', '[]')",
    "INSERT INTO dkim_keys (domain_id, selector, algorithm, public_key, private_key, phase, since)
     VALUES (:id, 's', 'rsa-sha256', 'p', x'00', 'signing', 1)",
    "INSERT INTO templates (id, account_id, slug, published_revision, created_at)
     VALUES (:id, :account, 'welcome', 1, 1)",
    "INSERT INTO template_versions (template_id, revision, source, variables, created_at)
     VALUES (:id, 1, '{}', '[]', 1)",
    "INSERT INTO template_uses (block_id, template_id, revision) VALUES (:id, :id, 1)",
    "INSERT INTO dictionaries (template_id, revision, bytes) VALUES (:id, 1, x'00')",
    "INSERT INTO template_republications (template_id, revision, at, author) VALUES (:id, 1, 1, 'cli')",
    "INSERT INTO template_usage (day, account_id, slug, sent) VALUES (20000, :account, 'welcome', 1)",
    "INSERT INTO template_failures (day, account_id, slug, refused, failed)
     VALUES (20000, :account, 'welcome', 1, 1)",
    "INSERT INTO suppressions (account_id, address, kind, reason, created_at)
     VALUES (:account, 'eve@a.test', 'manual', 'r', 1)",
    "INSERT INTO idempotency (account_id, mode, key, body_hash, answer, expires_at)
     VALUES (:account, 'live', 'k', randomblob(32), '{}', 1)",
    "INSERT INTO webhooks (id, account_id, url, description, types, secret, state, reason, since, after_sequence,
                           created_at)
     VALUES (:id, :account, 'https://a.test', '', '[]', x'00', 'active', 'r', 1, 0, 1)",
    "INSERT INTO webhook_deliveries (webhook_id, event_id, type, state, attempts, log, created_at)
     VALUES (:id, :id, 'message.queued', 'delivered', 1, '[]', 1)",
    "INSERT INTO webhook_bodies (event_id, body) VALUES (:id, '{}')",
    "INSERT INTO users (id, email, created_at) VALUES (:id, hex(:id) || '@a.test', 1)",
    "INSERT INTO factors (user_id, kind, secret, last_step, created_at) VALUES (:id, 'totp', x'00', 1, 1)",
    "INSERT INTO recovery_codes (user_id, hash) VALUES (:id, randomblob(32))",
    "INSERT INTO memberships (user_id, account_id, role, created_at) VALUES (:id, :account, 'owner', 1)",
    "INSERT INTO sessions (id, hash, user_id, account_id, created_at, seen_at, verified_at, expires_at, ip, agent)
     VALUES (:id, randomblob(32), :id, :account, 1, 1, 1, 1, '', '')",
    "INSERT INTO one_time_links (hash, purpose, user_id, created_at, expires_at, account_id)
     VALUES (randomblob(32), 'invitation', :id, 1, 1, :account)",
    "INSERT INTO invitations (account_id, address, created_at, expires_at) VALUES (:account, 'i@a.test', 1, 1)",
    "INSERT INTO test_recipients (account_id, address, created_at) VALUES (:account, 't@a.test', 1)",
    "INSERT INTO confirmation_mails (hash, account_id, address, created_at)
     VALUES (randomblob(32), :account, 't@a.test', 1)",
    "INSERT INTO audit (created_at, account_id, actor, action, subject)
     VALUES (1, :account, 'server', 'create_account', 'a')",
];
/// Somebody of another account is in this one too, and works in it at this moment.
const SHARED: [&str; 2] = [
    "INSERT INTO memberships (user_id, account_id, role, created_at) VALUES (:id, :account, 'member', 1)",
    "UPDATE sessions SET acting_as = :account WHERE id = :id",
];

/// The rows of each table, as texts.
type Tables = BTreeMap<String, Vec<String>>;

async fn put(store: &Store, texts: &[&str], account: AccountId, id: MessageId) {
    for text in texts {
        let text = text.replace(":account", &format!("x'{}'", digits(account)));
        let mut statement = sql("");
        statement.push(&text.replace(":id", &format!("x'{}'", digits(id))));
        statement.run(&store.db.writer).await.unwrap_or_else(|error| panic!("{text}: {error}"));
    }
}

async fn texts(store: &Store, query: &str) -> Vec<String> {
    let mut statement = sql("");
    statement.push(query);
    let rows = statement.all(&store.db.readers).await.expect("readable");
    rows.iter().map(|row| column(row, "line").expect("a text")).collect()
}

async fn columns(store: &Store, table: &str) -> Vec<String> {
    texts(store, &format!("SELECT name AS line FROM pragma_table_info('{table}')")).await
}

async fn tables(store: &Store) -> Tables {
    let all = "SELECT name AS line FROM sqlite_schema
               WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE '_sqlx%'";
    let mut tables = Tables::new();
    for table in texts(store, all).await {
        let columns = columns(store, &table).await;
        let columns: Vec<String> = columns.iter().map(|it| format!("quote(\"{it}\")")).collect();
        let columns = columns.join(" || ',' || ");
        let rows = texts(store, &format!("SELECT {columns} AS line FROM {table} ORDER BY 1")).await;
        tables.insert(table, rows);
    }
    tables
}

/// Opens an account without anything.
async fn opened(store: &Store, name: &str) -> AccountId {
    let account = Account::new(name, Plan::named("pro"), NOW);
    store.create_account(&account).await.expect("created");
    account.id
}

/// Orders the deletion of an account.
async fn order(store: &Store, id: AccountId) {
    let mut account = store.account(id, NOW).await.expect("there").account;
    account.state = AccountState::Suspended;
    store.update_account(&account).await.expect("suspended");
    let ordered = accounts::delete(store, id, NOW).await.expect("ordered");
    assert_eq!(ordered.account.state, AccountState::Deleting);
}

async fn is_gone(store: &Store, id: AccountId) -> bool {
    store.account(id, NOW).await.is_err_and(|error| error.is_not_found())
}

/// What is written of an account that is gone.
async fn kept(store: &Store, id: AccountId) -> Vec<String> {
    let rows = store.audit_of_server(None, 1_000).await.expect("readable");
    let rows = rows.into_iter().map(|(_, row)| row).filter(|it| it.action == "account_deleted");
    let id = id.to_string();
    rows.filter_map(|it| it.subject).filter(|it| it.starts_with(&id)).collect()
}

#[tokio::test]
async fn a_deleted_account_leaves_no_row_in_any_table_and_takes_no_other_one() {
    let fixture = Fixture::with_credits(5).await;
    let store = &fixture.store;
    let other = MessageId::new(NOW);
    put(store, &ROWS, fixture.account, other).await;
    let before = tables(store).await;

    let (account, id) = (opened(store, "gone").await, MessageId::new(NOW));
    put(store, &ROWS, account, id).await;
    put(store, &SHARED, account, other).await;
    let (own, own_rows) = (digits(account), digits(id));
    let has = |row: &String| row.contains(&own) || row.contains(&own_rows);
    for (table, rows) in tables(store).await {
        if columns(store, &table).await.iter().any(|it| it == "account_id") {
            assert!(rows.iter().any(has), "{table} has an account: put a row of it into `ROWS`");
        }
    }

    order(store, account).await;
    once(store).await;
    assert!(is_gone(store, account).await);
    let mut after = tables(store).await;
    for (table, rows) in &after {
        assert!(!rows.iter().any(has), "{table}: {rows:#?}");
    }
    // Who has deleted it; and the number that every change of a fact moves, with a note of it.
    let log = after.remove("audit").expect("a table");
    let new: Vec<&String> = log.iter().filter(|it| !before["audit"].contains(it)).collect();
    assert!(new.len() == 1 && log.len() == before["audit"].len() + 1, "{new:?}");
    let sums = "9 credits granted, 0 spent, 2 refunded, 0 adjusted, 11 left";
    assert_eq!(kept(store, account).await, [format!("{account}: {sums}")]);
    let notes = after.remove("upkeep").expect("a table");
    assert!(!notes.iter().any(|it| it.contains(&account.to_string())), "{notes:?}");
    after.remove("revision");
    for (table, rows) in after {
        assert_eq!(rows, before[&table], "{table} of the other account, and of nobody");
    }
}

/// The first steps of a deletion, after which its process has ended.
async fn begin(store: &Store, account: AccountId, steps: usize) {
    if steps > 0 {
        let found = store.cancel_waiting_of(account, MessageId::MIN, 10, NOW).await;
        assert_eq!(found.expect("canceled").canceled, 10);
    }
    if steps > 1 {
        let found = store.cancel_waiting_of(account, MessageId::MIN, 1_000, NOW).await;
        assert_eq!(found.expect("canceled").canceled, 20);
    }
    if steps > 2 {
        let messages = store.next_messages_of(account, 10).await.expect("readable");
        assert_eq!(messages.len(), 10);
        store.drop_messages_of(account, &messages).await.expect("dropped");
    }
    if steps > 3 {
        store.drop_counts_of(account).await.expect("dropped");
    }
    for _ in 4..steps {
        assert_eq!(store.drop_ledger_of(account, 3).await.expect("dropped"), 3);
    }
}

#[tokio::test]
async fn a_deletion_goes_on_wherever_a_process_has_ended_and_counts_once() {
    let fixture = Fixture::with_credits(5).await;
    let store = &fixture.store;
    for steps in 0..7 {
        let account = test_data::open_account(store, 100, NOW).await;
        let revision = store.revision().await.expect("readable");
        let messages = (0..30).map(|_| message(2)).collect();
        store.commit(&[test_data::job(revision, account, messages, NOW)], NOW).await.expect("sent");
        order(store, account).await;
        assert!(matches!(store.finish_deletion(account, NOW).await, Ok(false)), "there is more");
        begin(store, account, steps).await;
        assert!(!is_gone(store, account).await, "{steps} steps");
        once(store).await;
        assert!(is_gone(store, account).await, "{steps} steps");
        let sums = "100 credits granted, 60 spent, 60 refunded, 0 adjusted, 100 left";
        assert_eq!(kept(store, account).await, [format!("{account}: {sums}")], "{steps} steps");
        let left = store.messages(account, &MessageFilter::default(), None, 10).await;
        assert!(left.expect("readable").messages.is_empty());
    }
    assert_eq!(fixture.balance().await, 5, "of the other account");
}

#[tokio::test]
async fn a_message_that_is_being_sent_is_waited_for_and_no_other_is_sent() {
    let fixture = Fixture::with_credits(5).await;
    let (store, account) = (&fixture.store, fixture.account);
    fixture.commit(&[fixture.job(1, 1).await]).await;
    let leases = lease(store, "one", NOW).await;
    assert_eq!(leases.len(), 1);
    fixture.commit(&[fixture.job(2, 1).await]).await;
    order(store, account).await;
    assert!(lease(store, "two", NOW).await.is_empty(), "nothing of it is sent any more");
    once(store).await;
    assert!(!is_gone(store, account).await, "an attempt is under way");
    store.settle("one", &[settled(&leases[0], FAILED)], NOW).await.expect("settles");
    once(store).await;
    assert!(is_gone(store, account).await);
    let sums = "5 credits granted, 3 spent, 3 refunded, 0 adjusted, 5 left";
    assert_eq!(kept(store, account).await, [format!("{account}: {sums}")]);
}

#[tokio::test]
async fn only_a_suspended_account_is_deleted_and_nothing_brings_it_back() {
    let fixture = Fixture::with_credits(5).await;
    let (store, account) = (&fixture.store, fixture.account);
    let refused = accounts::delete(store, account, NOW).await;
    assert!(matches!(refused, Err(AccountError::NotSuspended)), "{refused:?}");
    order(store, account).await;
    let again = accounts::delete(store, account, NOW).await.expect("ordered already");
    assert_eq!(again.account.state, AccountState::Deleting);
    let change = AccountChange { state: Some(AccountState::Active), ..AccountChange::default() };
    let refused = accounts::change(store, None, account, change, &[], NOW).await;
    assert!(matches!(refused, Err(AccountError::BeingDeleted)), "{refused:?}");
    let new = NewKey {
        name: "late".to_owned(),
        mode: crate::account::key::Mode::Live,
        scopes: vec![crate::account::key::Scope::Send],
        domains: Vec::new(),
        templates: Vec::new(),
        networks: Vec::new(),
        expires_at: None,
    };
    let refused = keys::create(store, Grantor::Machine, account, new, NOW).await;
    assert!(matches!(refused, Err(KeyError::BeingDeleted)), "{refused:?}");
    let granted = store.add_credits(account, EntryKind::Grant, Credits(1), "late", NOW).await;
    assert!(granted.is_err_and(|error| error.is_not_found()));
    test_data::open_account(store, 1, NOW).await;
    let refused = sql("DELETE FROM ledger").run(&store.db.writer).await;
    let refused = refused.expect_err("that of another account stays").to_string();
    assert!(refused.contains("append-only"), "{refused}");
}
