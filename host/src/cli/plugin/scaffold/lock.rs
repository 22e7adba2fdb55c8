//! The lock file of a Rust project: the versions that this workspace was tested with. What else a
//! project needs, cargo adds.

use std::collections::BTreeSet;

use toml::{Table, Value};

static WORKSPACE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.lock"));

/// The part of the workspace's lock file that these crates reach.
///
/// # Errors
/// The embedded lock file is not TOML.
pub fn reachable(crates: &[String]) -> Result<String, toml::de::Error> {
    let mut lock = WORKSPACE.parse::<Table>()?;
    let packages = match lock.remove("package") {
        Some(Value::Array(packages)) => packages,
        _ => Vec::new(),
    };
    let kept = reach(&packages, crates);
    let packages = packages
        .into_iter()
        .enumerate()
        .filter(|(index, _)| kept.contains(index))
        .map(|(_, package)| package);
    lock.insert("package".to_owned(), Value::Array(packages.collect()));
    Ok(lock.to_string())
}

/// The positions of all packages that `roots` depend on, and their own.
fn reach(packages: &[Value], roots: &[String]) -> BTreeSet<usize> {
    let mut open: Vec<String> = roots.to_vec();
    let mut kept = BTreeSet::new();
    while let Some(wanted) = open.pop() {
        for (index, package) in packages.iter().enumerate() {
            if names(package, &wanted) && kept.insert(index) {
                let dependencies = package.get("dependencies").and_then(Value::as_array);
                let dependencies = dependencies.into_iter().flatten().filter_map(Value::as_str);
                open.extend(dependencies.map(str::to_owned));
            }
        }
    }
    kept
}

/// Whether a dependency, `name` or `name version` or `name version (source)`, is this package.
fn names(package: &Value, dependency: &str) -> bool {
    let mut words = dependency.split(' ');
    let field = |key: &str| package.get(key).and_then(Value::as_str);
    words.next() == field("name") && words.next().is_none_or(|it| field("version") == Some(it))
}

#[cfg(test)]
mod tests {
    use toml::Table;

    use super::*;

    #[test]
    fn only_what_is_reached_is_kept() {
        let lock: Table = "[[package]]\nname = \"sdk\"\nversion = \"0.1.0\"\ndependencies = [\n\
             \"serde\", \"syn 2.0.1\"]\n\
             [[package]]\nname = \"serde\"\nversion = \"1.0.0\"\n\
             [[package]]\nname = \"syn\"\nversion = \"1.0.9\"\n\
             [[package]]\nname = \"syn\"\nversion = \"2.0.1\"\ndependencies = [\"serde\"]\n\
             [[package]]\nname = \"server\"\nversion = \"1.0.0\"\n"
            .parse()
            .unwrap();
        let packages = lock["package"].as_array().unwrap();
        assert_eq!(reach(packages, &["sdk".to_owned()]), BTreeSet::from([0, 1, 3]));
    }

    #[test]
    fn the_sdk_reaches_its_bindings_and_not_the_server() {
        let lock = reachable(&["waxwing-plugin".to_owned()]).unwrap();
        assert!(lock.contains("name = \"wit-bindgen\"") && lock.contains("name = \"serde\""));
        assert!(!lock.contains("name = \"wasmtime\""), "{lock}");
    }
}
