//! Plays a driver over arbitrary bytes and checks what must always hold.

#![no_main]

use libfuzzer_sys::fuzz_target;
use waxwing_fuzz::exercise::exercise;

fuzz_target!(|input: &[u8]| exercise(input));
