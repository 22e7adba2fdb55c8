//! Golden cases: `cases/<name>/input.json` and the answer to it, `cases/<name>/expected.json`.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// A plugin whose answers can be compared as JSON. The export macros implement it.
pub trait Golden {
    /// The plugin's answer to one input, made from the input's settings.
    ///
    /// # Errors
    /// The input is not one of this kind of plugin; the text says where.
    fn answer(input: &str) -> Result<String, String>;
}

/// Runs every golden case below `folder`, a path in the package, and fails with all that differ.
///
/// The order of an object's members does not matter; a member that is `null` must be there.
/// `waxwing plugin test --update` writes the expected answers.
///
/// # Panics
/// A case has another answer, cannot be read, or there is no case at all.
pub fn cases<P: Golden>(folder: &str) {
    let package = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let found = below::<P>(&package.join(folder));
    let (count, faults) = found.unwrap_or_else(|fault| (1, vec![fault]));
    assert!(
        faults.is_empty(),
        "{} of {count} golden cases in {folder} fail:\n{}",
        faults.len(),
        faults.join("\n")
    );
    assert!(count > 0, "there are no cases in {folder}: add {folder}/<name>/input.json");
}

fn below<P: Golden>(folder: &Path) -> Result<(usize, Vec<String>), String> {
    let entries = fs::read_dir(folder).map_err(|it| format!("{}: {it}", folder.display()))?;
    let mut cases: Vec<PathBuf> =
        entries.flatten().map(|it| it.path()).filter(|it| it.is_dir()).collect();
    cases.sort();
    let faults = cases.iter().filter_map(|it| {
        let name = it.file_name().unwrap_or_default().display();
        run::<P>(it).err().map(|fault| format!("{name}: {fault}"))
    });
    Ok((cases.len(), faults.collect()))
}

fn run<P: Golden>(case: &Path) -> Result<(), String> {
    let text =
        |name: &str| fs::read_to_string(case.join(name)).map_err(|it| format!("{name}: {it}"));
    let json = |text: &str, name: &str| {
        serde_json::from_str::<Value>(text).map_err(|it| format!("{name}: {it}"))
    };
    let expected = json(&text("expected.json")?, "expected.json")?;
    let answer = P::answer(&text("input.json")?).map_err(|it| format!("input.json: {it}"))?;
    let found = json(&answer, "the answer")?;
    if found == expected {
        return Ok(());
    }
    Err(format!("\n  expected {expected}\n  found    {found}"))
}
