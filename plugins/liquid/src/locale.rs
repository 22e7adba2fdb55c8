//! What a language and region writes for dates, numbers and amounts, and its plural forms.

mod calendar;
mod conventions;
mod decimal;
mod language;
mod number;
mod plural;
mod plural_rules;
mod writing;
mod zone;

pub use calendar::{Style, date, datetime, name, time};
pub use decimal::Decimal;
#[cfg(test)]
pub use language::tags;
pub use language::{ENGLISH, Locale};
pub use number::{amount, number, percent, sign};
pub use plural::Plural;
pub use zone::{LocalTime, is_zone, local_time};

#[cfg(test)]
mod tests;
