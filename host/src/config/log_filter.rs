//! What is logged, validated when the configuration is read.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tracing_subscriber::EnvFilter;

/// A level, or levels by module.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct LogFilter(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no filter: give a level, or levels by module, as in info or waxwing=debug,warn")]
pub struct InvalidLogFilter(String);

impl LogFilter {
    /// From that level on, whichever module says it.
    #[must_use]
    pub fn level(level: tracing::Level) -> Self {
        Self(level.as_str().to_ascii_lowercase())
    }

    #[must_use]
    pub(crate) fn filter(&self) -> EnvFilter {
        EnvFilter::try_new(&self.0).expect("it was validated when it was made")
    }
}

impl FromStr for LogFilter {
    type Err = InvalidLogFilter;

    fn from_str(text: &str) -> Result<Self, InvalidLogFilter> {
        match EnvFilter::try_new(text) {
            Ok(_) => Ok(Self(text.to_owned())),
            Err(_) => Err(InvalidLogFilter(text.to_owned())),
        }
    }
}

impl TryFrom<String> for LogFilter {
    type Error = InvalidLogFilter;

    fn try_from(text: String) -> Result<Self, InvalidLogFilter> {
        text.parse()
    }
}

impl From<LogFilter> for String {
    fn from(filter: LogFilter) -> Self {
        filter.0
    }
}

impl fmt::Display for LogFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
