//! Log-ins that last.

use super::Store;
use super::database::{Row, Statement, column, moment, sql};
use crate::clock::Timestamp;
use crate::id::{AccountId, SessionId, UserId};
use crate::store::StoreError;

/// A session as the server keeps it.
#[derive(Debug, Clone)]
pub struct SessionRow {
    pub id: SessionId,
    pub user: UserId,
    /// The account that its pages show.
    pub account: Option<AccountId>,
    /// The account that an operator acts as.
    pub acting_as: Option<AccountId>,
    pub created_at: Timestamp,
    pub seen_at: Timestamp,
    /// When the password was last given.
    pub verified_at: Timestamp,
    pub expires_at: Timestamp,
    pub ip: String,
    pub agent: String,
}

impl Store {
    /// Keeps a new session under the hash of its secret.
    pub async fn add_session(&self, hash: &[u8; 32], new: &SessionRow) -> Result<(), StoreError> {
        sql("-- add_session
             INSERT INTO sessions (id, hash, user_id, account_id, created_at, seen_at, verified_at, expires_at, ip, agent)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)")
        .bind(new.id)
        .bind(hash.to_vec())
        .bind(new.user)
        .bind(new.account)
        .bind(new.created_at.millis())
        .bind(new.seen_at.millis())
        .bind(new.verified_at.millis())
        .bind(new.expires_at.millis())
        .bind(&new.ip)
        .bind(&new.agent)
        .run(&self.db.writer)
        .await
        .map(|_| ())
    }

    /// The session whose secret has that hash, unless it is over.
    pub async fn session(
        &self,
        hash: &[u8; 32],
        now: Timestamp,
    ) -> Result<Option<SessionRow>, StoreError> {
        let row = sql("-- session
             SELECT id, user_id, account_id, acting_as, created_at, seen_at, verified_at, expires_at, ip, agent
             FROM sessions WHERE hash = $1 AND expires_at > $2")
        .bind(hash.to_vec())
        .bind(now.millis())
        .optional(&self.db.readers)
        .await?;
        row.map(|row| session_row(&row)).transpose()
    }

    /// The sessions of a person that are not over.
    pub async fn sessions(
        &self,
        user: UserId,
        now: Timestamp,
    ) -> Result<Vec<SessionRow>, StoreError> {
        let rows = sql("-- sessions
             SELECT id, user_id, account_id, acting_as, created_at, seen_at, verified_at, expires_at, ip, agent
             FROM sessions WHERE user_id = $1 AND expires_at > $2 ORDER BY id")
        .bind(user)
        .bind(now.millis())
        .all(&self.db.readers)
        .await?;
        rows.iter().map(session_row).collect()
    }

    /// Notes that a session is in use, from where, and until when it lasts now.
    pub async fn touch_session(&self, session: &SessionRow) -> Result<(), StoreError> {
        sql("-- touch_session\nUPDATE sessions SET seen_at = $2, expires_at = $3, ip = $4 WHERE id = $1")
            .bind(session.id)
            .bind(session.seen_at.millis())
            .bind(session.expires_at.millis())
            .bind(&session.ip)
            .run(&self.db.beside)
            .await
            .map(|_| ())
    }

    /// Notes that the password was given again.
    pub async fn verify_session(&self, id: SessionId, now: Timestamp) -> Result<(), StoreError> {
        sql("-- verify_session\nUPDATE sessions SET verified_at = $2 WHERE id = $1")
            .bind(id)
            .bind(now.millis())
            .run(&self.db.writer)
            .await
            .map(|_| ())
    }

    /// Shows another account from now on.
    pub async fn change_session_account(
        &self,
        id: SessionId,
        account: AccountId,
    ) -> Result<(), StoreError> {
        sql("-- change_session_account\nUPDATE sessions SET account_id = $2 WHERE id = $1")
            .bind(id)
            .bind(account)
            .run(&self.db.writer)
            .await
            .map(|_| ())
    }

    /// Lets an operator act as an account from now on, or as none.
    pub async fn change_session_acting(
        &self,
        id: SessionId,
        acting_as: Option<AccountId>,
    ) -> Result<(), StoreError> {
        sql("-- change_session_acting\nUPDATE sessions SET acting_as = $2 WHERE id = $1")
            .bind(id)
            .bind(acting_as)
            .run(&self.db.writer)
            .await
            .map(|_| ())
    }

    /// Ends a session of a person; answers whether there was one.
    pub async fn end_session(&self, user: UserId, id: SessionId) -> Result<bool, StoreError> {
        let ended = sql("-- end_session\nDELETE FROM sessions WHERE user_id = $1 AND id = $2")
            .bind(user)
            .bind(id)
            .run(&self.db.writer)
            .await?;
        Ok(ended == 1)
    }

    /// Ends all sessions of a person but one; answers how many.
    pub async fn end_other_sessions(
        &self,
        user: UserId,
        kept: SessionId,
    ) -> Result<u64, StoreError> {
        end_other_sessions(user, kept).run(&self.db.writer).await
    }

    /// Drops sessions and one-time links that are over, at most `limit` of each, and invitations that count no more, of which
    /// each account makes few. Answers how many went.
    pub async fn drop_sessions(&self, now: Timestamp, limit: u32) -> Result<u64, StoreError> {
        let sessions = sql("-- drop_sessions
             DELETE FROM sessions WHERE id IN (SELECT id FROM sessions WHERE expires_at <= $1 LIMIT $2)")
        .bind(now.millis())
        .bind(limit)
        .run(&self.db.writer)
        .await?;
        let links = sql("-- drop_sessions: links
             DELETE FROM one_time_links
             WHERE hash IN (SELECT hash FROM one_time_links WHERE expires_at <= $1 LIMIT $2)")
        .bind(now.millis())
        .bind(limit)
        .run(&self.db.writer)
        .await?;
        let invitations =
            sql("-- drop_sessions: invitations\nDELETE FROM invitations WHERE expires_at <= $1")
                .bind(now.millis())
                .run(&self.db.writer)
                .await?;
        Ok(sessions + links + invitations)
    }
}

fn session_row(row: &Row) -> Result<SessionRow, StoreError> {
    Ok(SessionRow {
        id: column(row, "id")?,
        user: column(row, "user_id")?,
        account: column(row, "account_id")?,
        acting_as: column(row, "acting_as")?,
        created_at: moment(row, "created_at")?,
        seen_at: moment(row, "seen_at")?,
        verified_at: moment(row, "verified_at")?,
        expires_at: moment(row, "expires_at")?,
        ip: column(row, "ip")?,
        agent: column(row, "agent")?,
    })
}

pub(super) fn end_other_sessions(user: UserId, kept: SessionId) -> Statement<'static> {
    sql("-- end_other_sessions\nDELETE FROM sessions WHERE user_id = $1 AND id <> $2")
        .bind(user)
        .bind(kept)
}
