//! What a locale writes: its signs, names and patterns. The tables of CLDR have one of it for each locale.

/// What a locale writes. Lists have `|` between their items and stand in the order of CLDR: months from
/// January, days from Sunday, styles from `full` to `short`. `…_alone` are names without a day beside
/// them; empty where they are the same.
#[derive(Debug)]
pub struct Conventions {
    /// The digit; nine others follow it in Unicode.
    pub zero: char,
    pub decimal: &'static str,
    pub group: &'static str,
    pub minus: &'static str,
    pub percent_sign: &'static str,
    pub money_decimal: &'static str,
    pub money_group: &'static str,
    /// How many digits stand before the first group at least.
    pub least_grouped: usize,
    pub number: &'static str,
    pub percent: &'static str,
    pub money: &'static str,
    /// Where the currency's sign has a letter beside the digits.
    pub money_letters: &'static str,
    /// Without a currency.
    pub money_bare: &'static str,
    /// `USD=$`, where the sign is not the one of most locales.
    pub signs: &'static str,
    pub months: &'static str,
    pub months_alone: &'static str,
    pub short_months: &'static str,
    pub short_months_alone: &'static str,
    pub days: &'static str,
    pub days_alone: &'static str,
    pub short_days: &'static str,
    pub short_days_alone: &'static str,
    pub halves: &'static str,
    /// The part of the day at each hour, where the times have it.
    pub hours: &'static str,
    pub eras: &'static str,
    pub dates: &'static str,
    pub times: &'static str,
    /// Date `{1}` and time `{0}` together.
    pub joined: &'static str,
    /// East and west of Greenwich, with `;` between.
    pub offset: &'static str,
    pub utc_offset: &'static str,
    pub utc: &'static str,
}

/// One item of a list.
pub fn item(list: &'static str, index: usize) -> &'static str {
    list.split('|').nth(index).unwrap_or_default()
}
