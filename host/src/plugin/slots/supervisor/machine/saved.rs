//! Whether the disk knows a slot as it stands.

/// Moves between the supervisor's rounds; a write is never under way in between.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Saved {
    #[default]
    Yes,
    /// It has changed; it is shown when it is written.
    Due,
    /// It could not be written: the next start would not know of it.
    Failed(Again),
}

/// When it is to be written once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    AtNextScan,
    Now,
    /// It has changed since the last write.
    NowAndShow,
}

/// What a write changes for others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Whether the slot is to be shown anew.
    pub show: bool,
    /// Whether this is the first of several failures.
    pub begins_to_fail: bool,
}

impl Saved {
    pub fn change(&mut self) {
        *self = match self {
            Self::Yes | Self::Due => Self::Due,
            Self::Failed(_) => Self::Failed(Again::NowAndShow),
        };
    }

    /// What could not be written is due once more.
    pub fn retry(&mut self) {
        if *self == Self::Failed(Again::AtNextScan) {
            *self = Self::Failed(Again::Now);
        }
    }

    pub fn is_due(self) -> bool {
        match self {
            Self::Due | Self::Failed(Again::Now | Again::NowAndShow) => true,
            Self::Yes | Self::Failed(Again::AtNextScan) => false,
        }
    }

    pub fn has_failed(self) -> bool {
        matches!(self, Self::Failed(_))
    }

    /// It was written, or not.
    pub fn note(&mut self, result: Result<(), ()>) -> Written {
        let had_failed = self.has_failed();
        let has_changed = matches!(self, Self::Due | Self::Failed(Again::NowAndShow));
        *self = match result {
            Ok(()) => Self::Yes,
            Err(()) => Self::Failed(Again::AtNextScan),
        };
        let fails = result.is_err();
        Written { show: has_changed || fails != had_failed, begins_to_fail: fails && !had_failed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_save_is_told_once_and_retried_at_each_scan() {
        let mut saved = Saved::default();
        assert!(!saved.is_due());
        saved.change();
        assert!(saved.is_due());
        assert_eq!(saved.note(Err(())), Written { show: true, begins_to_fail: true });
        assert!(saved.has_failed() && !saved.is_due(), "not before the next scan");
        saved.retry();
        assert!(saved.is_due());
        assert_eq!(saved.note(Err(())), Written { show: false, begins_to_fail: false });
        saved.change();
        assert_eq!(saved.note(Err(())), Written { show: true, begins_to_fail: false });
        saved.retry();
        assert_eq!(saved.note(Ok(())), Written { show: true, begins_to_fail: false });
        saved.retry();
        assert_eq!(saved, Saved::Yes, "nothing is left to be written");
    }
}
