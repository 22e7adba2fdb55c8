//! How a list is searched: in bites that grow, up to a bound for one request.

/// Rows of one bite at most: a few milliseconds of one connection.
const LARGEST: u32 = 4_000;
/// Rows that one request looks at.
const BOUND: u32 = 20_000;

/// The sizes of the bites of one request.
#[derive(Debug)]
pub struct Bites {
    next: u32,
    looked: u32,
}

impl Bites {
    /// For a page of `wanted` rows: where all of them pass the filter, the first bite is enough.
    pub fn new(wanted: u32) -> Self {
        Self { next: wanted.saturating_add(1), looked: 0 }
    }
}

impl Iterator for Bites {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        if self.looked >= BOUND {
            return None;
        }
        let bite = self.next;
        self.looked = self.looked.saturating_add(bite);
        self.next = bite.saturating_mul(4).min(LARGEST);
        Some(bite)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bites_grow_and_come_to_an_end() {
        let bites: Vec<u32> = Bites::new(50).collect();
        assert_eq!(bites[..5], [51, 204, 816, 3_264, 4_000]);
        let sum: u32 = bites.iter().sum();
        assert!((BOUND..BOUND + LARGEST).contains(&sum), "{sum}");
        assert!(Bites::new(0).next().is_some_and(|it| it > 0));
    }
}
