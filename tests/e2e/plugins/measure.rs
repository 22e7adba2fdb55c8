//! Figures that a test finds on its way. They are told and not held against anything: what a
//! machine that does other things takes says little.

use std::io::Write;
use std::time::Duration;

/// Tells figures, past the test's captured output.
pub fn tell(figures: &str) {
    writeln!(std::io::stderr(), "figures: {figures}").expect("the standard error can be written");
}

/// The time that so many percent of all stay below.
pub fn percentile(times: &mut [Duration], percent: usize) -> Duration {
    times.sort_unstable();
    let index = (times.len() * percent / 100).min(times.len().saturating_sub(1));
    times.get(index).copied().unwrap_or_default()
}
