//! The volume discount: one price for the first recipients of a month, another for further ones.

use crate::settings::Settings;

/// The price in credits for `recipients` more after `sent` recipients this month; none if it overflows `u32`.
pub fn credits(settings: &Settings, sent: u64, recipients: u32) -> Option<u32> {
    let recipients = u64::from(recipients);
    let first = settings.first_recipients.saturating_sub(sent).min(recipients);
    let further = recipients - first;
    let first = first.checked_mul(u64::from(settings.first_price))?;
    let further = further.checked_mul(u64::from(settings.further_price))?;
    u32::try_from(first.checked_add(further)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_across_the_border_has_both_prices() {
        let settings = Settings {
            first_recipients: 10,
            first_price: 3,
            further_price: 1,
            ..Settings::default()
        };
        assert_eq!(credits(&settings, 0, 10), Some(30));
        assert_eq!(credits(&settings, 8, 5), Some(2 * 3 + 3));
        assert_eq!(credits(&settings, 10, 5), Some(5));
        assert_eq!(credits(&settings, u64::MAX, 1), Some(1));
    }

    #[test]
    fn a_price_past_the_range_is_none_and_does_not_wrap() {
        let settings = Settings { first_price: u32::MAX, ..Settings::default() };
        assert_eq!(credits(&settings, 0, 1), Some(u32::MAX));
        assert_eq!(credits(&settings, 0, 2), None);
    }
}
