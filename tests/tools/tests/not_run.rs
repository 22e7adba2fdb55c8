//! The last target of `cargo test --workspace`: one list of what this machine could not test, and the
//! command that installs what was missing.

#![expect(clippy::print_stdout, reason = "the list is for whoever runs the tests")]

use std::collections::BTreeSet;

fn main() {
    let all = waxwing_tools::noted();
    if all.is_empty() {
        println!("\nEvery test of this run had the programs that it needs.\n");
        return;
    }
    println!("\nNot tested on this machine:");
    for unmet in &all {
        println!("  {}: {}", unmet.unproven, unmet.reason);
    }
    let packages: BTreeSet<&str> =
        all.iter().flat_map(|unmet| &unmet.packages).map(String::as_str).collect();
    if !packages.is_empty() {
        let packages: Vec<&str> = packages.into_iter().collect();
        println!(
            "To test it too:\n  apt-get install --no-install-recommends {}",
            packages.join(" ")
        );
    }
    println!();
}
