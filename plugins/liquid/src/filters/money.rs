//! Amounts in minor units as text: `{{ 1299 | money: "EUR" }}` is `€12.99`.

use super::number::to_integer;
use crate::filter::{Args, Outcome, Refused};
use crate::value::Value;

/// Code, sign, digits behind the point (ISO 4217).
const CURRENCIES: [(&str, &str, usize); 24] = [
    ("EUR", "€", 2),
    ("USD", "$", 2),
    ("GBP", "£", 2),
    ("JPY", "¥", 0),
    ("CNY", "CN¥", 2),
    ("INR", "₹", 2),
    ("KRW", "₩", 0),
    ("BRL", "R$", 2),
    ("CAD", "CA$", 2),
    ("AUD", "A$", 2),
    ("NZD", "NZ$", 2),
    ("MXN", "MX$", 2),
    ("ILS", "₪", 2),
    ("VND", "₫", 0),
    ("HKD", "HK$", 2),
    ("BHD", "BHD ", 3),
    ("IQD", "IQD ", 3),
    ("JOD", "JOD ", 3),
    ("KWD", "KWD ", 3),
    ("LYD", "LYD ", 3),
    ("OMR", "OMR ", 3),
    ("TND", "TND ", 3),
    ("CLP", "CLP ", 0),
    ("ISK", "ISK ", 0),
];

/// Without a currency the amount has two digits and no sign.
pub fn money<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    if matches!(it, Value::Nil) {
        return Ok(Value::Nil);
    }
    let Some(amount) = to_integer(&it) else {
        return Refused::because("`money` takes a whole number of minor units, e.g. cents");
    };
    let code = args.at(0).to_text().to_ascii_uppercase();
    let plain = format!("{code}{}", if code.is_empty() { "" } else { " " });
    let (sign, digits) = CURRENCIES
        .iter()
        .find(|(it, ..)| *it == code)
        .map_or((plain.as_str(), 2), |(_, sign, digits)| (sign, *digits));
    let minus = if amount < 0 { "-" } else { "" };
    Ok(format!("{minus}{sign}{}", pointed(amount.unsigned_abs(), digits)).into())
}

fn pointed(amount: u64, digits: usize) -> String {
    let text = format!("{amount:0>width$}", width = digits + 1);
    let (whole, fraction) = text.split_at(text.len() - digits);
    let mut out = String::new();
    for (i, c) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    if digits > 0 {
        out.push('.');
        out.push_str(fraction);
    }
    out
}
