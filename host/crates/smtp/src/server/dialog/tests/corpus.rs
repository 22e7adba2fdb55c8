//! The fuzzer's hand-written sessions.

use std::fs;
use std::path::Path;

use crate::server::exercise::exercise;

#[test]
fn every_session_of_the_corpus_holds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/dialog");
    let entries = fs::read_dir(folder).expect("the corpus is there");
    let mut replayed = 0;
    for entry in entries {
        let input = fs::read(entry.expect("readable").path()).expect("readable");
        exercise(&input);
        replayed += 1;
    }
    assert!(replayed >= 8, "{replayed} sessions");
}
