//! An object in the order in which it was sent; large ones have an index.

use std::ops::Deref;

use super::{Key, Object, Str, Value};

/// Above this many keys a sorted index is cheaper than looking at each.
const INDEX_FROM: usize = 32;

impl<'a> Key<'a> {
    pub fn new(text: Str<'a>) -> Self {
        Self { tag: tag(&text), text }
    }

    pub const fn text(&self) -> &Str<'a> {
        &self.text
    }
}

impl Deref for Key<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl<'a> Object<'a> {
    /// Keeps the place of the first and the value of the last of duplicate keys.
    pub fn new(entries: Vec<(Key<'a>, Value<'a>)>) -> Self {
        if entries.len() <= INDEX_FROM {
            return Self { entries: few_without_duplicates(entries), sorted: Vec::new() };
        }
        let entries = many_without_duplicates(entries);
        let sorted = sorted_positions(&entries);
        Self { entries, sorted }
    }

    pub fn entries(&self) -> &[(Key<'a>, Value<'a>)] {
        &self.entries
    }

    pub fn get(&self, key: &str) -> Option<&Value<'a>> {
        if self.sorted.is_empty() {
            let tag = tag(key);
            let found = self.entries.iter().find(|(it, _)| it.tag == tag && is_same(it, key));
            return found.map(|(_, value)| value);
        }
        let at =
            self.sorted.binary_search_by(|it| (*self.entries[*it as usize].0).cmp(key)).ok()?;
        Some(&self.entries[self.sorted[at] as usize].1)
    }
}

/// A number that differs for most different keys: made of the last bytes and the length.
fn tag(key: &str) -> u64 {
    last_word(key.as_bytes()) ^ (key.len() as u64) << 56
}

/// The last eight bytes; all of a shorter text, some of them twice. Holds only bytes of the text, and zeros.
pub fn last_word(text: &[u8]) -> u64 {
    if let Some(last) = text.last_chunk() {
        return u64::from_le_bytes(*last);
    }
    match (text.first_chunk(), text.last_chunk()) {
        (Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32
        }
        _ => text.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

/// Whether two names are equal, in words of eight bytes: `==` compares byte by byte in WebAssembly. Most names
/// differ in their length or in their last bytes.
pub fn is_same(a: &str, b: &str) -> bool {
    if a.len() != b.len() || last_word(a.as_bytes()) != last_word(b.as_bytes()) {
        return false;
    }
    let (a, _) = a.as_bytes().as_chunks::<8>();
    let (b, _) = b.as_bytes().as_chunks::<8>();
    a.iter().zip(b).all(|(a, b)| u64::from_le_bytes(*a) == u64::from_le_bytes(*b))
}

fn few_without_duplicates<'a>(entries: Vec<(Key<'a>, Value<'a>)>) -> Vec<(Key<'a>, Value<'a>)> {
    let same = |a: &Key<'_>, b: &Key<'_>| a.tag == b.tag && is_same(a, b);
    let unique = |i: usize| !entries.iter().take(i).any(|(it, _)| same(it, &entries[i].0));
    if (1..entries.len()).all(unique) {
        return entries;
    }
    let mut out: Vec<(Key<'a>, Value<'a>)> = Vec::with_capacity(entries.len());
    for (key, value) in entries {
        match out.iter_mut().find(|(it, _)| same(it, &key)) {
            Some(it) => it.1 = value,
            None => out.push((key, value)),
        }
    }
    out
}

fn many_without_duplicates<'a>(
    mut entries: Vec<(Key<'a>, Value<'a>)>,
) -> Vec<(Key<'a>, Value<'a>)> {
    let sorted = sorted_positions(&entries);
    let mut dropped = vec![false; entries.len()];
    // Positions of equal keys are neighbours, in their own order.
    let mut from = 0;
    for next in 1..=sorted.len() {
        let first = sorted[from] as usize;
        let same = sorted.get(next).is_some_and(|it| *entries[*it as usize].0 == *entries[first].0);
        if same {
            dropped[sorted[next] as usize] = true;
            continue;
        }
        if next - from > 1 {
            entries[first].1 = entries[sorted[next - 1] as usize].1.clone();
        }
        from = next;
    }
    let mut dropped = dropped.into_iter();
    entries.retain(|_| dropped.next() == Some(false));
    entries
}

fn sorted_positions(entries: &[(Key<'_>, Value<'_>)]) -> Vec<u32> {
    let mut sorted: Vec<u32> = (0..u32::try_from(entries.len()).unwrap_or(u32::MAX)).collect();
    sorted.sort_by(|a, b| (*entries[*a as usize].0).cmp(&*entries[*b as usize].0));
    sorted
}
