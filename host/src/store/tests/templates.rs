//! Drafts, versions, and a database of schema 16.

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::clock::Clock;
use crate::id::{DecisionId, TemplateId};
use crate::store::database::BASELINE;
use crate::store::{
    AddingTemplateFacts, NewTemplate, NewVersion, Publication, Published, RefusalRecord,
    TemplateFailures, TemplateOwner, TemplateRow,
};
use crate::template::kind::TemplateKind;
use crate::template::slug::Slug;
use crate::template::version::{Block, Blocks};

fn slug(text: &str) -> Slug {
    text.parse().expect("a slug")
}

fn source(html: &str) -> TemplateSource {
    TemplateSource {
        subject: "s".to_owned(),
        html: Some(html.to_owned()),
        ..TemplateSource::default()
    }
}

impl Fixture {
    async fn add(&self, kind: TemplateKind, name: &str) -> TemplateRow {
        let owner = TemplateOwner::Account(self.account);
        let (draft, slug) = (source(name), slug(name));
        let new = NewTemplate {
            id: TemplateId::new(NOW),
            owner,
            kind,
            slug: &slug,
            draft: &draft,
            by: "cli",
        };
        let added = self.store.add_template(&new, NOW, test_data::whatever_stands).await;
        added.expect("stored").expect("added");
        self.template(kind, name).await
    }

    async fn template(&self, kind: TemplateKind, name: &str) -> TemplateRow {
        let owner = TemplateOwner::Account(self.account);
        let row = self.store.template(owner, kind, &slug(name)).await.expect("readable");
        row.expect("there")
    }

    /// Publishes the draft, made of that layout.
    async fn publish(&self, row: &TemplateRow, layout: Option<&TemplateRow>) -> bool {
        let version = version(row, layout);
        let publication = Publication {
            template: row,
            published: Published::New(&version),
            touched: &[],
            left: 0,
            author: "cli",
            note: None,
        };
        self.store.publish(&publication, NOW).await.expect("the statements are right")
    }
}

fn version(row: &TemplateRow, layout: Option<&TemplateRow>) -> NewVersion {
    let block = |row: &TemplateRow| {
        let published = row.published.as_ref().expect("published");
        Block {
            name: row.slug.clone(),
            revision: published.revision,
            source: published.source.clone(),
        }
    };
    let used = |row: &TemplateRow| (row.id, row.published.as_ref().expect("published").revision);
    NewVersion {
        revision: row.newest + 1,
        source: source("x"),
        compiled: None,
        blocks: Blocks { layout: layout.map(block), partials: Vec::new() },
        uses: layout.map(used).into_iter().collect(),
        variables: Vec::new(),
        dictionary: Some(b"words".to_vec()),
    }
}

#[tokio::test]
async fn a_draft_is_saved_on_the_edition_that_was_read_and_on_no_other() {
    let fixture = Fixture::with_credits(0).await;
    let row = fixture.add(TemplateKind::Template, "receipt").await;
    let save = async |seen| {
        let saved = fixture.store.save_draft(row.id, &source("new"), "cli", seen, NOW).await;
        saved.expect("the statement is right")
    };
    assert_eq!(save(row.edition).await, Some(row.edition + 1));
    assert_eq!(save(row.edition).await, None, "somebody else was first");
    assert!(!fixture.publish(&row, None).await, "and so it is with publishing");
    let row = fixture.template(TemplateKind::Template, "receipt").await;
    assert!(row.published.is_none());
    assert!(fixture.publish(&row, None).await);
    let row = fixture.template(TemplateKind::Template, "receipt").await;
    assert!(row.draft.is_none());
    assert_eq!(row.published.map(|it| it.revision), Some(1));
}

#[tokio::test]
async fn only_what_a_send_reads_moves_the_revision_of_the_facts() {
    let fixture = Fixture::with_credits(0).await;
    let revision = async || fixture.store.revision().await.expect("readable");
    let before = revision().await;
    let row = fixture.add(TemplateKind::Template, "receipt").await;
    let layout = fixture.add(TemplateKind::Layout, "base").await;
    fixture.publish(&layout, None).await;
    fixture.store.save_draft(row.id, &source("new"), "cli", row.edition, NOW).await.expect("saved");
    assert_eq!(revision().await, before, "drafts and layouts are no facts");
    let row = fixture.template(TemplateKind::Template, "receipt").await;
    assert!(fixture.publish(&row, None).await);
    assert!(revision().await > before);
    let before = revision().await;
    let row = fixture.template(TemplateKind::Template, "receipt").await;
    assert!(fixture.store.archive_template(row.id, row.edition, NOW).await.expect("archived"));
    assert!(revision().await > before);
}

#[tokio::test]
async fn a_version_is_not_published_on_a_layout_that_has_moved() {
    let fixture = Fixture::with_credits(0).await;
    let layout = fixture.add(TemplateKind::Layout, "base").await;
    assert!(fixture.publish(&layout, None).await);
    let read = fixture.template(TemplateKind::Layout, "base").await;
    assert!(fixture.publish(&read, None).await, "the second version of the layout");
    let row = fixture.add(TemplateKind::Template, "receipt").await;
    assert!(!fixture.publish(&row, Some(&read)).await, "it was read before that");
    let now = fixture.template(TemplateKind::Layout, "base").await;
    assert!(fixture.publish(&row, Some(&now)).await);
    assert!(!fixture.publish(&now, None).await, "a template is made of it, and would stay behind");
    let users = fixture.store.users_of_block(now.id, 10).await.expect("readable");
    assert_eq!(users.iter().map(|it| it.slug.as_str()).collect::<Vec<_>>(), ["receipt"]);
}

#[tokio::test]
async fn what_was_sent_or_is_used_is_not_deleted() {
    let fixture = Fixture::with_credits(5).await;
    let layout = fixture.add(TemplateKind::Layout, "base").await;
    assert!(fixture.publish(&layout, None).await);
    let layout = fixture.template(TemplateKind::Layout, "base").await;
    let row = fixture.add(TemplateKind::Template, "welcome").await;
    assert!(fixture.publish(&row, Some(&layout)).await);
    let delete = async |row: &TemplateRow| {
        fixture.store.delete_template(row.id, row.edition).await.expect("the statements are right")
    };
    assert!(!delete(&layout).await, "a template is made of it");
    let job = fixture.job(2, 1).await;
    assert_eq!(accepted(&fixture.commit(&[job]).await[0]), 2);
    let sent = fixture.store.template_usage(fixture.account, NOW).await.expect("readable");
    assert_eq!(sent, [("welcome".to_owned(), 2)]);
    let row = fixture.template(TemplateKind::Template, "welcome").await;
    assert!(row.is_sent && !delete(&row).await, "it was sent");
    let other = fixture.add(TemplateKind::Template, "never").await;
    assert!(fixture.publish(&other, Some(&layout)).await);
    let other = fixture.template(TemplateKind::Template, "never").await;
    assert!(delete(&other).await);
    assert_eq!(fixture.store.templates(fixture.account).await.expect("readable").len(), 1);
}

#[tokio::test]
async fn sends_of_a_template_that_came_to_nothing_are_counted() {
    let fixture = Fixture::with_credits(5).await;
    let job = fixture.job(3, 1).await;
    assert_eq!(accepted(&fixture.commit(&[job]).await[0]), 3);
    let leases = lease(&fixture.store, "one", NOW).await;
    let ends = [FAILED, AfterAttempt::Delivered, FAILED];
    let settlements: Vec<_> = leases.iter().zip(ends).map(|(it, end)| settled(it, end)).collect();
    fixture.store.settle("one", &settlements, NOW).await.expect("settles");
    let refusal = |template: Option<Slug>| RefusalRecord {
        id: DecisionId::new(NOW),
        account_id: fixture.account,
        code: "FORBIDDEN",
        template,
        plugins: Arc::from([]),
    };
    let refusals = [refusal(Some(slug("welcome"))), refusal(None)];
    fixture.store.record_refusals(&refusals, NOW).await.expect("recorded");
    let counted = fixture.store.template_failures(fixture.account, NOW).await.expect("readable");
    assert_eq!(counted, [("welcome".to_owned(), TemplateFailures { refused: 1, failed: 2 })]);
    let later = NOW.after(Duration::from_hours(31 * 24));
    assert_eq!(
        fixture.store.template_failures(fixture.account, later).await.expect("readable"),
        []
    );
}

#[tokio::test]
async fn a_template_is_added_on_what_its_owner_has_of_its_kind() {
    let fixture = Fixture::with_credits(0).await;
    let name = slug("base");
    let add = async |owner, kind| {
        let draft = source("x");
        let id = TemplateId::new(NOW);
        let new = NewTemplate { id, owner, kind, slug: &name, draft: &draft, by: "cli" };
        let decide = |facts: AddingTemplateFacts| if facts.is_taken { Err(facts) } else { Ok(()) };
        fixture.store.add_template(&new, NOW, decide).await.expect("the statements are right")
    };
    let own = TemplateOwner::Account(fixture.account);
    for (owner, kind) in [
        (own, TemplateKind::Template),
        (own, TemplateKind::Layout),
        (own, TemplateKind::Partial),
        (TemplateOwner::Server, TemplateKind::Layout),
        (TemplateOwner::Server, TemplateKind::Partial),
    ] {
        assert_eq!(add(owner, kind).await, Ok(()));
        let facts = AddingTemplateFacts { is_taken: true, of_kind: 1 };
        assert_eq!(add(owner, kind).await, Err(facts));
    }
}

/// What a server of schema 16 wrote: a layout as a text, and one example.
const OF_SCHEMA_16: &str = r#"
    INSERT INTO accounts (id, name, plan, state, created_at) VALUES (x'0A', 'a', 'pro', 'active', 1);
    INSERT INTO templates VALUES (x'000000000000000000000000000000A1', x'0A', 'one', 2, 5);
    INSERT INTO templates VALUES (x'000000000000000000000000000000A2', x'0A', 'two', 1, 5);
    INSERT INTO template_versions VALUES (x'000000000000000000000000000000A1', 1,
        '{"name":"n","description":"","subject":"s","html":"h","layout":"<b>{{ content }}</b>","tags":[],"example":{}}',
        '[]', 5);
    INSERT INTO template_versions VALUES (x'000000000000000000000000000000A1', 2,
        '{"name":"n","description":"","subject":"s","html":"h","layout":"<i>\"{{ content }}\"</i>","tags":["t"],"example":{"a":1}}',
        '[{"path":"a","required":true}]', 6);
    INSERT INTO template_versions VALUES (x'000000000000000000000000000000A2', 1,
        '{"name":"n","description":"","subject":"s","text":"t","tags":[],"example":{}}', '[]', 5);
    INSERT INTO dictionaries (template_id, revision, bytes) VALUES (x'000000000000000000000000000000A1', 2, x'00');
"#;

#[tokio::test]
async fn a_directory_of_schema_16_is_migrated_with_its_layouts_and_examples() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("test.db");
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&file).create_if_missing(true);
    let mut connection = sqlx::ConnectOptions::connect(&options).await.expect("opens");
    BASELINE.run(&mut connection).await.expect("made");
    // The fixture writes the account's identifier as one byte, so that its rows can be read; the column wants 16.
    let rows = OF_SCHEMA_16.replace("x'0A'", "x'0000000000000000000000000000000A'");
    sqlx::raw_sql(sqlx::AssertSqlSafe(rows)).execute(&mut connection).await.expect("written");
    sqlx::Connection::close(connection).await.expect("closed");

    let place = Place::File(file.clone());
    Store::upgrade(&place, &Clock::system()).await.expect("migrated");
    let store = Store::open(place).await.expect("opens");
    let account = store.accounts(NOW).await.expect("readable").swap_remove(0).account.id;
    let owner = TemplateOwner::Account(account);
    let versions = store.templates(account).await.expect("readable");
    let [one, two] = &versions[..] else { panic!("{versions:?}") };
    assert_eq!((one.slug.as_str(), one.revision, two.revision), ("one", 2, 1));
    let layout = one.blocks.layout.as_ref().expect("a layout");
    assert_eq!(layout.source.html.as_deref(), Some("<i>\"{{ content }}\"</i>"));
    assert_eq!(one.source.layout.as_ref(), Some(&layout.name));
    assert_eq!(json!(one.source.example()), json!({"a": 1}));
    assert_eq!((one.variables.len(), one.dictionary.is_some()), (1, true));
    assert_eq!((&two.source.layout, two.source.example()), (&None, None));
    for (name, html) in [("base", "<b>{{ content }}</b>"), ("base-2", "<i>\"{{ content }}\"</i>")] {
        let row = store.template(owner, TemplateKind::Layout, &slug(name)).await.expect("readable");
        let published = row.as_ref().expect("there").published.as_ref().expect("published");
        assert_eq!(published.source.html.as_deref(), Some(html));
        let users = store.users_of_block(row.expect("there").id, 10).await.expect("readable");
        let wanted: &[&str] = if name == "base" { &[] } else { &["one"] };
        assert_eq!(users.iter().map(|it| it.slug.as_str()).collect::<Vec<_>>(), wanted);
    }
    let first = store.template_version(one.template_id, 1).await.expect("readable").expect("there");
    assert_eq!(first.source.layout.as_ref().map(Slug::as_str), Some("base"));
    // What was there may have been sent: nobody has counted.
    let row = store.template(owner, TemplateKind::Template, &slug("two")).await.expect("readable");
    assert!(row.expect("there").is_sent);
    let found = sql("PRAGMA foreign_key_check").all(&store.db.writer).await.expect("checked");
    assert!(found.is_empty(), "{found:?}");
}
