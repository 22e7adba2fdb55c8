//! Goes through a table on both sides at one time, in the order of the keys: what differs is copied, or is an error.
//!
//! What is there already is left as it is, so a copy goes on where an earlier one ended, and a second one takes along what
//! changed meanwhile.

use std::cmp::Ordering;

use futures_util::StreamExt as _;

use super::read::{Reader, Records};
use super::schema::Table;
use super::value::{Content, Hasher, Record, Value};
use super::write::{Changes, Writer};
use crate::store::StoreError;
use crate::store::error::TransferError;

/// Rows that are written together, unless they are large.
const BATCH_ROWS: usize = 1_000;
const BATCH_OCTETS: usize = 4 << 20;

/// What was done to a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Copied {
    pub added: u64,
    pub removed: u64,
    /// Rows that were there already.
    pub same: u64,
}

/// What a walk changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Round {
    All,
    /// Only takes away what is not, or not so, in the database that is moved.
    Remove,
    /// Only adds what is missing.
    Add,
}

/// Rows at one place of the order.
enum Pair {
    /// The target lacks it.
    Missing(Record),
    /// The source has it no more.
    Left(Record),
    Unlike {
        source: Record,
        target: Record,
    },
    Same,
}

/// The rows of a table in one of the two databases, in the order of their keys.
struct Side<'c> {
    records: Records<'c>,
    table: &'c Table,
    /// The row that comes next.
    next: Option<Record>,
    hasher: Option<Hasher>,
}

struct Pairs<'c> {
    table: &'c Table,
    source: Side<'c>,
    target: Side<'c>,
}

/// Makes the target's table hold what the source's does. `told` hears how many rows were looked at, once a batch.
pub async fn copy(
    table: &Table,
    (source, target): (&mut Reader, &mut Reader),
    writer: &mut Writer,
    told: &mut dyn FnMut(u64),
) -> Result<Copied, StoreError> {
    let is_new = !target.has_rows(&table.name).await?;
    if table.key.is_empty() && !is_new {
        // Its rows may be alike, and no key says which of them to remove.
        if differ(table, source, target).await? {
            writer.empty(table).await?;
        } else {
            return Ok(Copied::default());
        }
    }
    let is_apart = table.is_unique_besides && !is_new;
    // A value that is unique may have gone from one row to another.
    let rounds: &[Round] = if is_apart { &[Round::Remove, Round::Add] } else { &[Round::All] };
    let mut copied = Copied::default();
    for round in rounds {
        let done = walk(table, (&mut *source, &mut *target), writer, *round, told).await?;
        copied.added += done.added;
        copied.removed += done.removed;
        copied.same = done.same;
    }
    Ok(copied)
}

async fn walk(
    table: &Table,
    (source, target): (&mut Reader, &mut Reader),
    writer: &mut Writer,
    round: Round,
    told: &mut dyn FnMut(u64),
) -> Result<Copied, StoreError> {
    let mut pairs = Pairs::begin(table, source, target).await?;
    let (mut changes, mut copied) = (Changes::default(), Copied::default());
    let (mut octets, mut looked_at) = (0, 0_usize);
    while let Some(pair) = pairs.next().await? {
        let (removed, added) = match pair {
            Pair::Missing(record) => (None, Some(record)),
            Pair::Left(record) => (Some(record), None),
            Pair::Unlike { source, target } => (Some(target), Some(source)),
            Pair::Same => {
                copied.same += 1;
                (None, None)
            }
        };
        if let Some(record) = removed.filter(|_| round != Round::Add) {
            copied.removed += 1;
            changes.removed.push(record);
        }
        if let Some(record) = added.filter(|_| round != Round::Remove) {
            copied.added += 1;
            octets += record.iter().map(Value::octets).sum::<usize>();
            changes.added.push(record);
        }
        looked_at += 1;
        let waiting = changes.removed.len().max(changes.added.len());
        if waiting >= BATCH_ROWS || octets >= BATCH_OCTETS {
            writer.write(table, &mut changes).await?;
            octets = 0;
        }
        if looked_at.is_multiple_of(BATCH_ROWS) {
            told(u64::try_from(looked_at).unwrap_or(u64::MAX));
        }
    }
    writer.write(table, &mut changes).await?;
    Ok(copied)
}

async fn differ(
    table: &Table,
    source: &mut Reader,
    target: &mut Reader,
) -> Result<bool, StoreError> {
    let mut pairs = Pairs::begin(table, source, target).await?;
    while let Some(pair) = pairs.next().await? {
        if !matches!(pair, Pair::Same) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Compares a table row by row, and what was read of each side by its number of rows and its digest.
///
/// # Errors
/// A row differs; the error names it.
pub async fn compare(
    table: &Table,
    (source, target): (&mut Reader, &mut Reader),
    told: &mut dyn FnMut(u64),
) -> Result<Content, StoreError> {
    let mut pairs = Pairs::begin(table, source, target).await?;
    pairs.source.hasher = Some(Hasher::new());
    pairs.target.hasher = Some(Hasher::new());
    let mut looked_at = 0_usize;
    while let Some(pair) = pairs.next().await? {
        let (what, record) = match pair {
            Pair::Missing(record) => ("is missing", record),
            Pair::Left(record) => ("is in the filled database alone", record),
            Pair::Unlike { source, .. } => ("has other values", source),
            Pair::Same => {
                looked_at += 1;
                if looked_at.is_multiple_of(BATCH_ROWS) {
                    told(u64::try_from(looked_at).unwrap_or(u64::MAX));
                }
                continue;
            }
        };
        let (table, row) = (table.name.clone(), table.place_of(&record));
        return Err(TransferError::Row { table, row, what }.into());
    }
    let content = |side: Side<'_>| side.hasher.unwrap_or_else(Hasher::new).finish();
    let (moved, written) = (content(pairs.source), content(pairs.target));
    if moved == written {
        Ok(moved)
    } else {
        Err(TransferError::Content { table: table.name.clone() }.into())
    }
}

impl<'c> Pairs<'c> {
    async fn begin(
        table: &'c Table,
        source: &'c mut Reader,
        target: &'c mut Reader,
    ) -> Result<Self, StoreError> {
        let side = |records| Side { records, table, next: None, hasher: None };
        let (mut source, mut target) = (side(source.records(table)), side(target.records(table)));
        source.advance().await?;
        target.advance().await?;
        Ok(Self { table, source, target })
    }

    async fn next(&mut self) -> Result<Option<Pair>, StoreError> {
        let order = match (&self.source.next, &self.target.next) {
            (None, None) => return Ok(None),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(one), Some(other)) => self.table.compare(one, other),
        };
        let source = if order.is_le() { self.source.take().await? } else { None };
        let target = if order.is_ge() { self.target.take().await? } else { None };
        Ok(match (source, target) {
            (Some(source), Some(target)) if source == target => Some(Pair::Same),
            (Some(source), Some(target)) => Some(Pair::Unlike { source, target }),
            (Some(record), None) => Some(Pair::Missing(record)),
            (None, Some(record)) => Some(Pair::Left(record)),
            (None, None) => None,
        })
    }
}

impl Side<'_> {
    /// The row, in whose place the next one comes.
    async fn take(&mut self) -> Result<Option<Record>, StoreError> {
        let record = self.next.take();
        if let (Some(hasher), Some(record)) = (&mut self.hasher, &record) {
            hasher.add(record);
        }
        self.advance().await?;
        let (Some(before), Some(after)) = (&record, &self.next) else { return Ok(record) };
        match self.table.compare(before, after) {
            Ordering::Less => Ok(record),
            // Rows without a key may be alike.
            Ordering::Equal if self.table.key.is_empty() => Ok(record),
            Ordering::Equal | Ordering::Greater => {
                let (table, row) = (self.table.name.clone(), self.table.place_of(after));
                Err(TransferError::Order { table, row }.into())
            }
        }
    }

    async fn advance(&mut self) -> Result<(), StoreError> {
        self.next = self.records.next().await.transpose()?;
        Ok(())
    }
}
