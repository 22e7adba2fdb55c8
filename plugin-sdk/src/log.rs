//! Log lines and counters: all that a plugin may ask of the host.
//!
//! The macros [`trace!`](crate::trace), [`debug!`](crate::debug), [`info!`](crate::info),
//! [`warn!`](crate::warn), [`error!`](crate::error) and [`count!`](crate::count) take fields first:
//!
//! ```
//! let (plan, recipients) = ("free", 3_u64);
//! waxwing_plugin::info!(plan = plan, "priced {recipients} recipients");
//! waxwing_plugin::count!("recipients", recipients, plan = plan);
//! assert_eq!(waxwing_plugin::testing::logs(), ["info: priced 3 recipients plan=free"]);
//! assert_eq!(waxwing_plugin::testing::counts(), ["recipients +3 plan=free"]);
//! ```
//!
//! The host keeps 64 lines of 1 KiB a call and counts the rest as dropped. Put no address, no body
//! and no data of the sender into a line. In native tests lines are kept for
//! [`testing::logs`](crate::testing::logs).

use crate::Pair;
pub use crate::host::Level;

/// Writes one line to the host's log; the macros are the usual way.
pub fn record(level: Level, message: &str, fields: Vec<Pair>) {
    #[cfg(target_family = "wasm")]
    crate::host::log(level, message, &fields);
    #[cfg(not(target_family = "wasm"))]
    crate::testing::captured::log(level, message, fields);
}

/// Adds to one of the plugin's counters in the host's metrics.
pub fn add(metric: &str, delta: u64, labels: Vec<Pair>) {
    #[cfg(target_family = "wasm")]
    crate::host::count(metric, delta, &labels);
    #[cfg(not(target_family = "wasm"))]
    crate::testing::captured::count(metric, delta, labels);
}

/// Logs what only a plugin's author wants to see: `trace!(field = value, "message {x}")`.
#[macro_export]
macro_rules! trace {
    ($($line:tt)*) => { $crate::__log!(Trace, $($line)*) };
}

/// Logs what helps to find a fault: `debug!(field = value, "message {x}")`.
#[macro_export]
macro_rules! debug {
    ($($line:tt)*) => { $crate::__log!(Debug, $($line)*) };
}

/// Logs what an operator may want to know: `info!(field = value, "message {x}")`.
#[macro_export]
macro_rules! info {
    ($($line:tt)*) => { $crate::__log!(Info, $($line)*) };
}

/// Logs what an operator should look at: `warn!(field = value, "message {x}")`.
#[macro_export]
macro_rules! warn {
    ($($line:tt)*) => { $crate::__log!(Warn, $($line)*) };
}

/// Logs what an operator must fix: `error!(field = value, "message {x}")`.
#[macro_export]
macro_rules! error {
    ($($line:tt)*) => { $crate::__log!(Error, $($line)*) };
}

/// Adds a `u64` to a counter: `count!("denied", 1, plan = who.plan)`.
#[macro_export]
macro_rules! count {
    ($metric:expr, $delta:expr $(, $key:ident = $value:expr)* $(,)?) => {
        $crate::log::add($metric, $delta, $crate::__pairs!($($key = $value),*))
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __log {
    ($level:ident, $($key:ident = $value:expr,)* $message:literal $(, $($arguments:tt)*)?) => {
        $crate::log::record(
            $crate::log::Level::$level,
            &::std::format!($message $(, $($arguments)*)?),
            $crate::__pairs!($($key = $value),*),
        )
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __pairs {
    ($($key:ident = $value:expr),*) => {
        ::std::vec![$($crate::Pair {
            key: ::std::stringify!($key).to_owned(),
            value: ::std::string::ToString::to_string(&$value),
        }),*]
    };
}

#[cfg(test)]
mod tests {
    use crate::testing::{counts, logs};

    #[test]
    fn every_level_is_captured_once_and_in_order() {
        let n = 2;
        crate::trace!("a");
        crate::debug!("b {n}");
        crate::info!(n = n, plan = "free", "c {}", n + 1);
        crate::warn!("d {x}", x = 4);
        crate::error!(n = n, "e",);
        let expected = ["trace: a", "debug: b 2", "info: c 3 n=2 plan=free", "warn: d 4"];
        assert_eq!(logs(), [&expected[..], &["error: e n=2"]].concat());
        assert!(logs().is_empty(), "lines are handed out once");
    }

    #[test]
    fn counters_have_labels() {
        crate::count!("denied", 1, plan = "free");
        crate::count!("all", 2);
        assert_eq!(counts(), ["denied +1 plan=free", "all +2"]);
    }
}
