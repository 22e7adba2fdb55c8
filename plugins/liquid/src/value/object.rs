//! An object in the order in which it was sent; large ones have an index.

use super::{Object, Str, Value};

/// Above this many keys a sorted index is cheaper than looking at each.
const INDEX_FROM: usize = 32;

impl<'a> Object<'a> {
    /// Keeps the place of the first and the value of the last of duplicate keys.
    pub fn new(entries: Vec<(Str<'a>, Value<'a>)>) -> Self {
        if entries.len() <= INDEX_FROM {
            return Self { entries: few_without_duplicates(entries), sorted: Vec::new() };
        }
        let entries = many_without_duplicates(entries);
        let sorted = sorted_positions(&entries);
        Self { entries, sorted }
    }

    pub fn entries(&self) -> &[(Str<'a>, Value<'a>)] {
        &self.entries
    }

    pub fn get(&self, key: &str) -> Option<&Value<'a>> {
        if self.sorted.is_empty() {
            return self.entries.iter().find(|(it, _)| is_same(it, key)).map(|(_, value)| value);
        }
        let at =
            self.sorted.binary_search_by(|it| (*self.entries[*it as usize].0).cmp(key)).ok()?;
        Some(&self.entries[self.sorted[at] as usize].1)
    }
}

/// Whether two names are equal, in words of eight bytes: `==` compares byte by byte in WebAssembly. Most names
/// differ in their length or in their last character.
pub fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() || a.last() != b.last() {
        return false;
    }
    let ((words, rest), (other_words, other_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let words = words
        .iter()
        .zip(other_words)
        .map(|(a, b)| (u64::from_le_bytes(*a), u64::from_le_bytes(*b)));
    words.map(|(a, b)| a ^ b).all(|it| it == 0) && rest.iter().zip(other_rest).all(|(a, b)| a == b)
}

fn few_without_duplicates<'a>(entries: Vec<(Str<'a>, Value<'a>)>) -> Vec<(Str<'a>, Value<'a>)> {
    let unique = |i: usize| !entries.iter().take(i).any(|(it, _)| is_same(it, &entries[i].0));
    if (1..entries.len()).all(unique) {
        return entries;
    }
    let mut out: Vec<(Str<'a>, Value<'a>)> = Vec::with_capacity(entries.len());
    for (key, value) in entries {
        match out.iter_mut().find(|(it, _)| **it == *key) {
            Some(it) => it.1 = value,
            None => out.push((key, value)),
        }
    }
    out
}

fn many_without_duplicates<'a>(
    mut entries: Vec<(Str<'a>, Value<'a>)>,
) -> Vec<(Str<'a>, Value<'a>)> {
    let sorted = sorted_positions(&entries);
    let mut dropped = vec![false; entries.len()];
    // Positions of equal keys are neighbours, in their own order.
    let mut from = 0;
    for next in 1..=sorted.len() {
        let first = sorted[from] as usize;
        let same = sorted.get(next).is_some_and(|it| entries[*it as usize].0 == entries[first].0);
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

fn sorted_positions(entries: &[(Str<'_>, Value<'_>)]) -> Vec<u32> {
    let mut sorted: Vec<u32> = (0..u32::try_from(entries.len()).unwrap_or(u32::MAX)).collect();
    sorted.sort_by(|a, b| entries[*a as usize].0.cmp(&entries[*b as usize].0));
    sorted
}
