//! What a folder lacks to say what a server says, file by file.

use std::collections::{BTreeMap, BTreeSet};

use super::files::{Entry, FilePlace, Files, PathKind, STATE, look};

/// A file that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Below the folder, with `/` between the steps.
    pub path: String,
    /// What the folder has.
    pub here: Option<String>,
    /// What the server has.
    pub there: Option<String>,
}

/// The files that differ, by path. A file that says the same in other words does not.
#[must_use]
pub fn changes(here: &Files, there: &Files) -> Vec<FileChange> {
    let unchanged = unchanged(here, there);
    let mut places: BTreeMap<String, &str> = BTreeMap::new();
    for (path, _) in here.iter() {
        if let Ok(PathKind::File(place, _)) = look(path) {
            places.insert(key(&place), path);
        }
    }
    let mut changes = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for (path, text) in there.iter() {
        let Ok(PathKind::File(place, file)) = look(path) else { continue };
        let path = places.get(&key(&place)).copied().unwrap_or(path);
        seen.insert(path);
        let own = here.text(path);
        let is_same = unchanged.contains(&(place.kind.as_str(), place.slug.to_string()))
            || own.is_some_and(|own| file.is_same(own, text, place.kind));
        if !is_same {
            let (here, there) = (own.map(str::to_owned), Some(text.to_owned()));
            changes.insert(path.to_owned(), FileChange { path: path.to_owned(), here, there });
        }
    }
    for (path, text) in here.iter().filter(|(path, _)| *path != STATE && !seen.contains(path)) {
        let Ok(PathKind::File(place, _)) = look(path) else { continue };
        if !unchanged.contains(&(place.kind.as_str(), place.slug.to_string())) {
            let here = Some(text.to_owned());
            changes
                .insert(path.to_owned(), FileChange { path: path.to_owned(), here, there: None });
        }
    }
    changes.into_values().collect()
}

/// Templates, layouts and partials that both have alike.
fn unchanged(here: &Files, there: &Files) -> BTreeSet<(&'static str, String)> {
    // Of a folder with faults each file is looked at by itself.
    let entries = |files: &Files| files.entries().unwrap_or_default();
    let there: Vec<Entry> = entries(there);
    let same = entries(here).into_iter().filter(|it| there.contains(it));
    same.map(|it| (it.kind.as_str(), it.slug.to_string())).collect()
}

fn key(place: &FilePlace) -> String {
    format!("{:?}", (place.kind, &place.slug, &place.locale, place.file))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(all: &[(&str, &str)]) -> Files {
        let mut files = Files::default();
        for (path, text) in all {
            files.add((*path).to_owned(), text.as_bytes().to_vec()).expect("a file");
        }
        files
    }

    #[test]
    fn only_files_that_say_something_else_differ() {
        let toml = "name = 'Note' # by hand\ndescription = ''\n";
        let here = files(&[
            ("note/template.toml", toml),
            ("note/text.liquid", "one"),
            ("note/subject.liquid", "s"),
            ("_layouts/base.liquid", "{{ content }}"),
            ("mine/template.toml", toml),
        ]);
        let there = files(&[
            ("note/template.toml", "name = \"Note\"\ndescription = \"\"\n"),
            ("note/text.liquid", "two"),
            ("_layouts/base/html.liquid", "<p>{{ content }}</p>"),
        ]);
        let changes = changes(&here, &there);
        let told: Vec<(&str, bool, bool)> = changes
            .iter()
            .map(|it| (it.path.as_str(), it.here.is_some(), it.there.is_some()))
            .collect();
        assert_eq!(
            told,
            [
                ("_layouts/base.liquid", true, true),
                ("mine/template.toml", true, false),
                ("note/subject.liquid", true, false),
                ("note/text.liquid", true, true),
            ]
        );
    }
}
