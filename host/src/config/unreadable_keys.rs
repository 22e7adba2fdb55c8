//! Keys whose values could not be read.

/// Keys whose values could not be read. A default or a stand-in is there instead, and no rule is to check it: what
/// it would find is not what the operator wrote.
#[derive(Debug, Clone, Default)]
pub struct UnreadableKeys(Vec<(String, State)>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Failed,
    /// A variable of the environment stands above the file.
    Replaced,
}

impl UnreadableKeys {
    /// A key, as in `delivery.rules[0].route`; with the empty text everything.
    pub fn add(&mut self, key: String) {
        self.0.push((key, State::Failed));
    }

    /// Another value is there now, which could be read.
    pub fn replace(&mut self, key: String) {
        self.0.push((key, State::Replaced));
    }

    /// Whether the value of a key, or what it is a part of, could not be read.
    #[must_use]
    pub fn contains(&self, key: &str) -> bool {
        let last = self.0.iter().rev().find(|(of, _)| covers(of, key));
        last.is_some_and(|(_, state)| *state == State::Failed)
    }

    /// Whether a key or a part of its value could not be read.
    #[must_use]
    pub fn touches(&self, key: &str) -> bool {
        let failed = |(of, state): &(String, State)| {
            covers(key, of) && *state == State::Failed && self.contains(of)
        };
        self.contains(key) || self.0.iter().any(failed)
    }
}

fn covers(whole: &str, part: &str) -> bool {
    let rest = part.strip_prefix(whole);
    whole.is_empty() || rest.is_some_and(|it| it.is_empty() || it.starts_with(['.', '[']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_unreadable_with_all_its_parts_until_another_value_is_there() {
        let mut keys = UnreadableKeys::default();
        keys.add("delivery.rules[1]".to_owned());
        assert!(keys.contains("delivery.rules[1]") && keys.contains("delivery.rules[1].route"));
        assert!(!keys.contains("delivery.rules[10].route") && !keys.contains("delivery.rules"));
        assert!(keys.touches("delivery.rules") && !keys.touches("delivery.smarthosts"));
        keys.replace("delivery.rules".to_owned());
        assert!(!keys.contains("delivery.rules[1].route") && !keys.touches("delivery.rules"));
        keys.add(String::new());
        assert!(keys.contains("smtp.connections"));
    }
}
