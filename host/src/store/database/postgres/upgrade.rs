//! No node changes the tables under others of an earlier version.

use sqlx::Row as _;
use sqlx::postgres::PgConnection;

use super::super::migrations;
use crate::store::StoreError;
use crate::store::error::ServerError;

/// Earlier versions have no nodes.
const HAS_NODES: &str = "SELECT to_regclass('nodes') IS NOT NULL AS has_nodes";
const OF_AN_EARLIER_VERSION: &str = "SELECT name, version FROM nodes
    WHERE state <> 'gone' AND migration < $1
      AND seen_until > CAST(floor(extract(epoch FROM clock_timestamp()) * 1000) AS BIGINT)
    LIMIT 1";

/// Refuses to go on where the tables are to be migrated and a node works with them that does not know the new ones.
pub async fn refuse_beside_others(connection: &mut PgConnection) -> Result<(), StoreError> {
    let during = || StoreError::during("open");
    let row = sqlx::query(HAS_NODES).fetch_one(&mut *connection).await.map_err(during())?;
    if !row.try_get::<bool, _>("has_nodes").map_err(during())? {
        return Ok(());
    }
    let newest = migrations::newest(&migrations::POSTGRES);
    let other = sqlx::query(OF_AN_EARLIER_VERSION).bind(newest);
    let other = other.fetch_optional(&mut *connection).await.map_err(during())?;
    let Some(row) = other else { return Ok(()) };
    let node = row.try_get("name").map_err(during())?;
    let version = row.try_get("version").map_err(during())?;
    Err(ServerError::OtherVersion { node, version }.into())
}
