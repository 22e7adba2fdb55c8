//! The bundle of the editor: that it is what its sources give.

use std::process::Command;

use waxwing_tests::workspace;
use waxwing_tools::node_packages;

const UNPROVEN: &str = "that the editor's bundle is what its sources give";

macro_rules! source {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../templates/dashboard/vendor/editor/", $name)))
    };
}

#[test]
fn the_bundle_is_what_its_sources_give() {
    let (package, lock) = (source!("package.json").1, source!("package-lock.json").1);
    let Some(folder) = node_packages("editor", package, lock, UNPROVEN) else { return };
    for (name, text) in [source!("build.mjs"), source!("editor.mjs"), source!("tokens.mjs")] {
        std::fs::write(folder.join(name), text).expect("written");
    }
    let built = folder.join("built.js");
    let output = Command::new("node").arg("build.mjs").arg(&built).current_dir(&folder).output();
    let output = output.expect("Node starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let built = std::fs::read_to_string(built).expect("a bundle");
    assert!(
        built == source!("editor.min.js").1,
        "run `node build.mjs` in {}/templates/dashboard/vendor/editor",
        workspace().display()
    );
    assert!(built.len() < 400 << 10, "{} bytes", built.len());
}
