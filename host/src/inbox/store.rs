//! Stores the messages of the sandbox inbox: in a file, or in the database that nodes share. Bounded by [`Bounds`].

mod file;
mod quota;
mod row;

use std::path::Path;
use std::sync::Arc;

use tokio::sync::Mutex;

use super::InboxError;
use crate::store::{MailBounds, NewMail, SandboxMail, Store};
use file::InboxFile;
pub use quota::Bounds;
pub use row::{Arrival, InvalidMailId, MailId, StoredMessage, Summary};

/// Cheap to clone; all clones share its connections.
#[derive(Debug, Clone)]
pub struct InboxStore {
    place: Place,
    bounds: Bounds,
}

#[derive(Debug, Clone)]
enum Place {
    /// Of one machine.
    File(InboxFile),
    /// Of all nodes. The mutex lets this node store one message at a time: in the database a second one would wait for the
    /// first anyway, and while it waits it would hold a connection that commits need.
    Shared(Box<Store>, Arc<Mutex<()>>),
}

/// Some messages, newest first.
#[derive(Debug, Clone)]
pub struct Page {
    pub rows: Vec<Summary>,
    /// Whether there are older ones.
    pub has_more: bool,
}

impl InboxStore {
    /// Opens the file, or creates it.
    ///
    /// # Errors
    /// It cannot be opened, or is no database of an inbox.
    pub async fn open(file: &Path) -> Result<Self, InboxError> {
        Self::open_with_bounds(file, Bounds::default()).await
    }

    /// Opens the file with other bounds than the default.
    ///
    /// # Errors
    /// It cannot be opened, or is no database of an inbox.
    pub async fn open_with_bounds(file: &Path, bounds: Bounds) -> Result<Self, InboxError> {
        Ok(Self { place: Place::File(InboxFile::open(file).await?), bounds })
    }

    /// The inbox of all nodes that share a database.
    #[must_use]
    pub fn shared(store: Store) -> Self {
        Self::shared_with_bounds(store, Bounds::default())
    }

    /// The same with other bounds than the default.
    #[must_use]
    pub fn shared_with_bounds(store: Store, bounds: Bounds) -> Self {
        Self { place: Place::Shared(Box::new(store), Arc::default()), bounds }
    }

    /// Stores a message, a row for each recipient, all or none; then deletes the oldest messages beyond the bounds.
    ///
    /// # Errors
    /// The file or the database failed; nothing was stored.
    pub async fn insert(&self, arrival: &Arrival) -> Result<(), InboxError> {
        let headers = row::ListedHeaders::of(arrival);
        let (store, turn) = match &self.place {
            Place::File(file) => return file.insert(arrival, &headers, self.bounds).await,
            Place::Shared(store, turn) => (store, turn),
        };
        let recipients = arrival.recipients.iter();
        let mails: Vec<NewMail<'_>> = recipients.map(|to| headers.mail(to, arrival)).collect();
        let Bounds { messages, bytes } = self.bounds;
        let _turn = turn.lock().await;
        Ok(store.keep_mail(&mails, MailBounds { messages, bytes }).await?)
    }

    /// At most `limit` messages, newest first: those before `after`, those for `to`, where given.
    pub async fn list(
        &self,
        limit: u16,
        after: Option<MailId>,
        to: Option<&str>,
    ) -> Result<Page, InboxError> {
        let one_more = i64::from(limit) + 1;
        let mut rows: Vec<Summary> = match &self.place {
            Place::File(file) => file.list(one_more, after, to).await?,
            Place::Shared(store, _) => {
                let rows = store.mails(one_more, after.map(MailId::number), to).await?;
                rows.into_iter().map(Summary::from).collect()
            }
        };
        let has_more = rows.len() > usize::from(limit);
        rows.truncate(usize::from(limit));
        Ok(Page { rows, has_more })
    }

    /// One message.
    pub async fn get(&self, id: MailId) -> Result<Option<StoredMessage>, InboxError> {
        match &self.place {
            Place::File(file) => file.get(id).await,
            Place::Shared(store, _) => Ok(store.mail(id.number()).await?.map(StoredMessage::from)),
        }
    }

    /// Deletes the copies of messages that were sent, where they are still there.
    ///
    /// # Errors
    /// The file or the database failed; some may be gone.
    pub async fn delete_sent(&self, mails: &[SandboxMail]) -> Result<(), InboxError> {
        match &self.place {
            Place::File(file) => file.delete_sent(mails).await,
            Place::Shared(store, _) => Ok(store.drop_mail(mails).await?),
        }
    }

    /// How many messages are kept.
    pub async fn count(&self) -> Result<i64, InboxError> {
        match &self.place {
            Place::File(file) => file.count().await,
            Place::Shared(store, _) => Ok(store.count_mails().await?),
        }
    }

    /// Closes the file. Whoever still has a clone gets errors, and senders get a reply to retry later.
    pub async fn close(&self) {
        match &self.place {
            Place::File(file) => file.close().await,
            // Whoever opened the store closes it.
            Place::Shared(..) => {}
        }
    }
}
