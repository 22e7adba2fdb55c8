//! How a list is searched: in batches that grow, up to a bound for one request.

/// Rows of one batch at most: a few milliseconds of one connection.
const MAX_BATCH_ROWS: u32 = 4_000;
/// Rows that one request reads, at most.
const MAX_SCANNED_ROWS: u32 = 20_000;

/// The sizes of the batches of one request.
#[derive(Debug)]
pub struct ScanBatches {
    next: u32,
    looked: u32,
}

impl ScanBatches {
    /// For a page of `wanted` rows: where all of them pass the filter, the first batch is enough.
    pub fn new(wanted: u32) -> Self {
        Self { next: wanted.saturating_add(1), looked: 0 }
    }
}

impl Iterator for ScanBatches {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        if self.looked >= MAX_SCANNED_ROWS {
            return None;
        }
        let batch = self.next;
        self.looked = self.looked.saturating_add(batch);
        self.next = batch.saturating_mul(4).min(MAX_BATCH_ROWS);
        Some(batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bites_grow_and_come_to_an_end() {
        let batches: Vec<u32> = ScanBatches::new(50).collect();
        assert_eq!(batches[..5], [51, 204, 816, 3_264, 4_000]);
        let sum: u32 = batches.iter().sum();
        assert!((MAX_SCANNED_ROWS..MAX_SCANNED_ROWS + MAX_BATCH_ROWS).contains(&sum), "{sum}");
        assert!(ScanBatches::new(0).next().is_some_and(|it| it > 0));
    }
}
