//! The letters: what makes clients and servers stumble, octet for octet as it shall arrive.

use std::fmt::Write;

use super::client::{Letter, Port};

/// The longest line that there may be (RFC 5321 section 4.5.3.1.6), without its end.
const MAX_LINE: usize = 998;
const TEN_MEGABYTES: usize = 10 << 20;

/// Dots at the beginning of lines, spaces at their end, long lines, 8-bit text, a file, and header
/// fields that nobody would write but must arrive as they are, except Bcc.
pub fn odd(from: &str, port: Port) -> Letter {
    let (kept, hidden) = (format!("odd.{}@example.com", port.as_str()), hidden(port));
    let file = base64_lines(3_000);
    let (field, line) = ("f".repeat(MAX_LINE - "X-Long: ".len()), "l".repeat(MAX_LINE - 1));
    let raw = format!(
        "Date: Fri, 21 Nov 2025 10:00:00 +0100\n\
         From: \"Hello, World\" <{from}>\n\
         To: {kept}\n\
         Bcc: {hidden},\n \tfolded@example.com\n\
         Subject:no space after the colon,\n\tand a fold\n\
         Message-ID: <odd.{}@example.com>\n\
         x-ODD-cAsE:   kept   as it is\n\
         X-Long: {field}\n\
         X-Empty:\n\
         MIME-Version: 1.0\n\
         bcc: second@example.com\n\
         Content-Type: multipart/mixed;\n boundary=\"=_letter\"\n\
         \n\
         for clients without MIME\n\
         --=_letter\n\
         Content-Type: text/plain; charset=utf-8\n\
         Content-Transfer-Encoding: 8bit\n\
         \n\
         .\n\
         ..\n\
         ...\n\
         .one dot\n\
         ..two dots\n\
         From here\n\
         RSET\n\
         Grüße — 東京 🐦  \n\
         \t\n\
         .{line}\n\
         a dot at the end.\n\
         --=_letter\n\
         Content-Type: application/octet-stream\n\
         Content-Transfer-Encoding: base64\n\
         Content-Disposition: attachment;\n filename*=UTF-8''R%C3%A9sum%C3%A9.bin\n\
         \n\
         {file}\
         --=_letter--\n\
         .\n\
         \n\
         the end\n\
         \n\
         \n",
        port.as_str(),
    );
    Letter { from: from.to_owned(), to: vec![kept, hidden], raw: with_crlf(&raw) }
}

/// Without Date and Message-ID, which a submission server adds.
pub fn bare(from: &str, port: Port) -> Letter {
    let to = format!("bare.{}@example.com", port.as_str());
    let raw = format!("From: {from}\nTo: {to}\nSubject: bare\n\n.\n");
    Letter { from: from.to_owned(), to: vec![to], raw: with_crlf(&format!("{raw}end\n")) }
}

/// Addresses, names and a subject in UTF-8 as they are (RFC 6531, RFC 6532).
pub fn utf8(from: &str, port: Port) -> Letter {
    let (_, domain) = from.split_once('@').expect("an address has a domain");
    let from = format!("grüße@{domain}");
    let to = format!("用户.{}@例え.example", port.as_str());
    let raw = format!(
        "Date: Fri, 21 Nov 2025 10:00:00 +0100\n\
         From: Zoë <{from}>\n\
         To: 用户 <{to}>\n\
         Message-ID: <utf8.{}@example.com>\n\
         Subject: お客様の注文 🐦\n\
         MIME-Version: 1.0\n\
         Content-Type: text/plain; charset=utf-8\n\
         Content-Transfer-Encoding: 8bit\n\
         \n\
         .Grüße\n",
        port.as_str(),
    );
    Letter { from, to: vec![to], raw: with_crlf(&raw) }
}

/// Ten megabytes, with a dot at the beginning of many lines.
pub fn large(from: &str, port: Port) -> Letter {
    let to = format!("large.{}@example.com", port.as_str());
    let mut raw = format!("{}Subject: large\n\n", head(from, &to, "large", port));
    let rest = base64_lines(57);
    let mut number = 0;
    while raw.len() < TEN_MEGABYTES {
        let dots = ".".repeat(number % 4);
        write!(raw, "{dots}{number} ü {rest}").expect("a text takes what is written");
        number += 1;
    }
    Letter { from: from.to_owned(), to: vec![to], raw: with_crlf(&raw) }
}

pub fn hundred(from: &str, port: Port) -> Letter {
    let to: Vec<_> = (0..100).map(|it| format!("r{it}.{}@example.com", port.as_str())).collect();
    let to_all = "undisclosed-recipients:;";
    let raw = format!("{}Subject: to many\n\n..\nend\n", head(from, to_all, "hundred", port));
    Letter { from: from.to_owned(), to, raw: with_crlf(&raw) }
}

/// The recipient whom only the Bcc field of [`odd`] names.
pub fn hidden(port: Port) -> String {
    format!("hidden.{}@example.com", port.as_str())
}

fn head(from: &str, to: &str, name: &str, port: Port) -> String {
    let port = port.as_str();
    format!(
        "Date: Fri, 21 Nov 2025 10:00:00 +0100\nFrom: {from}\nTo: {to}\n\
         Message-ID: <{name}.{port}@example.com>\n"
    )
}

/// Octets of all kinds in lines of 76.
fn base64_lines(octets: u32) -> String {
    use base64::Engine;
    let octets: Vec<u8> = (0..octets).map(|it| (it * it % 251) as u8).collect();
    let text = base64::engine::general_purpose::STANDARD.encode(octets);
    let mut lines = String::new();
    for (index, letter) in text.chars().enumerate() {
        if index > 0 && index % 76 == 0 {
            lines.push('\n');
        }
        lines.push(letter);
    }
    lines.push('\n');
    lines
}

fn with_crlf(text: &str) -> Vec<u8> {
    text.replace('\n', "\r\n").into_bytes()
}
