//! Decisions of plugins in short form: what never changes about them stands once in `plugin_identities`, and a
//! decision has its number there. The migration says what both look like.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

use serde::ser::SerializeSeq as _;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::database::{Connections, Row, Tx, column, inconsistent, sql, to_json};
use super::records::PluginDecision;
use crate::store::StoreError;

/// The identities that are known, by number and by text.
#[derive(Debug, Default)]
pub struct Identities {
    known: RwLock<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// By kind and by text.
    numbers: HashMap<String, HashMap<String, i64>>,
    /// Kind and text.
    texts: HashMap<i64, (String, String)>,
}

/// Identities that one transaction has added: they are known to all when it has committed.
#[derive(Debug, Default)]
#[must_use = "what was added is to be kept when the transaction has committed"]
pub struct Added(Known);

/// A decision in short form.
struct Short<'a> {
    identity: i64,
    decision: &'a PluginDecision,
}

const IDENTITIES: &str = "-- identities\nSELECT id, kind, identity FROM plugin_identities";

impl Identities {
    /// Reads all of them. Rows never go, so what is known stays: a commit may have added one since they were read.
    pub async fn read(&self, readers: &Connections) -> Result<(), StoreError> {
        let rows = sql(IDENTITIES).all(readers).await?;
        let mut read: Vec<(i64, String, String)> = Vec::with_capacity(rows.len());
        for row in &rows {
            read.push((column(row, "id")?, column(row, "kind")?, column(row, "identity")?));
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        for (number, kind, text) in read {
            known.add(number, kind, text);
        }
        Ok(())
    }

    /// Forgets all identities, because the database has gone back to an earlier state: their numbers may be those of other
    /// identities now.
    pub fn forget(&self) {
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = Known::default();
    }

    /// Decisions in short form. An identity that is new is written down in `tx`.
    pub async fn shorten(
        &self,
        tx: &mut Tx,
        added: &mut Added,
        decisions: &[PluginDecision],
    ) -> Result<String, StoreError> {
        let mut short = Vec::with_capacity(decisions.len());
        for decision in decisions {
            let known = self.number(decision).or_else(|| added.0.number(decision));
            let identity = match known {
                Some(number) => number,
                None => add(tx, added, decision).await?,
            };
            short.push(Short { identity, decision });
        }
        Ok(to_json(&short))
    }

    /// Keeps what a transaction has added, now that it has committed.
    pub fn keep(&self, added: Added) {
        if added.0.texts.is_empty() {
            return;
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        for (number, (kind, text)) in added.0.texts {
            known.add(number, kind, text);
        }
    }

    /// Decisions as they are shown, of a text column in short form.
    pub async fn lengthen(
        &self,
        readers: &Connections,
        row: &Row,
        (table, name): (&'static str, &'static str),
    ) -> Result<Value, StoreError> {
        let text: &str = column(row, name)?;
        let short: Vec<Vec<Value>> =
            serde_json::from_str(text).map_err(|_| inconsistent(table, name, text))?;
        if short.iter().any(|it| !self.knows(it)) {
            // Another process may have added some.
            self.read(readers).await?;
        }
        let long = short.into_iter().map(|it| self.long(it));
        let long: Option<Vec<Value>> = long.collect();
        long.map(Value::Array).ok_or_else(|| inconsistent(table, name, text))
    }

    /// The numbers of the identities that have this name, slot or digest.
    pub async fn named(&self, readers: &Connections, wanted: &str) -> Result<Vec<i64>, StoreError> {
        self.read(readers).await?;
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let is_wanted = |text: &str| {
            let identity: Map<String, Value> = serde_json::from_str(text).unwrap_or_default();
            ["name", "slot", "digest"].iter().any(|it| identity.get(*it) == Some(&wanted.into()))
        };
        let named = known.texts.iter().filter(|(_, (_, text))| is_wanted(text));
        Ok(named.map(|(number, _)| *number).collect())
    }

    fn number(&self, decision: &PluginDecision) -> Option<i64> {
        self.known.read().unwrap_or_else(PoisonError::into_inner).number(decision)
    }

    fn knows(&self, short: &[Value]) -> bool {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        short.first().and_then(Value::as_i64).is_some_and(|it| known.texts.contains_key(&it))
    }

    fn long(&self, short: Vec<Value>) -> Option<Value> {
        let mut short = short.into_iter();
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let (kind, identity) = known.texts.get(&short.next()?.as_i64()?)?;
        let mut long = Map::new();
        long.insert("kind".to_owned(), Value::from(kind.as_str()));
        let identity: Map<String, Value> = serde_json::from_str(identity).ok()?;
        long.extend(identity);
        for name in ["verdict", "reason", "micros"] {
            long.insert(name.to_owned(), short.next()?);
        }
        if let Some(blank) = short.next().filter(|it| it.as_array().is_none_or(|it| !it.is_empty()))
        {
            long.insert("blank".to_owned(), blank);
        }
        if let Some(locale) = short.next() {
            long.insert("locale".to_owned(), locale);
        }
        Some(Value::Object(long))
    }
}

/// Writes an identity down. A process that has not read it yet finds it there.
async fn add(tx: &mut Tx, added: &mut Added, decision: &PluginDecision) -> Result<i64, StoreError> {
    let row = sql("-- add an identity
         INSERT INTO plugin_identities (kind, identity) VALUES ($1, $2)
         ON CONFLICT (kind, identity) DO UPDATE SET kind = excluded.kind
         RETURNING id")
    .bind(decision.kind)
    .bind(&*decision.identity)
    .one(tx)
    .await?;
    let number = column(&row, "id")?;
    added.0.add(number, decision.kind.to_owned(), (*decision.identity).to_owned());
    Ok(number)
}

impl Known {
    fn add(&mut self, number: i64, kind: String, text: String) {
        self.numbers.entry(kind.clone()).or_default().insert(text.clone(), number);
        self.texts.insert(number, (kind, text));
    }

    fn number(&self, decision: &PluginDecision) -> Option<i64> {
        self.numbers.get(decision.kind)?.get(&*decision.identity).copied()
    }
}

impl Serialize for Short<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let decision = self.decision;
        let mut list = serializer.serialize_seq(None)?;
        list.serialize_element(&self.identity)?;
        list.serialize_element(&decision.verdict)?;
        list.serialize_element(&decision.reason)?;
        list.serialize_element(&decision.micros)?;
        if !decision.blank.is_empty() || decision.locale.is_some() {
            list.serialize_element(&decision.blank)?;
        }
        if let Some(locale) = &decision.locale {
            list.serialize_element(locale)?;
        }
        list.end()
    }
}
