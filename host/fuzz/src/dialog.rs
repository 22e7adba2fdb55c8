//! A session of the relay; `waxwing_smtp::server::exercise` says what must hold.

pub fn check(input: &[u8]) {
    waxwing_smtp::server::exercise::exercise(input);
}
