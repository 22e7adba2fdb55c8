//! Addresses as programs write them, and as those do who want to be taken for another.

use proptest::prelude::*;

use super::*;
use crate::address::InvalidAddress;

type Pair = (Option<String>, String);

fn read(value: &str) -> Result<Vec<Pair>, InvalidMailbox> {
    let pair = |it: Mailbox| (it.name, it.address.to_string());
    mailboxes(value).map(|list| list.into_iter().map(pair).collect())
}

fn is_one(value: &str, name: Option<&str>, address: &str) {
    let expected = (name.map(str::to_owned), address.to_owned());
    assert_eq!(read(value), Ok(vec![expected]), "{value:?}");
}

#[test]
fn what_mail_programs_write_is_read() {
    for (value, name, address) in [
        ("ada@example.com", None, "ada@example.com"),
        (" <ada@Example.COM> ", None, "ada@example.com"),
        ("Ada Lovelace <ada@example.com>", Some("Ada Lovelace"), "ada@example.com"),
        ("Ada<ada@example.com>", Some("Ada"), "ada@example.com"),
        ("\"Lovelace, Ada\" <ada@example.com>", Some("Lovelace, Ada"), "ada@example.com"),
        ("\"a \\\"b\\\" \\\\c\" <ada@example.com>", Some("a \"b\" \\c"), "ada@example.com"),
        ("\"Ada\" \"Lovelace\" <ada@example.com>", Some("Ada Lovelace"), "ada@example.com"),
        ("Ada M. Lovelace Jr. <ada@example.com>", Some("Ada M. Lovelace Jr."), "ada@example.com"),
        ("O'Brien & Söhne <ob@example.com>", Some("O'Brien & Söhne"), "ob@example.com"),
        ("=?utf-8?q?Gr=C3=BC=C3=9Fe?= GmbH <g@example.com>", Some("Grüße GmbH"), "g@example.com"),
        ("=?UTF-8?B?R3LDvA==?= =?UTF-8?B?w59l?= <g@example.com>", Some("Grüße"), "g@example.com"),
        ("\"=?utf-8?q?Gr=C3=BC=C3=9Fe?=\" <g@example.com>", Some("Grüße"), "g@example.com"),
        ("=?utf-8?q?Doe=2C_Jane?= <jane@example.com>", Some("Doe, Jane"), "jane@example.com"),
        ("ada@example.com (Ada Lovelace)", Some("Ada Lovelace"), "ada@example.com"),
        ("(of the shop) Ada (the \\) first) <ada@example.com> (x)", Some("Ada"), "ada@example.com"),
        ("(a (nested (comment))) ada@example.com", Some("a (nested (comment))"), "ada@example.com"),
        ("ada@example.com <ada@example.com>", Some("ada@example.com"), "ada@example.com"),
        (
            "shop@example.com <no-reply@example.com>",
            Some("shop@example.com"),
            "no-reply@example.com",
        ),
        ("\"ceo@other.example\" <ada@example.com>", Some("ceo@other.example"), "ada@example.com"),
        ("\"odd one\"@example.com", None, "\"odd one\"@example.com"),
        ("Ada <\"odd, one\"@example.com>", Some("Ada"), "\"odd, one\"@example.com"),
        ("a@[192.0.2.1]", None, "a@[192.0.2.1]"),
        ("A <a@[IPv6:2001:db8::1]>", Some("A"), "a@[IPv6:2001:db8::1]"),
        ("用户 <用户@例え.example>", Some("用户"), "用户@xn--r8jz45g.example"),
        ("\"\" <ada@example.com>", None, "ada@example.com"),
        ("\tAda\t<ada@example.com>\t", Some("Ada"), "ada@example.com"),
    ] {
        is_one(value, name, address);
    }
}

#[test]
fn a_list_is_read_in_order() {
    let list = read("a@example.com, \"B, b\" <b@example.com> ,c@example.com(C)").expect("valid");
    let expected =
        [(None, "a@example.com"), (Some("B, b"), "b@example.com"), (Some("C"), "c@example.com")];
    assert_eq!(list, expected.map(|(n, a)| (n.map(str::to_owned), a.to_owned())));
}

#[test]
fn what_receivers_read_differently_is_refused() {
    use InvalidMailbox::{AfterAddress, Ambiguous, CommentAddress, OtherAddress};
    for (value, expected) in [
        ("<a@example.com> <b@other.example>", AfterAddress),
        ("<a@example.com> b@other.example", AfterAddress),
        ("Ada <a@example.com> Lovelace", AfterAddress),
        ("b@other.example <a@example.com>", OtherAddress),
        ("b@sub.example.com <a@example.com>", OtherAddress),
        ("Ada b@other.example <a@example.com>", OtherAddress),
        ("b@other.example; <a@example.com>", InvalidMailbox::Special(';')),
        ("Ada @ Shop <a@example.com>", OtherAddress),
        ("(b@other.example) a@example.com", CommentAddress),
        ("a@example.com (<b@other.example>)", CommentAddress),
        ("Ada (b@other.example,) <a@example.com>", CommentAddress),
        ("\"<b@other.example>\"@example.com", Ambiguous),
        ("\"b@other.example\"@example.com", Ambiguous),
        ("=?utf-8?q?b=40other.example=00?=@example.com", Ambiguous),
        ("<=?utf-8?b?cG90dXM=?==?utf-8?q?=00?=@example.com>", Ambiguous),
        ("a\u{200b}b@example.com", Ambiguous),
    ] {
        assert_eq!(read(value), Err(expected), "{value:?}");
    }
}

#[test]
fn control_characters_do_not_come_through() {
    for value in [
        "Ada\r\nBcc: b@example.com <a@example.com>",
        "a@example.com\n",
        "A\0da <a@example.com>",
        "\"A\u{7f}\" <a@example.com>",
        "=?utf-8?q?Ada=0D=0ABcc=3A_b=40example.com?= <a@example.com>",
        "\"=?utf-8?q?Ada=00?=\" <a@example.com>",
        "a@example.com (=?utf-8?q?Ada=0A?=)",
        "moc.elpmaxe@oec\u{202e} <a@example.com>",
        "=?utf-8?b?4oCu?= <a@example.com>",
        "Ada \u{2028} <a@example.com>",
    ] {
        assert_eq!(read(value), Err(InvalidMailbox::Control), "{value:?}");
    }
}

#[test]
fn malformed_values_are_refused() {
    use InvalidMailbox::{Address, Group, Missing, Special, TooDeep, Unclosed};
    for (value, expected) in [
        ("", Missing),
        (" ", Missing),
        ("(only a comment)", Missing),
        ("a@example.com,", Missing),
        (",a@example.com", Missing),
        ("friends: a@example.com, b@example.com;", Group),
        ("undisclosed-recipients:;", Group),
        ("Re: shop <a@example.com>", Group),
        ("<a@example.com", Unclosed('<')),
        ("<\"a@example.com>", Unclosed('"')),
        ("\"Ada <a@example.com>", Unclosed('"')),
        ("Ada (x <a@example.com>", Unclosed('(')),
        ("a@[192.0.2.1", Unclosed('[')),
        ("[Shop] Ada <a@example.com>", Special('[')),
        ("Ada) <a@example.com>", Special(')')),
        ("Ada> <a@example.com>", Special('>')),
        ("A\\da <a@example.com>", Special('\\')),
        ("O\"Neil <a@example.com>", Special('"')),
        ("Ada", Address(InvalidAddress::NoAt)),
        ("Ada Lovelace a@example.com", Address(InvalidAddress::NotBare)),
        ("<>", Address(InvalidAddress::Empty)),
        ("<a @example.com>", Address(InvalidAddress::NotBare)),
        ("a(x)@example.com", Address(InvalidAddress::LocalPart)),
        ("<(x)a@example.com>", Address(InvalidAddress::LocalPart)),
        ("Ada <@relay.example:a@example.com>", Address(InvalidAddress::NotBare)),
        (&format!("{} a@example.com", "(".repeat(100_000)), TooDeep),
    ] {
        assert_eq!(read(value), Err(expected), "{value:?}");
    }
}

proptest! {
    #[test]
    fn whatever_is_read_holds_no_control_character(
        value in "([\"<>(),:;@\\[\\]\\\\. \t]|a@b\\.de|c@d\\.eu|=\\?utf-8\\?q\\?|=0A|\\?=|\\PC|.){0,24}"
    ) {
        for mailbox in mailboxes(&value).unwrap_or_default() {
            let text = format!("{}{}", mailbox.name.unwrap_or_default(), mailbox.address);
            prop_assert!(!text.chars().any(is_unsafe));
        }
    }

    #[test]
    fn a_quoted_name_comes_back(name in "[ -~äß用]{1,40}") {
        prop_assume!(!name.contains("=?"));
        let escaped = name.replace('\\', "\\\\").replace('"', "\\\"");
        let value = format!("\"{escaped}\" <a@example.com>");
        let expected = Some(name.trim().to_owned()).filter(|it| !it.is_empty());
        prop_assert_eq!(read(&value), Ok(vec![(expected, "a@example.com".to_owned())]));
    }

    #[test]
    fn the_only_domain_outside_quotes_is_that_of_the_address(
        words in prop::collection::vec("a@mine\\.de|b@evil\\.eu|<a@mine\\.de>|<b@evil\\.eu>|Ada|\\(b@evil\\.eu\\)", 1..4)
    ) {
        let value = words.join(" ");
        for mailbox in mailboxes(&value).unwrap_or_default() {
            let other = if mailbox.address.host() == "mine.de" { "evil.eu" } else { "mine.de" };
            prop_assert!(!value.contains(other), "{value}");
        }
    }
}
