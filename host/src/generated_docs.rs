//! For tests: checks that a document which is generated from the code is up to date.

use std::path::Path;
use std::{env, fs};

/// Asserts that `file`, below the folder of this crate, is `text`. With `WAXWING_WRITE` in the environment the
/// file is written first; `filter` selects the test that calls this.
///
/// # Panics
/// The file is out of date.
pub fn assert_up_to_date(file: &str, text: &str, filter: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if env::var_os("WAXWING_WRITE").is_some() {
        fs::write(&path, text).expect("the document can be written");
    }
    assert!(
        fs::read_to_string(&path).is_ok_and(|it| it == text),
        "{file} is out of date. To write it anew:\n  \
         WAXWING_WRITE=1 cargo test --workspace --lib {filter}",
    );
}
