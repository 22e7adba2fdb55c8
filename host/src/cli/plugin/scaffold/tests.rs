use std::collections::BTreeSet;

use super::*;

const KINDS: [ProjectKind; 4] =
    [ProjectKind::Plan, ProjectKind::Domain, ProjectKind::Renderer, ProjectKind::Mjml];
const LANGUAGES: [Language; 3] = [Language::Rust, Language::Js, Language::Python];

#[test]
fn every_project_is_complete_and_has_no_placeholder_left() {
    for (kind, lang) in KINDS.into_iter().flat_map(|kind| LANGUAGES.map(|lang| (kind, lang))) {
        let project = Project::new("quiet-hours", kind, lang, PathBuf::from("."));
        let files = files(&project).unwrap();
        let paths: BTreeSet<String> = files.keys().map(|it| it.display().to_string()).collect();
        let own = match lang {
            Language::Rust => ["src/lib.rs", "Cargo.toml", "Cargo.lock"],
            Language::Js => ["src/index.js", "package.json", "package-lock.json"],
            Language::Python => ["src/app.py", "requirements.txt", "tests/context.py"],
        };
        for needed in [&own[..], &[".gitignore", "README.md", project::FILE]].concat() {
            assert!(paths.contains(needed), "{kind:?} {lang:?}: no {needed} in {paths:?}");
        }
        let worlds = format!("{}/worlds.wit", interface_folder(lang));
        assert!(paths.contains(&worlds), "{kind:?} {lang:?}: no {worlds}");
        let inputs = paths.iter().filter(|it| it.ends_with("/input.json")).count();
        let expected = paths.iter().filter(|it| it.ends_with("/expected.json")).count();
        assert!(inputs >= 2 && inputs == expected, "{kind:?} {lang:?}: {paths:?}");
        for (path, content) in &files {
            let text = String::from_utf8_lossy(content);
            for placeholder in ["__NAME__", "__KIND__", "__WHAT__", "__WORLD__", "__TOOLCHAIN__"] {
                let path = path.display();
                assert!(!text.contains(placeholder), "{kind:?} {lang:?}: {placeholder} in {path}");
            }
        }
    }
}
