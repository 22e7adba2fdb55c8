//! Formats into a string that is there already.

macro_rules! put {
    ($out:expr, $($format:tt)*) => {{
        use std::fmt::Write as _;
        $out.write_fmt(format_args!($($format)*)).expect("a string takes any text")
    }};
}
