//! Words that follow a number.

/// The words for one thing, or those for none and several: `file differs` behind 1, and `files differ` behind 2.
#[must_use]
pub fn plural<'a, N: Copy + PartialEq + From<u8>>(
    number: N,
    one: &'a str,
    several: &'a str,
) -> &'a str {
    if number == N::from(1) { one } else { several }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_and_all_other_numbers_of_things_are() {
        assert_eq!(plural(1_u64, "is", "are"), "is");
        assert_eq!([0_usize, 2, 11].map(|it| plural(it, "is", "are")), ["are"; 3]);
    }
}
