//! The slots of plugins that several nodes share: their state, their components, and what each node reports. What the texts
//! say only the plugin host knows.

use std::time::Duration;

use super::Store;
use super::database::{Sql, column, either, sql};
use crate::clock::Timestamp;
use crate::store::StoreError;

const REPORT: Sql = either(
    "-- report_plugins
     INSERT INTO plugin_nodes (node, seen_at, report)
     VALUES ($1, CAST(unixepoch('now', 'subsec') * 1000 AS INTEGER), $2)
     ON CONFLICT (node) DO UPDATE SET seen_at = excluded.seen_at, report = excluded.report",
    "-- postgres: report_plugins
     INSERT INTO plugin_nodes (node, seen_at, report)
     VALUES ($1, CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT), $2)
     ON CONFLICT (node) DO UPDATE SET seen_at = excluded.seen_at, report = excluded.report",
);
const FORGET_NODES: Sql = either(
    "-- report_plugins: others
     DELETE FROM plugin_nodes WHERE seen_at < CAST(unixepoch('now', 'subsec') * 1000 AS INTEGER) - $1",
    "-- postgres: report_plugins: others
     DELETE FROM plugin_nodes
     WHERE seen_at < CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) - $1",
);
const NODES: Sql = either(
    "-- plugin_nodes
     SELECT node, report FROM plugin_nodes
     WHERE seen_at > CAST(unixepoch('now', 'subsec') * 1000 AS INTEGER) - $1 ORDER BY node",
    "-- postgres: plugin_nodes
     SELECT node, report FROM plugin_nodes
     WHERE seen_at > CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT) - $1 ORDER BY node",
);

/// After that time nobody asks any more what a node ran.
const FORGET_NODES_AFTER: Duration = Duration::from_hours(1);

/// A slot, as the plugin host wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginSlotRow {
    /// Moves with each change.
    pub generation: i64,
    pub state: String,
}

impl Store {
    /// The names of all slots, each with the number of its last change.
    pub async fn plugin_generations(&self) -> Result<Vec<(String, i64)>, StoreError> {
        let rows =
            sql("-- plugin_generations\nSELECT slot, generation FROM plugin_slots ORDER BY slot")
                .all(&self.db.readers)
                .await?;
        rows.iter().map(|row| Ok((column(row, "slot")?, column(row, "generation")?))).collect()
    }

    pub async fn plugin_slot(&self, slot: &str) -> Result<Option<PluginSlotRow>, StoreError> {
        let row = sql("-- plugin_slot\nSELECT generation, state FROM plugin_slots WHERE slot = $1")
            .bind(slot)
            .optional(&self.db.readers)
            .await?;
        let read = |row| {
            Ok(PluginSlotRow {
                generation: column(&row, "generation")?,
                state: column(&row, "state")?,
            })
        };
        row.map(read).transpose()
    }

    /// Writes a slot, if nobody has written it since the number `seen`, which is 0 for a slot that is not there. Answers
    /// the new number; none where somebody has.
    pub async fn save_plugin_slot(
        &self,
        slot: &str,
        seen: i64,
        state: &str,
    ) -> Result<Option<i64>, StoreError> {
        let next = seen + 1;
        let written = sql("-- save_plugin_slot
             INSERT INTO plugin_slots (slot, generation, state) VALUES ($1, $2, $3)
             ON CONFLICT (slot) DO UPDATE SET generation = excluded.generation, state = excluded.state
             WHERE plugin_slots.generation = $4")
        .bind(slot)
        .bind(next)
        .bind(state)
        .bind(seen)
        .run(&self.db.writer)
        .await?;
        Ok((written == 1).then_some(next))
    }

    /// The bytes of a component.
    pub async fn plugin_blob(&self, digest: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let row = sql("-- plugin_blob\nSELECT bytes FROM plugin_blobs WHERE digest = $1")
            .bind(digest)
            .optional(&self.db.readers)
            .await?;
        row.map(|row| column(&row, "bytes")).transpose()
    }

    /// Keeps the bytes of a component.
    pub async fn keep_plugin_blob(
        &self,
        digest: &str,
        bytes: &[u8],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        sql("-- keep_plugin_blob
             INSERT INTO plugin_blobs (digest, kept_at, bytes) VALUES ($1, $2, $3)
             ON CONFLICT (digest) DO UPDATE SET kept_at = excluded.kept_at, bytes = excluded.bytes")
        .bind(digest)
        .bind(now.millis())
        .bind(bytes)
        .run(&self.db.writer)
        .await
        .map(|_| ())
    }

    /// Drops components that were given before that moment, but for those of these digests.
    pub async fn drop_plugin_blobs(
        &self,
        before: Timestamp,
        named: &[String],
    ) -> Result<u64, StoreError> {
        sql("-- drop_plugin_blobs
             DELETE FROM plugin_blobs
             WHERE kept_at < $1 AND digest NOT IN (SELECT value FROM json_each($2))")
        .bind(before.millis())
        .list(named)
        .run(&self.db.writer)
        .await
    }

    /// Notes what a node runs, and that it lives; forgets those that have been silent for an hour.
    pub async fn report_plugins(&self, node: &str, report: &str) -> Result<(), StoreError> {
        let mut tx = self.db.begin_beside("report_plugins").await?;
        sql(REPORT).bind(node).bind(report).run(&mut tx).await?;
        sql(FORGET_NODES).bind(millis(FORGET_NODES_AFTER)).run(&mut tx).await?;
        tx.commit().await
    }

    /// The nodes that have reported within that time, each with its report.
    pub async fn plugin_nodes(
        &self,
        within: Duration,
    ) -> Result<Vec<(String, String)>, StoreError> {
        let rows = sql(NODES).bind(millis(within)).all(&self.db.readers).await?;
        rows.iter().map(|row| Ok((column(row, "node")?, column(row, "report")?))).collect()
    }

    /// A node stops: nobody waits for it any more.
    pub async fn forget_plugin_node(&self, node: &str) -> Result<(), StoreError> {
        sql("-- forget_plugin_node\nDELETE FROM plugin_nodes WHERE node = $1")
            .bind(node)
            .run(&self.db.writer)
            .await
            .map(|_| ())
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::test_data;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    #[tokio::test]
    async fn of_two_nodes_that_change_one_slot_the_first_one_counts() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = test_data::open(&directory).await;
        let save = async |seen, state: &str| {
            store.save_plugin_slot("plan-policy", seen, state).await.expect("answered")
        };
        assert_eq!(store.plugin_slot("plan-policy").await.expect("readable"), None);
        assert_eq!(save(0, "first").await, Some(1));
        assert_eq!(save(0, "second").await, None, "another node has made the slot");
        assert_eq!(save(1, "third").await, Some(2));
        assert_eq!(save(1, "fourth").await, None, "another node has changed the slot");
        let row = store.plugin_slot("plan-policy").await.expect("readable");
        assert_eq!(row, Some(PluginSlotRow { generation: 2, state: "third".to_owned() }));
        let all = store.plugin_generations().await.expect("readable");
        assert_eq!(all, [("plan-policy".to_owned(), 2)]);
    }

    #[tokio::test]
    async fn a_component_is_kept_while_it_is_named_or_was_given_lately() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = test_data::open(&directory).await;
        let keep = async |digest: &str, at| {
            store.keep_plugin_blob(digest, digest.as_bytes(), at).await.expect("kept");
        };
        let later = NOW.after(Duration::from_hours(1));
        keep("named", NOW).await;
        keep("old", NOW).await;
        keep("given again", NOW).await;
        keep("given again", later).await;
        let dropped = store.drop_plugin_blobs(later, &["named".to_owned()]).await;
        assert_eq!(dropped.expect("dropped"), 1);
        let bytes = async |digest: &str| store.plugin_blob(digest).await.expect("readable");
        assert_eq!(bytes("named").await, Some(b"named".to_vec()));
        assert_eq!(bytes("given again").await, Some(b"given again".to_vec()));
        assert_eq!(bytes("old").await, None);
    }

    #[tokio::test]
    async fn a_node_lives_as_long_as_it_reports() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = test_data::open(&directory).await;
        store.report_plugins("a", "1").await.expect("written");
        store.report_plugins("b", "2").await.expect("written");
        store.report_plugins("a", "3").await.expect("written");
        let named = |name: &str, report: &str| (name.to_owned(), report.to_owned());
        let minute = Duration::from_mins(1);
        let nodes = store.plugin_nodes(minute).await.expect("readable");
        assert_eq!(nodes, [named("a", "3"), named("b", "2")]);
        store.forget_plugin_node("a").await.expect("forgotten");
        assert_eq!(store.plugin_nodes(minute).await.expect("readable"), [named("b", "2")]);
        let none = store.plugin_nodes(Duration::ZERO).await.expect("readable");
        assert!(none.is_empty(), "no report is younger than now: {none:?}");
    }
}
