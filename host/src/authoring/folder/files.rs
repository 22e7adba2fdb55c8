//! The files of a folder of templates, wherever they come from: a disk, a zip file, this binary.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::{self, Read};
use std::path::Path;

use include_dir::Dir;
use serde_json::{Map, Value};

use super::format::{self, FileKind, FileOwner};
use crate::authoring::bounds::MAX_FILE_BYTES;
use crate::authoring::calls::calls;
use crate::authoring::error::{FileFault, FolderError};
use crate::journey::accept::json;
use crate::template::kind::TemplateKind;
use crate::template::locale::LocaleTag;
use crate::template::slug::Slug;
use crate::template::source::TemplateSource;

pub const LAYOUTS: &str = "_layouts";
pub const PARTIALS: &str = "_partials";
/// What the folder and the server had in common last; see [`super::state`].
pub const STATE: &str = ".waxwing.json";
const DESCRIPTION: &str = "template.toml";

/// Texts by their paths, with `/` between the steps. Only files that say something of a template are here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    texts: BTreeMap<String, String>,
}

/// A template, layout or partial as a folder has it.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub kind: TemplateKind,
    pub slug: Slug,
    pub source: TemplateSource,
}

/// Where a file stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePlace {
    pub kind: TemplateKind,
    pub slug: Slug,
    pub locale: Option<LocaleTag>,
    pub file: &'static str,
}

/// What a path is to a folder of templates.
#[derive(Debug)]
pub enum PathKind {
    File(FilePlace, &'static FileKind),
    State,
    /// Something beside the templates, such as a README.
    Other,
}

impl Entry {
    /// As in `layout/base`: its name in reports and in the state.
    #[must_use]
    pub fn name(&self) -> String {
        name_of(self.kind, &self.slug)
    }
}

#[must_use]
pub fn name_of(kind: TemplateKind, slug: &Slug) -> String {
    format!("{}/{slug}", kind.as_str())
}

/// The folder of one, as in `_layouts/base`.
#[must_use]
pub fn folder_of(kind: TemplateKind, slug: &Slug) -> String {
    match kind {
        TemplateKind::Template => slug.to_string(),
        TemplateKind::Layout => format!("{LAYOUTS}/{slug}"),
        TemplateKind::Partial => format!("{PARTIALS}/{slug}"),
    }
}

/// What stands at a path.
///
/// # Errors
/// A file that looks like one of a template and is none, which an author should hear of.
pub fn look(path: &str) -> Result<PathKind, FileFault> {
    if path == STATE {
        return Ok(PathKind::State);
    }
    let steps: Vec<&str> = path.split('/').collect();
    let (kind, steps) = match steps.as_slice() {
        [LAYOUTS, rest @ ..] => (TemplateKind::Layout, rest),
        [PARTIALS, rest @ ..] => (TemplateKind::Partial, rest),
        all => (TemplateKind::Template, all),
    };
    let slug = |text: &str| text.parse::<Slug>().map_err(FileFault::Slug);
    match steps {
        [file] if kind != TemplateKind::Template => match file.strip_suffix(".liquid") {
            Some(name) => {
                let html = format::html();
                let place = FilePlace { kind, slug: slug(name)?, locale: None, file: html.name };
                Ok(PathKind::File(place, html))
            }
            None => Ok(PathKind::Other),
        },
        [folder, file] => match format::kind_of(file, FileOwner::Template) {
            Some(known) => {
                let place = FilePlace { kind, slug: slug(folder)?, locale: None, file: known.name };
                Ok(PathKind::File(place, known))
            }
            None => other(file, FileOwner::Template),
        },
        [folder, "locales", tag, file] => match format::kind_of(file, FileOwner::Locale) {
            Some(known) => {
                let locale: LocaleTag = tag.parse().map_err(FileFault::Locale)?;
                if locale.as_str() != *tag {
                    return Err(FileFault::LocaleFolder(locale));
                }
                let place =
                    FilePlace { kind, slug: slug(folder)?, locale: Some(locale), file: known.name };
                Ok(PathKind::File(place, known))
            }
            None => other(file, FileOwner::Locale),
        },
        _ => Ok(PathKind::Other),
    }
}

/// The text of a file that says something of a template.
fn text_of(path: &str, bytes: Vec<u8>) -> Result<Option<String>, FileFault> {
    match look(path)? {
        PathKind::Other => Ok(None),
        PathKind::File(..) | PathKind::State => {
            if bytes.len() > MAX_FILE_BYTES {
                return Err(FileFault::TooLong { bytes: bytes.len(), most: MAX_FILE_BYTES });
            }
            let text = String::from_utf8(bytes).map_err(|_| FileFault::NotUtf8)?;
            // Editors and git on Windows add both; they are not what an author says.
            let text = text.strip_prefix('\u{feff}').unwrap_or(&text).replace("\r\n", "\n");
            if text.contains('\0') { Err(FileFault::Nul) } else { Ok(Some(text)) }
        }
    }
}

/// A misspelt name of a part would be a part that is left out.
fn other(file: &str, owner: FileOwner) -> Result<PathKind, FileFault> {
    if [".liquid", ".toml", ".mjml"].iter().any(|end| file.ends_with(end)) {
        return Err(FileFault::Unknown { known: format::known(owner) });
    }
    Ok(PathKind::Other)
}

impl Files {
    /// Those of a binary's own folder.
    ///
    /// # Errors
    /// The binary was built of a broken one.
    pub fn embedded(folder: &Dir<'_>) -> Result<Self, FolderError> {
        let mut files = Self::default();
        let mut folders = vec![folder];
        while let Some(folder) = folders.pop() {
            folders.extend(folder.dirs());
            for file in folder.files() {
                let path = file.path().to_string_lossy().into_owned();
                files.add(path, file.contents().to_vec())?;
            }
        }
        Ok(files)
    }

    /// Those of a folder with templates, `_layouts` and `_partials` in it. A symbolic link is never followed: what
    /// stands behind one may be nobody's to publish.
    ///
    /// # Errors
    /// Everything that cannot be read, or is no file of a template and looks like one.
    pub fn from_disk(root: &Path) -> Result<Self, FolderError> {
        let mut reader = DiskReader::default();
        for name in names(root)? {
            let path = root.join(&name);
            match name.as_str() {
                LAYOUTS | PARTIALS => reader.blocks(&path, &name)?,
                STATE => reader.file(&path, &name),
                _ if path.join(DESCRIPTION).symlink_metadata().is_ok() => {
                    reader.folder(&path, &name)?;
                }
                // Its description may be misspelt: left out, the template would not be pushed, and nobody would know.
                _ if has_part(&path, &name)? => reader.folder(&path, &name)?,
                _ => {}
            }
        }
        reader.end()
    }

    /// One template's folder and the layouts beside it. The template is called by that slug, whatever the folder's name.
    ///
    /// # Errors
    /// Everything that cannot be read, or is no file of a template and looks like one.
    pub fn of_template(folder: &Path, slug: &Slug) -> Result<Self, FolderError> {
        let mut reader = DiskReader::default();
        reader.folder(folder, slug.as_str())?;
        let layouts = folder.parent().unwrap_or(Path::new(".")).join(LAYOUTS);
        if layouts.symlink_metadata().is_ok() {
            reader.blocks(&layouts, LAYOUTS)?;
        }
        reader.end()
    }

    /// Adds a file, if it says something of a template.
    pub fn add(&mut self, path: String, bytes: Vec<u8>) -> Result<(), FolderError> {
        match text_of(&path, bytes) {
            Ok(None) => Ok(()),
            Ok(Some(text)) => {
                self.texts.insert(path, text);
                Ok(())
            }
            Err(fault) => Err(FolderError::Malformed { path: path.into(), fault }),
        }
    }

    /// Puts a text that this server has made.
    pub fn put(&mut self, path: String, text: String) {
        self.texts.insert(path, text);
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    #[must_use]
    pub fn text(&self, path: &str) -> Option<&str> {
        self.texts.get(path).map(String::as_str)
    }

    /// The templates, layouts and partials, in the order in which they can be published: a partial stands behind those
    /// that it calls.
    pub fn entries(&self) -> Result<Vec<Entry>, FolderError> {
        let mut all: BTreeMap<(u8, String), Gathered> = BTreeMap::new();
        let mut errors = Vec::new();
        for (path, text) in &self.texts {
            let Ok(PathKind::File(place, file)) = look(path) else { continue };
            let malformed = |fault| FolderError::Malformed { path: path.into(), fault };
            let order = match place.kind {
                TemplateKind::Partial => 0,
                TemplateKind::Layout => 1,
                TemplateKind::Template => 2,
            };
            let (kind, slug) = (place.kind, &place.slug);
            let gathered = all.entry((order, slug.to_string())).or_insert_with(|| Gathered {
                kind,
                slug: slug.clone(),
                body: Map::new(),
            });
            match file.members(text, place.locale.as_ref()) {
                Ok(members) => {
                    if let Err(twice) = format::join(&mut gathered.body, members) {
                        errors.push(malformed(twice.into()));
                    }
                }
                Err(fault) => errors.push(malformed(fault)),
            }
        }
        let mut entries = Vec::new();
        for Gathered { kind, slug, body } in all.into_values() {
            let folder = folder_of(kind, &slug);
            let path = || folder.clone().into();
            if kind == TemplateKind::Template
                && !self.texts.contains_key(&format!("{folder}/{DESCRIPTION}"))
            {
                let fault = FileFault::NoDescription { name: DESCRIPTION };
                errors.push(FolderError::Malformed { path: path(), fault });
                continue;
            }
            // What a request may not say, a file may not either.
            let body = match json::parse(Value::Object(body).to_string().as_bytes()) {
                Ok(Value::Object(body)) => body,
                Ok(_) => Map::new(),
                Err(faults) => {
                    errors.push(FolderError::Faults { path: path(), faults });
                    continue;
                }
            };
            match format::source_of(body, kind, &slug) {
                Ok(source) => entries.push(Entry { kind, slug, source }),
                Err(faults) => errors.push(FolderError::Faults { path: path(), faults }),
            }
        }
        FolderError::of(errors)?;
        Ok(callees_first(entries))
    }

    /// The files of one.
    #[must_use]
    pub fn of(entry: &Entry) -> Self {
        let folder = folder_of(entry.kind, &entry.slug);
        let files = format::files_of(&entry.source, entry.kind, &entry.slug);
        let texts = files.into_iter().map(|(path, _, text)| (format!("{folder}/{path}"), text));
        Self { texts: texts.collect() }
    }

    pub fn extend(&mut self, other: Self) {
        self.texts.extend(other.texts);
    }
}

/// Partials, layouts and templates in an order in which each can be published: a partial stands behind those that it
/// calls. Those that call each other in a circle keep their order; publishing refuses them.
fn callees_first(entries: Vec<Entry>) -> Vec<Entry> {
    let (partials, others): (Vec<_>, Vec<_>) =
        entries.into_iter().partition(|it| it.kind == TemplateKind::Partial);
    let numbers: HashMap<&str, usize> =
        partials.iter().enumerate().map(|(number, it)| (it.slug.as_str(), number)).collect();
    let mut callers: Vec<Vec<usize>> = vec![Vec::new(); partials.len()];
    let mut waits_for = vec![0_usize; partials.len()];
    for (caller, (partial, waits_for)) in partials.iter().zip(&mut waits_for).enumerate() {
        let called = calls(&partial.source);
        let called = called.iter().filter_map(|name| numbers.get(name.as_str()));
        for callee in called.filter(|it| **it != caller) {
            callers.get_mut(*callee).into_iter().for_each(|it| it.push(caller));
            *waits_for += 1;
        }
    }
    let free = waits_for.iter().enumerate().filter(|(_, it)| **it == 0);
    let mut order: Vec<usize> = free.map(|(number, _)| number).collect();
    let mut next = 0;
    while let Some(callee) = order.get(next) {
        next += 1;
        for caller in callers.get_mut(*callee).map(std::mem::take).unwrap_or_default() {
            let Some(count) = waits_for.get_mut(caller) else { continue };
            *count -= 1;
            if *count == 0 {
                order.push(caller);
            }
        }
    }
    let mut partials: Vec<Option<Entry>> = partials.into_iter().map(Some).collect();
    let mut ordered: Vec<Entry> =
        order.into_iter().filter_map(|it| partials.get_mut(it)?.take()).collect();
    ordered.extend(partials.into_iter().flatten());
    ordered.extend(others);
    ordered
}

/// What the files of one say so far.
struct Gathered {
    kind: TemplateKind,
    slug: Slug,
    body: Map<String, Value>,
}

/// Reads a disk; what is wrong is gathered.
#[derive(Default)]
struct DiskReader {
    files: Files,
    errors: Vec<FolderError>,
}

impl DiskReader {
    fn end(self) -> Result<Files, FolderError> {
        FolderError::of(self.errors)?;
        Ok(self.files)
    }

    /// Layouts or partials: a file or a folder each.
    fn blocks(&mut self, path: &Path, below: &str) -> Result<(), FolderError> {
        if !self.is_folder(path) {
            return Ok(());
        }
        for name in names(path)? {
            let (path, below) = (path.join(&name), format!("{below}/{name}"));
            if self.is_folder(&path) {
                self.folder(&path, &below)?;
            } else {
                self.file(&path, &below);
            }
        }
        Ok(())
    }

    fn folder(&mut self, path: &Path, below: &str) -> Result<(), FolderError> {
        if path.is_symlink() {
            self.link(path);
            return Ok(());
        }
        if !self.is_folder(path) {
            let source = io::ErrorKind::NotADirectory.into();
            return Err(FolderError::File { path: path.to_owned(), source });
        }
        for name in names(path)? {
            let (path, below) = (path.join(&name), format!("{below}/{name}"));
            if name != "locales" {
                self.file(&path, &below);
                continue;
            }
            if !self.is_folder(&path) {
                continue;
            }
            for tag in names(&path)? {
                let (path, below) = (path.join(&tag), format!("{below}/{tag}"));
                if self.is_folder(&path) {
                    for name in names(&path)? {
                        self.file(&path.join(&name), &format!("{below}/{name}"));
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether it is one itself, and not a link to one.
    fn is_folder(&mut self, path: &Path) -> bool {
        let Ok(metadata) = path.symlink_metadata() else { return false };
        if metadata.is_symlink() {
            self.link(path);
        }
        metadata.is_dir()
    }

    fn link(&mut self, path: &Path) {
        let fault = FileFault::SymbolicLink;
        self.errors.push(FolderError::Malformed { path: path.to_owned(), fault });
    }

    fn file(&mut self, path: &Path, below: &str) {
        let place = look(below);
        if matches!(place, Ok(PathKind::Other)) {
            return;
        }
        if path.is_symlink() {
            self.link(path);
            return;
        }
        let read = fs::File::open(path).and_then(|file| {
            let mut bytes = Vec::new();
            let most = u64::try_from(MAX_FILE_BYTES).unwrap_or(u64::MAX);
            file.take(most + 1).read_to_end(&mut bytes).map(|_| bytes)
        });
        let added = match read {
            Ok(bytes) => self.files.add(below.to_owned(), bytes),
            Err(source) => Err(FolderError::File { path: path.to_owned(), source }),
        };
        self.errors.extend(added.err());
    }
}

/// Whether something is a folder with a file that a template may have.
fn has_part(path: &Path, name: &str) -> Result<bool, FolderError> {
    if !path.symlink_metadata().is_ok_and(|it| it.is_dir()) {
        return Ok(false);
    }
    let is_part = |file: &String| matches!(look(&format!("{name}/{file}")), Ok(PathKind::File(..)));
    Ok(names(path)?.iter().any(is_part))
}

fn names(folder: &Path) -> Result<Vec<String>, FolderError> {
    let fault = |source| FolderError::File { path: folder.to_owned(), source };
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(fault)? {
        let name = entry.map_err(fault)?.file_name();
        // What is no text is no name of ours.
        names.extend(name.into_string());
    }
    names.sort_unstable();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_the_format_are_files_of_a_template() {
        let known = |path: &str| matches!(look(path), Ok(PathKind::File(..)));
        for path in [
            "note/template.toml",
            "note/locales/de-AT/messages.toml",
            "_layouts/base.liquid",
            "_layouts/base/locales/de/html.liquid",
            "_partials/foot/html.liquid",
        ] {
            assert!(known(path), "{path}");
        }
        for path in [
            "../note/html.liquid",
            "note/../../html.liquid",
            "/etc/html.liquid",
            "note//html.liquid",
            "note/./html.liquid",
            "c:\\note\\html.liquid",
            "_layouts/../x.liquid",
            "_layouts/..",
            "note/locales/../html.liquid",
            "note/locales/de-at/html.liquid",
            "Note/html.liquid",
            "note/locales/de/template.toml",
            "note/htm.liquid",
        ] {
            assert!(!known(path), "{path}");
        }
        assert!(look("note/htm.liquid").is_err_and(|it| it.to_string().contains("html.liquid")));
        assert!(matches!(look("README.md"), Ok(PathKind::Other)));
    }
    #[test]
    fn partials_stand_behind_those_that_they_call() {
        let texts = [
            ("_partials/a.liquid", "{% render 'c' %}{% render 'a' %}"),
            ("_partials/b.liquid", "x"),
            ("_partials/c.liquid", "{% render 'b' %}{% render 'nowhere' %}"),
            ("_partials/d.liquid", "{% render 'e' %}"),
            ("_partials/e.liquid", "{% render 'd' %}"),
        ];
        let mut files = Files::default();
        for (path, text) in texts {
            files.put(path.into(), text.into());
        }
        let entries = files.entries().expect("sound");
        let slugs: Vec<&str> = entries.iter().map(|it| it.slug.as_str()).collect();
        assert_eq!(slugs, ["b", "c", "a", "d", "e"]);
    }

    #[test]
    fn line_endings_and_byte_order_marks_are_no_content() {
        let mut files = Files::default();
        files.add("note/text.liquid".into(), b"\xef\xbb\xbfa\r\nb\r\n".to_vec()).expect("a text");
        assert_eq!(files.text("note/text.liquid"), Some("a\nb\n"));
    }

    #[test]
    fn a_folder_whose_description_is_misspelt_is_an_error() {
        let root = tempfile::tempdir().expect("a folder");
        for path in ["note/html.liquid", "pictures/readme.txt"] {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            fs::write(path, "x").expect("a file");
        }
        let error =
            Files::from_disk(root.path()).expect("readable").entries().expect_err("a fault");
        assert!(error.to_string().contains("has no template.toml"), "{error}");
    }

    #[test]
    fn a_link_in_place_of_a_folder_is_told_with_the_other_faults() {
        let root = tempfile::tempdir().expect("a folder");
        let note = root.path().join("note");
        fs::create_dir(&note).expect("a folder");
        fs::write(note.join("template.toml"), "").expect("a file");
        std::os::unix::fs::symlink(&note, root.path().join("other")).expect("a link");
        fs::write(note.join("htm.liquid"), "").expect("a file");
        let error = Files::from_disk(root.path()).expect_err("two faults").to_string();
        assert!(error.contains("symbolic link") && error.contains("htm.liquid"), "{error}");
    }
}
