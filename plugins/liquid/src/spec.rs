//! The plain cases of Shopify's liquid-spec, with a list of known failures that may only shrink. The host makes the
//! same cases to the component `liquid-renderer`.

use std::collections::BTreeSet;

use crate::golden::Suite;

#[test]
fn liquid_spec_passes_but_for_the_known_failures() {
    let suite: Suite = serde_json::from_str(include_str!("../golden/liquid-spec.json"))
        .expect("the suite is JSON");
    let known = include_str!("../spec-known-failures.txt").lines();
    // A line with `== ` is a heading: why the cases below it fail.
    let known: BTreeSet<&str> =
        known.filter(|it| !it.is_empty() && !it.starts_with("== ")).collect();
    suite.check("liquid-spec", &known);
}
