#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| waxwing_fuzz::bounce_dialog::check(input));
