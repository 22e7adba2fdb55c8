#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| waxwing_fuzz::dialog::check(input));
