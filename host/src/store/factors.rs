//! Second factors of people, and the recovery codes that stand in for them.

use super::Store;
use super::database::{Tx, column, sql};
use super::sessions::end_other_sessions;
use crate::clock::Timestamp;
use crate::id::{SessionId, UserId};
use crate::store::StoreError;

/// A second factor, sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FactorRow {
    pub secret: Vec<u8>,
    /// The time step of the last code that was accepted.
    pub last_step: i64,
}

/// A second factor to keep, with the recovery codes that stand in for it.
#[derive(Debug, Clone)]
pub struct NewFactor {
    pub secret: Vec<u8>,
    pub last_step: i64,
    pub recovery_codes: Vec<[u8; 32]>,
}

impl Store {
    /// The second factor of a person.
    pub async fn factor(&self, user: UserId) -> Result<Option<FactorRow>, StoreError> {
        let row = sql("-- factor
             SELECT secret, last_step FROM factors WHERE user_id = $1 AND kind = 'totp'")
        .bind(user)
        .optional(&self.db.readers)
        .await?;
        let row = row.map(|row| {
            Ok(FactorRow { secret: column(&row, "secret")?, last_step: column(&row, "last_step")? })
        });
        row.transpose()
    }

    /// Gives a person a second factor, or another one; its recovery codes replace those before. All sessions end but the
    /// one that is kept: they were opened without it.
    pub async fn replace_factor(
        &self,
        (user, kept): (UserId, SessionId),
        factor: &NewFactor,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let mut tx = self.db.begin("replace_factor").await?;
        put_factor(&mut tx, user, factor, now).await?;
        end_other_sessions(user, kept).run(&mut tx).await?;
        tx.commit().await
    }

    /// Takes the second factor and its recovery codes away.
    pub async fn remove_factor(&self, user: UserId) -> Result<(), StoreError> {
        let mut tx = self.db.begin("remove_factor").await?;
        delete_factor(&mut tx, user).await?;
        tx.commit().await
    }

    /// Accepts the code of a time step, if none of this step or a later one was accepted before. Answers whether
    /// it is.
    pub async fn accept_step(&self, user: UserId, step: i64) -> Result<bool, StoreError> {
        let accepted = sql("-- accept_step
             UPDATE factors SET last_step = $2 WHERE user_id = $1 AND kind = 'totp' AND last_step < $2")
        .bind(user)
        .bind(step)
        .run(&self.db.writer)
        .await?;
        Ok(accepted == 1)
    }

    /// Uses a recovery code up; answers whether it was one that had not been used.
    pub async fn use_recovery_code(
        &self,
        user: UserId,
        hash: &[u8; 32],
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        let found = sql("-- use_recovery_code
             UPDATE recovery_codes SET used_at = $3
             WHERE user_id = $1 AND hash = $2 AND used_at IS NULL")
        .bind(user)
        .bind(hash.to_vec())
        .bind(now.millis())
        .run(&self.db.writer)
        .await?;
        Ok(found == 1)
    }

    /// How many recovery codes a person has left.
    pub async fn recovery_codes_left(&self, user: UserId) -> Result<u32, StoreError> {
        let row = sql("-- recovery_codes_left
             SELECT count(*) AS codes FROM recovery_codes WHERE user_id = $1 AND used_at IS NULL")
        .bind(user)
        .one(&self.db.readers)
        .await?;
        column(&row, "codes")
    }
}

pub async fn delete_factor(tx: &mut Tx, user: UserId) -> Result<(), StoreError> {
    let factor = sql("-- remove_factor\nDELETE FROM factors WHERE user_id = $1");
    factor.bind(user).run(&mut *tx).await?;
    let codes = sql("-- remove_factor: codes\nDELETE FROM recovery_codes WHERE user_id = $1");
    codes.bind(user).run(&mut *tx).await.map(|_| ())
}

pub async fn put_factor(
    tx: &mut Tx,
    user: UserId,
    factor: &NewFactor,
    now: Timestamp,
) -> Result<(), StoreError> {
    sql("-- put_factor
         INSERT INTO factors (user_id, kind, secret, last_step, created_at) VALUES ($1, 'totp', $2, $3, $4)
         ON CONFLICT (user_id, kind) DO UPDATE
         SET secret = excluded.secret, last_step = excluded.last_step, created_at = excluded.created_at")
    .bind(user)
    .bind(&factor.secret)
    .bind(factor.last_step)
    .bind(now.millis())
    .run(&mut *tx)
    .await?;
    let before = sql("-- put_factor: codes before\nDELETE FROM recovery_codes WHERE user_id = $1");
    before.bind(user).run(&mut *tx).await?;
    for hash in &factor.recovery_codes {
        sql("-- put_factor: codes\nINSERT INTO recovery_codes (user_id, hash) VALUES ($1, $2)")
            .bind(user)
            .bind(hash.to_vec())
            .run(&mut *tx)
            .await?;
    }
    Ok(())
}
