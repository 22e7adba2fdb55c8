//! A message that has to go to a server without 8BITMIME, or has lines that are too long.

use waxwing_mail::seven_bit::{has_long_line, is_eight_bit, to_seven_bit, to_short_lines};

pub fn check(input: &[u8]) {
    match to_seven_bit(input) {
        Ok(output) => {
            assert!(!is_eight_bit(&output));
            assert_eq!(to_seven_bit(&output).as_ref(), Ok(&output), "it is done when it is done");
        }
        Err(_) => assert!(is_eight_bit(input), "what is ASCII can stay"),
    }
    if let Ok(output) = to_short_lines(input) {
        assert!(!has_long_line(&output));
    }
}
