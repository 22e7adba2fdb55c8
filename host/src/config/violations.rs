//! The rules that are broken.

use super::unreadable_keys::UnreadableKeys;

/// Collects the rules that are broken.
#[derive(Debug)]
pub struct Violations<'a> {
    pub broken: Vec<String>,
    pub unreadable: &'a UnreadableKeys,
}

impl Violations<'_> {
    /// A rule begins with the key that it is about.
    pub fn must(&mut self, holds: bool, rule: &str) {
        self.must_with(&[], holds, rule);
    }

    /// How a fault names an entry beside its place; nothing where its name is unreadable.
    pub fn called(&self, key: &str, name: &str) -> String {
        if self.unreadable.contains(key) { String::new() } else { format!(" (`{name}`)") }
    }

    /// A rule that is about `others`, too.
    pub fn must_with(&mut self, others: &[&str], holds: bool, rule: &str) {
        let key = rule.split([':', ' ']).next().unwrap_or_default();
        let is_unreadable = |key: &&str| self.unreadable.contains(key);
        if !holds && !others.iter().chain([&key]).any(is_unreadable) {
            self.broken.push(rule.to_owned());
        }
    }
}
