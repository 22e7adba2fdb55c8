//! Numbers, shares and amounts. `money` takes minor units: `{{ 1299 | money: "EUR" }}` is `€12.99`; `currency` takes
//! decimals: `{{ "12.99" | currency: "EUR" }}`.

use super::number::{count, to_integer};
use crate::filter::{Args, Outcome, Refused};
use crate::locale::{self, Decimal, ENGLISH, Locale};
use crate::value::{Value, kind};

/// Signs of currencies in a render without a locale.
const SIGNS: [(&str, &str); 15] = [
    ("EUR", "€"),
    ("USD", "$"),
    ("GBP", "£"),
    ("JPY", "¥"),
    ("CNY", "CN¥"),
    ("INR", "₹"),
    ("KRW", "₩"),
    ("BRL", "R$"),
    ("CAD", "CA$"),
    ("AUD", "A$"),
    ("NZD", "NZ$"),
    ("MXN", "MX$"),
    ("ILS", "₪"),
    ("VND", "₫"),
    ("HKD", "HK$"),
];

/// No more digits than this are written behind the point.
const MAX_PLACES: usize = 100;

/// Without a currency the amount has two digits and no sign.
pub fn money<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    let Some(amount) = minor_units(&it, "money")? else { return Ok(Value::Nil) };
    let code = code(args);
    let digits = iso_digits(&code);
    if let Some(locale) = args.locale {
        let sign = locale::sign(locale, &code);
        let amount = Decimal::of_minor(amount, digits);
        return Ok(locale::amount(amount, locale, sign, digits).into());
    }
    let plain = format!("{code}{}", if code.is_empty() { "" } else { " " });
    let sign = SIGNS.iter().find(|(it, _)| *it == code).map_or(plain.as_str(), |(_, sign)| sign);
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

/// With the code of the currency, which means one currency only.
pub fn money_with_currency<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    let Some(amount) = minor_units(&it, "money_with_currency")? else { return Ok(Value::Nil) };
    let code = code(args);
    let digits = iso_digits(&code);
    Ok(locale::amount(Decimal::of_minor(amount, digits), in_locale(args), &code, digits).into())
}

/// The number alone.
pub fn money_without_currency<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    let Some(amount) = minor_units(&it, "money_without_currency")? else { return Ok(Value::Nil) };
    let digits = iso_digits(&code(args));
    Ok(locale::amount(Decimal::of_minor(amount, digits), in_locale(args), "", digits).into())
}

/// An amount as a decimal number.
pub fn currency<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    let Some(amount) = decimal(&it, "currency")? else { return Ok(Value::Nil) };
    let (code, locale) = (code(args), in_locale(args));
    let sign = locale::sign(locale, &code);
    Ok(locale::amount(amount, locale, sign, iso_digits(&code)).into())
}

/// With at most three digits behind the point, or with exactly so many.
pub fn number<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    let Some(number) = decimal(&it, "number")? else { return Ok(Value::Nil) };
    let places = places(args, "number")?;
    Ok(locale::number(number, in_locale(args), places).into())
}

/// A share of 1, with no digits behind the point or with exactly so many.
pub fn percent<'a>(it: Value<'a>, args: &Args<'_, 'a>) -> Outcome<'a> {
    let Some(share) = decimal(&it, "percent")? else { return Ok(Value::Nil) };
    let places = places(args, "percent")?.unwrap_or(0);
    Ok(locale::percent(share, in_locale(args), places).into())
}

fn in_locale<'v>(args: &Args<'v, '_>) -> &'v Locale {
    args.locale.unwrap_or(&ENGLISH)
}

fn code(args: &Args<'_, '_>) -> String {
    args.at(0).to_text().to_ascii_uppercase()
}

/// `None` for nothing.
fn minor_units(it: &Value<'_>, filter: &str) -> Result<Option<i64>, Refused> {
    if matches!(it, Value::Nil) {
        return Ok(None);
    }
    let because = || Refused(format!("`{filter}` takes a whole number of minor units, e.g. cents"));
    to_integer(it).or_else(|| whole(it)).map(Some).ok_or_else(because)
}

/// 1299.0 is 1299, as in JSON Schema.
fn whole(it: &Value<'_>) -> Option<i64> {
    if let Value::Float(it) = it { it.to_string().parse().ok() } else { None }
}

/// `None` for nothing.
fn decimal(it: &Value<'_>, filter: &str) -> Result<Option<Decimal>, Refused> {
    if matches!(it, Value::Nil) {
        return Ok(None);
    }
    let because = || Refused(format!("`{filter}` takes a number, as `12.5`, found {}", kind(it)));
    Decimal::of(it).map(Some).ok_or_else(because)
}

fn places(args: &Args<'_, '_>, filter: &str) -> Result<Option<usize>, Refused> {
    let Some(it) = args.get(0) else { return Ok(None) };
    let places = to_integer(it).map(count).filter(|it| *it <= MAX_PLACES);
    let because = || Refused(format!("`{filter}` takes 0 to {MAX_PLACES} digits"));
    places.map(Some).ok_or_else(because)
}

/// How many digits of an amount are behind the point (ISO 4217); 2 for what is no currency.
fn iso_digits(code: &str) -> usize {
    match code {
        "BIF" | "CLP" | "DJF" | "GNF" | "ISK" | "JPY" | "KMF" | "KRW" | "PYG" | "RWF" | "UGX"
        | "UYI" | "VND" | "VUV" | "XAF" | "XOF" | "XPF" => 0,
        "BHD" | "IQD" | "JOD" | "KWD" | "LYD" | "OMR" | "TND" => 3,
        "CLF" | "UYW" => 4,
        _ => 2,
    }
}
