//! Which file imports from which: a name that a module re-exports is followed to the file that defines it.

use std::collections::{BTreeMap, BTreeSet};

use crate::sources::Source;

/// The path of a module below the crate, as in `config::listen`; empty for the crate itself.
type Module = Vec<String>;

/// What one file says of imports.
struct File {
    uses: Vec<Use>,
    /// The modules that it declares in files of their own.
    children: BTreeSet<String>,
    /// The identifiers of its code beside its `use` lines.
    words: BTreeSet<String>,
    /// The paths of two and more names in that code.
    paths: BTreeSet<Vec<String>>,
}

/// One name that a `use` line brings in.
struct Use {
    path: Vec<String>,
    name: String,
    is_public: bool,
}

/// All files, and from which other ones each of them imports.
pub struct Imports {
    files: BTreeMap<Module, File>,
    pub of: BTreeMap<Module, BTreeSet<Module>>,
}

impl Imports {
    /// Tests may see all: they are left out.
    pub fn of(sources: &[Source]) -> Self {
        let code = sources.iter().filter(|it| !it.lines.is_empty() && it.path != "main.rs");
        let files = code.map(|source| (module_of(&source.path), File::read(source))).collect();
        let mut imports = Self { files, of: BTreeMap::new() };
        imports.of = imports.files.keys().map(|it| (it.clone(), imports.seen_by(it))).collect();
        imports
    }

    /// Groups of files each of which imports from all the others, directly or by way of others.
    pub fn circles(&self) -> Vec<BTreeSet<&Module>> {
        let reached: BTreeMap<&Module, BTreeSet<&Module>> =
            self.of.keys().map(|it| (it, self.reached_from(it))).collect();
        let mut circles = BTreeSet::new();
        for (module, others) in &reached {
            let is_mutual =
                |other: &&&Module| reached.get(*other).is_some_and(|it| it.contains(module));
            let circle: BTreeSet<&Module> = others.iter().filter(is_mutual).copied().collect();
            if circle.len() > 1 {
                circles.insert(circle);
            }
        }
        circles.into_iter().collect()
    }

    fn reached_from<'a>(&'a self, module: &'a Module) -> BTreeSet<&'a Module> {
        let (mut reached, mut next) = (BTreeSet::new(), vec![module]);
        while let Some(module) = next.pop() {
            next.extend(self.of.get(module).into_iter().flatten().filter(|it| reached.insert(*it)));
        }
        reached
    }

    fn seen_by(&self, module: &Module) -> BTreeSet<Module> {
        let file = &self.files[module];
        let mut known = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for used in &file.uses {
            let Some(path) = self.absolute(module, &used.path) else { continue };
            let is_needed = !used.is_public || file.words.contains(&used.name);
            // Of a module, what is taken through it counts.
            let home = self.home(&path, &mut Vec::new()).filter(|home| is_needed && *home != path);
            seen.extend(home);
            known.insert(used.name.as_str(), path);
        }
        for path in &file.paths {
            let Some((head, rest)) = path.split_first() else { continue };
            let path = match known.get(head.as_str()) {
                Some(known) => Some([known, rest].concat()),
                None => self.absolute(module, path),
            };
            let home = path.and_then(|path| self.home(&path, &mut Vec::new()));
            seen.extend(home.filter(|home| !home.is_empty()));
        }
        seen.remove(module);
        seen
    }

    /// A path from the crate's root; none where it leads out of the crate.
    fn absolute(&self, module: &Module, path: &[String]) -> Option<Module> {
        let (head, rest) = path.split_first()?;
        match head.as_str() {
            "crate" => Some(rest.to_vec()),
            "self" => Some([module, rest].concat()),
            "super" => {
                let ups = path.iter().take_while(|it| *it == "super").count();
                Some([module.get(..module.len().checked_sub(ups)?)?, path.get(ups..)?].concat())
            }
            name if self.files[module].children.contains(name) => Some([module, path].concat()),
            _ => None,
        }
    }

    /// The file that defines what stands at a path.
    fn home(&self, path: &[String], seen: &mut Vec<Module>) -> Option<Module> {
        if seen.iter().any(|it| it == path) {
            return None;
        }
        seen.push(path.to_vec());
        let known =
            (0..=path.len()).rev().find(|length| self.files.contains_key(&path[..*length]))?;
        let (module, rest) = path.split_at(known);
        let module = module.to_vec();
        let Some((name, rest)) = rest.split_first() else { return Some(module) };
        let Some(used) = self.files[&module].uses.iter().find(|it| it.name == *name) else {
            return Some(module);
        };
        let target = self.absolute(&module, &used.path)?;
        self.home(&[&target, rest].concat(), seen)
    }
}

fn module_of(path: &str) -> Module {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    if path == "lib" { Vec::new() } else { path.split('/').map(str::to_owned).collect() }
}

impl File {
    fn read(source: &Source) -> Self {
        let text = without_texts(&source.lines);
        let (mut uses, mut children, mut rest) = (Vec::new(), BTreeSet::new(), String::new());
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let visible = line.strip_prefix("pub").map(|it| it.trim_start_matches("(crate)"));
            let visible = visible.map(|it| match it.strip_prefix('(') {
                Some(it) => it.split_once(')').map_or("", |(_, after)| after),
                None => it,
            });
            let code = visible.unwrap_or(line).trim_start();
            if let Some(tree) = code.strip_prefix("use ") {
                let mut tree = tree.to_owned();
                while !tree.trim_end().ends_with(';') {
                    tree.push_str(lines.next().unwrap_or(";"));
                }
                let tree = tree.trim_end().trim_end_matches(';');
                expand(tree, &[], visible.is_some(), &mut uses);
            } else if let Some(child) =
                code.strip_prefix("mod ").and_then(|it| it.strip_suffix(';'))
            {
                children.insert(child.to_owned());
            } else {
                // What a visibility names is no import.
                rest.push_str(&code.replace("pub(in crate::", "pub("));
                rest.push('\n');
            }
        }
        let paths = paths(&rest);
        let words = paths.iter().flatten().cloned().collect();
        Self { uses, children, words, paths: paths.into_iter().filter(|it| it.len() > 1).collect() }
    }
}

/// Adds every name of a `use` tree.
fn expand(tree: &str, above: &[String], is_public: bool, uses: &mut Vec<Use>) {
    let tree = tree.trim();
    if let Some((prefix, list)) = tree.split_once('{') {
        let prefix = prefix.split("::").map(str::trim).filter(|it| !it.is_empty());
        let above: Vec<String> = above.iter().cloned().chain(prefix.map(str::to_owned)).collect();
        let mut depth = 0;
        let is_end = |c: char| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            c == ',' && depth == 0
        };
        let list = list.trim_end().strip_suffix('}').unwrap_or(list);
        let parts = list.split(is_end).filter(|it| !it.trim().is_empty());
        parts.for_each(|part| expand(part, &above, is_public, uses));
        return;
    }
    let (path, alias) = match tree.split_once(" as ") {
        Some((path, alias)) => (path, Some(alias.trim().to_owned())),
        None => (tree, None),
    };
    let names = path.split("::").map(|it| it.trim().to_owned()).filter(|it| !it.is_empty());
    let mut path: Vec<String> = above.iter().cloned().chain(names).collect();
    if path.len() > 1 && path.last().is_some_and(|it| it == "self") {
        path.pop();
    }
    let Some(last) = path.last().cloned() else { return };
    uses.push(Use { path, name: alias.unwrap_or(last), is_public });
}

/// Code without what stands in string literals, and without comments behind it.
fn without_texts(lines: &[(usize, String)]) -> String {
    let mut code = String::new();
    let mut is_text = false;
    for (_, line) in lines {
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\\' if is_text => drop(chars.next()),
                '\'' if !is_text && chars.peek() == Some(&'"') => drop(chars.next()),
                '"' => is_text = !is_text,
                '/' if !is_text && chars.peek() == Some(&'/') => break,
                c if !is_text => code.push(c),
                _ => {}
            }
        }
        code.push('\n');
    }
    code
}

/// Every path of code: names that `::` joins.
fn paths(code: &str) -> BTreeSet<Vec<String>> {
    let mut paths = BTreeSet::new();
    let mut path: Vec<String> = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        if end > 0 {
            let (word, after) = rest.split_at(end);
            path.push(word.to_owned());
            rest = after;
            if let Some(after) = rest.strip_prefix("::")
                && after.starts_with(|c: char| c.is_alphabetic() || c == '_')
            {
                rest = after;
                continue;
            }
        } else {
            rest = rest.get(first.len_utf8()..).unwrap_or_default();
        }
        if !path.is_empty() {
            paths.insert(std::mem::take(&mut path));
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, code: &str) -> Source {
        let lines: Vec<_> = (1..).zip(code.lines().map(str::to_owned)).collect();
        Source { path: path.to_owned(), length: lines.len(), lines }
    }

    fn circles(sources: &[(&str, &str)]) -> Vec<Vec<String>> {
        let sources: Vec<Source> = sources.iter().map(|(path, code)| source(path, code)).collect();
        let imports = Imports::of(&sources);
        let names = |circle: BTreeSet<&Module>| circle.iter().map(|it| it.join("/")).collect();
        imports.circles().into_iter().map(names).collect()
    }

    #[test]
    fn a_re_exported_name_leads_to_the_file_that_defines_it() {
        let found = circles(&[
            (
                "a.rs",
                "mod one;\nmod two;\npub use one::{First, Other as Second};\npub use two::Third;",
            ),
            ("a/one.rs", "use super::Third;\npub struct First;"),
            ("a/two.rs", "fn it() -> crate::a::Second { todo() }"),
        ]);
        assert_eq!(found, [["a/one", "a/two"]]);
    }

    #[test]
    fn a_circle_of_three_files_and_one_through_the_parent_are_found() {
        let found = circles(&[
            ("a.rs", "mod b;\nuse b::B;\nstruct A(B);"),
            ("a/b.rs", "use super::A;"),
            ("x.rs", "use crate::y;\nfn f() { y::g() }"),
            ("y.rs", "use crate::z::{self, Z};"),
            ("z.rs", "// use crate::q;\nuse crate::x::X as Y;"),
        ]);
        assert_eq!(found, [vec!["a", "a/b"], vec!["x", "y", "z"]]);
    }

    #[test]
    fn re_exports_visibilities_and_texts_are_no_imports() {
        let found = circles(&[
            ("a.rs", "mod b;\npub use b::B;\npub struct A;"),
            ("a/b.rs", "use super::A;\npub(in crate::a) struct B;"),
            ("c.rs", "mod d;\nconst D: &str = \"d::D \\\" super\"; // d::D"),
            ("c/d.rs", "use super::D;"),
        ]);
        assert!(found.is_empty(), "{found:?}");
    }
}
