//! The messages of the sandbox inbox that several nodes share: bounded, the oldest make room for new ones.

use super::Store;
use super::database::{Row, Tx, column, moment, sql};
use super::tries::repeated;
use crate::clock::Timestamp;
use crate::store::{SandboxMail, StoreError};

/// Messages that are looked at, at one time, for those that go.
const OLDEST: i64 = 64;

/// A message that came in for one recipient.
#[derive(Debug, Clone, Copy)]
pub struct NewMail<'a> {
    pub recipient: &'a str,
    /// The address and the display name in its From.
    pub sender: &'a str,
    pub sender_name: &'a str,
    /// The envelope's sender; empty for the null sender.
    pub return_path: &'a str,
    pub subject: &'a str,
    pub received_at: Timestamp,
    /// The message.
    pub raw: &'a [u8],
}

/// How much the inbox may hold.
#[derive(Debug, Clone, Copy)]
pub struct MailBounds {
    pub messages: i64,
    pub bytes: i64,
}

/// What a list shows of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailRow {
    /// Later ones are greater.
    pub id: i64,
    pub recipient: String,
    pub sender: String,
    pub sender_name: String,
    pub subject: String,
    pub received_at: Timestamp,
    pub size: i64,
}

/// A whole message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholeMailRow {
    pub row: MailRow,
    pub return_path: String,
    pub raw: Vec<u8>,
}

impl Store {
    /// Keeps messages, all or none; the oldest beyond the bounds go.
    pub async fn keep_mail(
        &self,
        mails: &[NewMail<'_>],
        bounds: MailBounds,
    ) -> Result<(), StoreError> {
        repeated!(self.keep_mail_once(mails, bounds))
    }

    async fn keep_mail_once(
        &self,
        mails: &[NewMail<'_>],
        bounds: MailBounds,
    ) -> Result<(), StoreError> {
        let mut tx = self.db.begin_beside("keep_mail").await?;
        let size = |mail: &NewMail<'_>| i64::try_from(mail.raw.len()).unwrap_or(i64::MAX);
        let messages = i64::try_from(mails.len()).unwrap_or(i64::MAX);
        // The first statement: its lock on the row of the totals puts arrivals in order. Behind that lock the messages get
        // their numbers, and a read of the inbox sees all that is in it.
        count_mail(&mut tx, messages, mails.iter().map(size).sum()).await?;
        for mail in mails {
            sql("-- keep_mail
                 INSERT INTO inbox
                     (recipient, recipient_key, sender, sender_name, return_path, subject, received_at, size, raw)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)")
            .bind(mail.recipient)
            .bind(mail.recipient.to_ascii_lowercase())
            .bind(mail.sender)
            .bind(mail.sender_name)
            .bind(mail.return_path)
            .bind(mail.subject)
            .bind(mail.received_at.millis())
            .bind(size(mail))
            .bind(mail.raw)
            .run(&mut tx)
            .await?;
        }
        while drop_oldest_mail(&mut tx, bounds).await? {}
        tx.commit().await
    }

    /// At most `limit` messages, newest first: those before `before`, and those for `to` where it is given.
    pub async fn mails(
        &self,
        limit: i64,
        before: Option<i64>,
        to: Option<&str>,
    ) -> Result<Vec<MailRow>, StoreError> {
        let before = before.unwrap_or(i64::MAX);
        let statement = match to {
            None => sql("-- mails
                 SELECT id, recipient, sender, sender_name, subject, received_at, size
                 FROM inbox WHERE id < $1 ORDER BY id DESC LIMIT $2")
            .bind(before)
            .bind(limit),
            Some(to) => sql("-- mails: to
                 SELECT id, recipient, sender, sender_name, subject, received_at, size
                 FROM inbox WHERE recipient_key = $1 AND id < $2 ORDER BY id DESC LIMIT $3")
            .bind(to.to_ascii_lowercase())
            .bind(before)
            .bind(limit),
        };
        statement.all(&self.db.pages).await?.iter().map(mail_row).collect()
    }

    /// One message.
    pub async fn mail(&self, id: i64) -> Result<Option<WholeMailRow>, StoreError> {
        let row = sql("-- mail
             SELECT id, recipient, sender, sender_name, return_path, subject, received_at, size, raw
             FROM inbox WHERE id = $1")
        .bind(id)
        .optional(&self.db.pages)
        .await?;
        let read = |row| {
            Ok(WholeMailRow {
                row: mail_row(&row)?,
                return_path: column(&row, "return_path")?,
                raw: column(&row, "raw")?,
            })
        };
        row.map(read).transpose()
    }

    /// Deletes the copies of messages that were sent, where they are still there.
    pub async fn drop_mail(&self, mails: &[SandboxMail]) -> Result<(), StoreError> {
        let mut tx = self.db.begin("drop_mail").await?;
        let (mut messages, mut bytes) = (0, 0);
        for mail in mails {
            let gone = sql("-- drop_mail
                 DELETE FROM inbox
                 WHERE recipient_key = $1 AND lower(sender) = lower($2) AND received_at >= $3 AND received_at <= $4
                 RETURNING size")
            .bind(mail.recipient.to_ascii_lowercase())
            .bind(&mail.sender)
            .bind(mail.since.millis())
            .bind(mail.until.millis())
            .all(&mut tx)
            .await?;
            for row in &gone {
                messages += 1;
                bytes += column::<i64>(row, "size")?;
            }
        }
        count_mail(&mut tx, -messages, -bytes).await?;
        tx.commit().await
    }

    /// How many messages are kept.
    pub async fn count_mails(&self) -> Result<i64, StoreError> {
        let total = sql("-- count_mails\nSELECT messages FROM inbox_total WHERE id = 1");
        column(&total.one(&self.db.readers).await?, "messages")
    }
}

/// Counts what has come, or gone.
async fn count_mail(tx: &mut Tx, messages: i64, bytes: i64) -> Result<(), StoreError> {
    sql("-- keep_mail: count
         UPDATE inbox_total SET messages = messages + $1, bytes = bytes + $2 WHERE id = 1")
    .bind(messages)
    .bind(bytes)
    .run(tx)
    .await
    .map(|_| ())
}

/// Drops the oldest messages that are too much, within a bound; answers whether there may be more of them.
async fn drop_oldest_mail(tx: &mut Tx, bounds: MailBounds) -> Result<bool, StoreError> {
    let total = sql("-- keep_mail: total\nSELECT messages, bytes FROM inbox_total WHERE id = 1");
    let total = total.one(&mut *tx).await?;
    let mut messages: i64 = column(&total, "messages")?;
    let mut bytes: i64 = column(&total, "bytes")?;
    let is_over = |messages: i64, bytes: i64| messages > bounds.messages || bytes > bounds.bytes;
    if !is_over(messages, bytes) {
        return Ok(false);
    }
    let oldest = sql("-- keep_mail: oldest\nSELECT id, size FROM inbox ORDER BY id LIMIT $1");
    let (mut last, mut gone, mut freed) = (None, 0, 0);
    for row in oldest.bind(OLDEST).all(&mut *tx).await? {
        if !is_over(messages, bytes) {
            break;
        }
        let size: i64 = column(&row, "size")?;
        last = Some(column::<i64>(&row, "id")?);
        (messages, bytes) = (messages - 1, bytes - size);
        (gone, freed) = (gone + 1, freed + size);
    }
    let Some(last) = last else { return Ok(false) };
    let delete = sql("-- keep_mail: drop\nDELETE FROM inbox WHERE id <= $1");
    delete.bind(last).run(&mut *tx).await?;
    count_mail(tx, -gone, -freed).await?;
    Ok(is_over(messages, bytes))
}

fn mail_row(row: &Row) -> Result<MailRow, StoreError> {
    Ok(MailRow {
        id: column(row, "id")?,
        recipient: column(row, "recipient")?,
        sender: column(row, "sender")?,
        sender_name: column(row, "sender_name")?,
        subject: column(row, "subject")?,
        received_at: moment(row, "received_at")?,
        size: column(row, "size")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::test_data;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
    const ROOMY: MailBounds = MailBounds { messages: 1_000, bytes: 1 << 20 };

    fn mail<'a>(recipient: &'a str, subject: &'a str, raw: &'a [u8]) -> NewMail<'a> {
        NewMail {
            recipient,
            sender: "hello@example.com",
            sender_name: "Tern",
            return_path: "",
            subject,
            received_at: NOW,
            raw,
        }
    }

    async fn subjects(store: &Store, to: Option<&str>) -> Vec<String> {
        let mails = store.mails(500, None, to).await.expect("listed");
        mails.into_iter().map(|it| it.subject).collect()
    }

    #[tokio::test]
    async fn the_shared_inbox_lists_by_recipient_in_any_case_and_by_page() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = test_data::open(&directory).await;
        let both = [mail("Ada@example.com", "one", b"1"), mail("eve@example.com", "two", b"2")];
        store.keep_mail(&both, ROOMY).await.expect("kept");
        store.keep_mail(&[mail("ada@Example.com", "three", b"3")], ROOMY).await.expect("kept");
        assert_eq!(subjects(&store, None).await, ["three", "two", "one"]);
        assert_eq!(subjects(&store, Some("ADA@example.com")).await, ["three", "one"]);
        let newest = store.mails(1, None, None).await.expect("listed").remove(0);
        let older = store.mails(1, Some(newest.id), None).await.expect("listed");
        assert_eq!(older[0].subject, "two");
        let whole = store.mail(newest.id).await.expect("readable").expect("it is there");
        assert_eq!((&whole.row, &whole.raw[..]), (&newest, &b"3"[..]));
        assert_eq!(store.mail(newest.id + 1).await.expect("readable"), None);
    }

    #[tokio::test]
    async fn the_oldest_messages_of_the_shared_inbox_make_room() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = test_data::open(&directory).await;
        for number in 1..=5 {
            let subject = number.to_string();
            let bounds = MailBounds { messages: 3, ..ROOMY };
            let mails = [mail("ada@example.com", &subject, b"hi")];
            store.keep_mail(&mails, bounds).await.expect("kept");
        }
        assert_eq!(subjects(&store, None).await, ["5", "4", "3"]);
        assert_eq!(store.count_mails().await.expect("counted"), 3);
    }

    #[tokio::test]
    async fn one_large_message_makes_many_small_ones_of_the_shared_inbox_go() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = test_data::open(&directory).await;
        let small = vec![mail("ada@example.com", "small", &[b'x'; 40]); 200];
        store.keep_mail(&small, ROOMY).await.expect("kept");
        let large = [b'x'; 9_900];
        let bounds = MailBounds { bytes: 10_000, ..ROOMY };
        store.keep_mail(&[mail("ada@example.com", "large", &large)], bounds).await.expect("kept");
        assert_eq!(subjects(&store, None).await, ["large", "small", "small"]);
        assert_eq!(store.count_mails().await.expect("counted"), 3);
    }
}
