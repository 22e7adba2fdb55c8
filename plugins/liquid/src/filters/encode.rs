//! JSON, Base64 and percent-encoding.

use super::html::unescaped;
use crate::filter::{Args, Outcome, Refused};
use crate::value::Value;

pub fn json<'a>(it: Value<'a>, _: &Args<'_, 'a>) -> Outcome<'a> {
    let mut out = String::new();
    let it = if matches!(it, Value::Safe(_)) { Value::Str(unescaped(&it)) } else { it };
    crate::json::write(&it, &mut out);
    Ok(out.into())
}

pub fn base64_encode<'a>(it: Value<'a>, _: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(encoded(&unescaped(&it), STANDARD).into())
}

pub fn base64_url_safe_encode<'a>(it: Value<'a>, _: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(encoded(&unescaped(&it), URL_SAFE).into())
}

pub fn base64_decode<'a>(it: Value<'a>, _: &Args<'_, 'a>) -> Outcome<'a> {
    decoded(&it.to_text(), STANDARD)
}

pub fn base64_url_safe_decode<'a>(it: Value<'a>, _: &Args<'_, 'a>) -> Outcome<'a> {
    decoded(&it.to_text(), URL_SAFE)
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn encoded(text: &str, alphabet: &[u8; 64]) -> String {
    let mut out = String::with_capacity(text.len().div_ceil(3) * 4);
    for chunk in text.as_bytes().chunks(3) {
        let byte = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4_usize {
            let sextet = bits >> (18 - 6 * i) & 63;
            out.push(if i <= chunk.len() { char::from(alphabet[sextet as usize]) } else { '=' });
        }
    }
    out
}

fn decoded<'a>(text: &str, alphabet: &[u8; 64]) -> Outcome<'a> {
    let invalid = || Refused("invalid Base64".to_owned());
    let body = text.trim_end_matches('=');
    let padding = text.len() - body.len();
    let padded = text.len().is_multiple_of(4) && padding <= 2;
    if body.len() % 4 == 1 || (!padded && (alphabet == STANDARD || padding > 0)) {
        return Err(invalid());
    }
    let mut out = Vec::with_capacity(body.len() / 4 * 3 + 2);
    for chunk in body.as_bytes().chunks(4) {
        let mut bits = 0_u32;
        for i in 0..4 {
            let sextet = match chunk.get(i) {
                Some(it) => alphabet.iter().position(|a| a == it).ok_or_else(invalid)?,
                None => 0,
            };
            bits = bits << 6 | u32::try_from(sextet).unwrap_or(0);
        }
        let [_, bytes @ ..] = bits.to_be_bytes();
        out.extend_from_slice(bytes.get(..chunk.len() - 1).unwrap_or_default());
    }
    String::from_utf8(out).map(Value::from).map_err(|_| invalid())
}

/// As a form encodes: a space is `+`.
pub fn url_encode<'a>(it: Value<'a>, _: &Args<'_, 'a>) -> Outcome<'a> {
    if matches!(it, Value::Nil) {
        return Ok(it);
    }
    Ok(percent_encoded(&unescaped(&it), |it| it == b'~').replace("%20", "+").into())
}

/// As a URL is escaped: only what may not stand in one.
pub fn url_escape<'a>(it: Value<'a>, _: &Args<'_, 'a>) -> Outcome<'a> {
    Ok(percent_encoded(&unescaped(&it), |it| b"~!*'();:@&=+$,/?#[]".contains(&it)).into())
}

fn percent_encoded(text: &str, kept: impl Fn(u8) -> bool) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = String::with_capacity(text.len() + 16);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) || (byte.is_ascii() && kept(byte))
        {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
    out
}

pub fn url_decode<'a>(it: Value<'a>, _: &Args<'_, 'a>) -> Outcome<'a> {
    if matches!(it, Value::Nil) {
        return Ok(it);
    }
    let text = it.to_text();
    let mut bytes = text.bytes();
    let mut out = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut ahead = bytes.clone();
                let digit = |it: Option<u8>| char::from(it?).to_digit(16);
                match (digit(ahead.next()), digit(ahead.next())) {
                    (Some(high), Some(low)) => {
                        bytes = ahead;
                        u8::try_from(high * 16 + low).unwrap_or(b'%')
                    }
                    _ => b'%',
                }
            }
            byte => byte,
        });
    }
    match String::from_utf8(out) {
        Ok(it) => Ok(it.into()),
        Err(_) => Refused::because("`url_decode` made text that is not UTF-8"),
    }
}
