//! Moves all that is in one database into an empty one of the other kind, row by row (decision 0070).
//!
//! The order of the end is what makes it safe: the target is whole and compared, then the source says that it was moved,
//! then the target stops saying that it is half. A process that is killed anywhere leaves at most one database that a
//! server starts with.

pub mod marks;
mod read;
mod schema;
mod value;
mod walk;
mod write;

use super::connections::{Database, Tx};
use super::statement::sql;
use super::{migrations, postgres, sqlite};
use crate::store::error::TransferError;
use crate::store::{Place, StoreError};
use marks::{FILLED, Filling, MOVED};
use read::Reader;
use schema::{Schema, Table};
use write::Writer;

pub use walk::Copied;

/// Tables in which a new database has rows.
const BEGUN: [&str; 5] = ["inbox_total", "probe", "revision", "upkeep", "webhook_cursor"];
/// What nodes share in a server's database stands beside a file, in its data directory: nobody would read it there.
const BESIDE_A_FILE: [&str; 4] = ["inbox", "inbox_total", "plugin_blobs", "plugin_slots"];

/// A database that can be moved.
#[derive(Debug)]
pub struct Source {
    place: Place,
    reader: Reader,
    schema: Schema,
    /// Of its events; no other installation has it.
    salt: String,
}

/// How far the database is that is to be filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Empty,
    /// A move from the same source has filled a part of it.
    Half,
}

/// A move under way.
#[derive(Debug)]
pub struct Transfer {
    source: Source,
    target: Reader,
    /// The target, in words.
    name: String,
    writer: Writer,
    tables: Vec<Table>,
}

/// Keeps everybody from writing into the source.
#[derive(Debug)]
pub struct Hold {
    db: Database,
    tx: Tx,
}

/// What a move does just now.
#[derive(Debug, Clone, Copy)]
pub enum Progress<'a> {
    /// So many rows of a table were looked at.
    Rows {
        table: &'a str,
        rows: u64,
    },
    Copied {
        table: &'a str,
        copied: Copied,
    },
    Compared {
        table: &'a str,
        rows: u64,
    },
}

/// A table that is the same on both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparedTable {
    pub name: String,
    pub rows: u64,
    /// SHA-256 over its rows in the order of their keys, in hexadecimal digits.
    pub digest: String,
}

/// A database in words, without a password.
pub fn name_of(place: &Place) -> Result<String, StoreError> {
    match place {
        Place::File(file) => {
            // The same before and after it is made.
            let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
            Ok(file.display().to_string())
        }
        Place::Server(url) => postgres::name_of(url),
    }
}

impl Source {
    /// Opens a database for reading, beside a server that works with it. Changes nothing.
    ///
    /// # Errors
    /// It is no store of this version, or half of a move.
    pub async fn open(place: &Place) -> Result<Self, StoreError> {
        let mut reader = Box::pin(Reader::open(place)).await?;
        let newest = reader.newest();
        match reader.version().await? {
            Some(migration) if migration > newest => return Err(StoreError::Newer { migration }),
            Some(migration) if migration == newest => {}
            Some(_) | None => return Err(TransferError::Outdated { name: name_of(place)? }.into()),
        }
        if reader.noted(FILLED).await?.is_some() {
            return Err(TransferError::Half.into());
        }
        let salt = reader.noted("event_salt").await?.unwrap_or_default();
        let schema = reader.schema().await?;
        Ok(Self { place: place.clone(), reader, schema, salt })
    }

    /// What the server that works with it has noted under a name.
    pub async fn noted(&mut self, name: &str) -> Result<Option<String>, StoreError> {
        self.reader.noted(name).await
    }

    /// How many rows each table has.
    pub async fn counts(&mut self) -> Result<Vec<(String, i64)>, StoreError> {
        let mut counts = Vec::with_capacity(self.schema.len());
        for table in self.schema.keys() {
            counts.push((table.clone(), self.reader.count(table).await?));
        }
        Ok(counts)
    }

    /// Whether a database can be filled from this one. Changes nothing.
    ///
    /// # Errors
    /// It has data, or is half of another move; or this one was moved elsewhere.
    pub async fn standing(&mut self, to: &Place) -> Result<Standing, StoreError> {
        let name = name_of(to)?;
        self.refuse_elsewhere(&name).await?;
        if let Place::File(file) = to
            && std::fs::metadata(file).map_or(0, |it| it.len()) == 0
        {
            return Ok(Standing::Empty);
        }
        let mut target = Box::pin(Reader::open(to)).await?;
        if target.version().await?.is_none() {
            return Ok(Standing::Empty);
        }
        if let Some(filling) = target.noted(FILLED).await? {
            let filling: Option<Filling> = serde_json::from_str(&filling).ok();
            return match filling.filter(|it| it.from == self.salt) {
                Some(_) => Ok(Standing::Half),
                None => Err(TransferError::Other { name }.into()),
            };
        }
        for table in target.schema().await?.into_keys() {
            if !BEGUN.contains(&table.as_str()) && target.has_rows(&table).await? {
                return Err(TransferError::Filled { name, table }.into());
            }
        }
        target.close().await?;
        Ok(Standing::Empty)
    }

    async fn refuse_elsewhere(&mut self, name: &str) -> Result<(), StoreError> {
        match self.reader.noted(MOVED).await? {
            Some(to) if to != name => Err(TransferError::Moved { to }.into()),
            Some(_) | None => Ok(()),
        }
    }
}

impl Transfer {
    /// Makes the tables of the target, and marks it: no server starts with it before the move is at its end.
    pub async fn begin(mut source: Source, to: &Place) -> Result<Self, StoreError> {
        source.standing(to).await?;
        let made = match to {
            Place::File(file) => Box::pin(sqlite::open(file)).await?,
            Place::Server(url) => Box::pin(postgres::open(url, &migrations::POSTGRES)).await?,
        };
        made.close().await;
        let mut target = Box::pin(Reader::open(to)).await?;
        let schema = target.schema().await?;
        let tables = tables(to, (&source.schema, &schema))?;
        let mut writer = Box::pin(Writer::open(to)).await?;
        Box::pin(writer.prepare(&source.salt, &tables)).await?;
        Ok(Self { source, target, name: name_of(to)?, writer, tables })
    }

    /// Copies what differs. What is written into the source meanwhile is taken along in part.
    pub async fn copy(&mut self, told: &mut dyn FnMut(Progress<'_>)) -> Result<Copied, StoreError> {
        let mut all = Copied::default();
        for table in &self.tables {
            let name = table.name.as_str();
            let mut looked_at = |rows| told(Progress::Rows { table: name, rows });
            let readers = (&mut self.source.reader, &mut self.target);
            let copied = walk::copy(table, readers, &mut self.writer, &mut looked_at);
            let copied = Box::pin(copied).await?;
            told(Progress::Copied { table: name, copied });
            all.added += copied.added;
            all.removed += copied.removed;
            all.same += copied.same;
        }
        Ok(all)
    }

    /// Compares all rows of both sides.
    ///
    /// # Errors
    /// A row differs; the error names its table and key.
    pub async fn compare(
        &mut self,
        told: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Vec<ComparedTable>, StoreError> {
        compare_all(&self.tables, (&mut self.source.reader, &mut self.target), told).await
    }

    /// Lets nobody write into the source from now on. Only for whoever has it to himself, without a server.
    pub async fn hold(&mut self) -> Result<Hold, StoreError> {
        let db = match &self.source.place {
            Place::File(file) => Box::pin(sqlite::open(file)).await?,
            Place::Server(url) => Box::pin(postgres::open(url, &migrations::POSTGRES)).await?,
        };
        let mut tx = db.begin("transfer").await?;
        if let Place::Server(_) = self.source.place {
            // The session says nothing for as long as rows are copied and compared.
            let patience = sql("SET LOCAL idle_in_transaction_session_timeout = 0");
            patience.run(&mut tx).await?;
        }
        self.source.refuse_elsewhere(&self.name).await?;
        Ok(Hold { db, tx })
    }

    /// Ends the move: from now on servers start with the target, and with the source no more.
    pub async fn finish(mut self, hold: Hold) -> Result<(), StoreError> {
        let numbers = self.source.reader.numbers().await?;
        Box::pin(self.writer.finish(&self.tables, &numbers)).await?;
        let Hold { db, mut tx } = hold;
        sql("-- transfer: moved
             INSERT INTO upkeep (name, value) VALUES ($1, $2)
             ON CONFLICT (name) DO UPDATE SET value = excluded.value")
        .bind(MOVED)
        .bind(&self.name)
        .run(&mut tx)
        .await?;
        tx.commit().await?;
        self.writer.release().await?;
        self.source.reader.close().await?;
        self.target.close().await?;
        self.writer.close().await?;
        db.close().await;
        Ok(())
    }
}

/// Whether a server works with a database, or may still do.
pub async fn has_node(place: &Place) -> Result<bool, StoreError> {
    let mut reader = Box::pin(Reader::open(place)).await?;
    let has = match reader.version().await? {
        Some(version) if version == reader.newest() => reader.has_node().await?,
        Some(_) | None => false,
    };
    reader.close().await?;
    Ok(has)
}

/// Compares two databases of this version that nobody writes into.
///
/// # Errors
/// A row differs; the error names its table and key.
pub async fn compare(
    (from, to): (&Place, &Place),
    told: &mut dyn FnMut(Progress<'_>),
) -> Result<Vec<ComparedTable>, StoreError> {
    let (mut source, mut target) = (Source::open(from).await?, Source::open(to).await?);
    let tables = tables(to, (&source.schema, &target.schema))?;
    compare_all(&tables, (&mut source.reader, &mut target.reader), told).await
}

/// The tables that are moved there.
fn tables(to: &Place, (source, target): (&Schema, &Schema)) -> Result<Vec<Table>, TransferError> {
    match to {
        Place::File(_) => {
            let mut tables = schema::tables(target, source)?;
            tables.retain(|it| !BESIDE_A_FILE.contains(&it.name.as_str()));
            Ok(tables)
        }
        Place::Server(_) => schema::tables(source, target),
    }
}

async fn compare_all(
    tables: &[Table],
    (source, target): (&mut Reader, &mut Reader),
    told: &mut dyn FnMut(Progress<'_>),
) -> Result<Vec<ComparedTable>, StoreError> {
    let mut compared = Vec::with_capacity(tables.len());
    for table in tables {
        let name = table.name.as_str();
        let mut looked_at = |rows| told(Progress::Rows { table: name, rows });
        let readers = (&mut *source, &mut *target);
        let content = Box::pin(walk::compare(table, readers, &mut looked_at)).await?;
        let value::Content { rows, digest } = content;
        told(Progress::Compared { table: name, rows });
        compared.push(ComparedTable { name: name.to_owned(), rows, digest });
    }
    Ok(compared)
}

#[cfg(test)]
mod tests;
