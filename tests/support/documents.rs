//! The Markdown files of this repository, and the commands that they tell people to type.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders with files that are not this repository's own.
const FOREIGN: [&str; 4] = ["target", "node_modules", ".git", ".venv"];

/// One Markdown file.
#[derive(Debug)]
pub struct Document {
    /// From the folder of the workspace, as in `host/API.md`.
    pub path: String,
    pub text: String,
}

impl Document {
    /// The fenced blocks of a language, without what they are indented by.
    #[must_use]
    pub fn blocks(&self, language: &str) -> Vec<String> {
        let (mut blocks, mut block): (_, Option<(usize, String)>) = (Vec::new(), None);
        for line in self.text.lines() {
            let indent = line.len() - line.trim_start().len();
            match &mut block {
                None if line.trim_start().strip_prefix("```") == Some(language) => {
                    block = Some((indent, String::new()));
                }
                None => {}
                Some(_) if line.trim() == "```" => blocks.extend(block.take().map(|it| it.1)),
                Some((outer, text)) => {
                    text.push_str(line.get(*outer..).unwrap_or_default());
                    text.push('\n');
                }
            }
        }
        blocks
    }

    /// The commands of its blocks of `sh`: a line, with those that it goes on with.
    #[must_use]
    pub fn commands(&self) -> Vec<String> {
        self.blocks("sh").iter().flat_map(|block| commands_of(block)).collect()
    }

    /// What stands in backticks in its prose and its tables.
    #[must_use]
    pub fn quotations(&self) -> Vec<String> {
        let (mut prose, mut is_block) = (String::new(), false);
        for line in self.text.lines() {
            let is_fence = line.trim_start().starts_with("```");
            if is_fence {
                is_block = !is_block;
            } else if !is_block {
                prose.push_str(line.trim());
                prose.push('\n');
            }
        }
        let in_one_paragraph = |it: &&str| !it.is_empty() && !it.contains("\n\n");
        let quotations = prose.split("\n\n").flat_map(|it| it.split('`').skip(1).step_by(2));
        quotations.filter(in_one_paragraph).map(|it| it.replace('\n', " ")).collect()
    }
}

/// The commands of a block: a here-document and what stands behind a backslash belong to the line before.
fn commands_of(block: &str) -> Vec<String> {
    let (mut commands, mut lines) = (Vec::new(), block.lines());
    while let Some(line) = lines.next() {
        let mut command = line.to_owned();
        while command.ends_with('\\') {
            command.truncate(command.len() - 1);
            command.push_str(lines.next().unwrap_or_default().trim_start());
        }
        if let Some((_, end)) = line.split_once("<<'") {
            let end = end.trim_end_matches('\'');
            for line in lines.by_ref() {
                command.push('\n');
                command.push_str(line);
                if line == end {
                    break;
                }
            }
        }
        if !command.trim().is_empty() {
            commands.push(command);
        }
    }
    commands
}

/// The folder of the workspace.
#[must_use]
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Every Markdown file of the repository, by name.
///
/// # Panics
/// One cannot be read.
#[must_use]
pub fn documents() -> Vec<Document> {
    let mut documents = Vec::new();
    collect(&workspace(), "", &mut documents);
    documents.sort_by(|a, b| a.path.cmp(&b.path));
    documents
}

fn collect(folder: &Path, prefix: &str, documents: &mut Vec<Document>) {
    for entry in fs::read_dir(folder).expect("a folder of the workspace is readable") {
        let entry = entry.expect("an entry is readable");
        let name = entry.file_name().to_string_lossy().into_owned();
        let (path, file) = (format!("{prefix}{name}"), entry.path());
        let is_folder = entry.file_type().is_ok_and(|it| it.is_dir());
        if is_folder && !FOREIGN.contains(&name.as_str()) {
            collect(&file, &format!("{path}/"), documents);
        } else if file.extension().is_some_and(|it| it == "md") {
            let text = fs::read_to_string(&file).expect("a document is readable");
            documents.push(Document { path, text });
        }
    }
}
