//! Addresses and URLs in all their spellings.

use super::*;

fn allowing(networks: &[&str]) -> Guard {
    let allowed = networks.iter().map(|it| it.parse().expect("a network")).collect();
    Guard { schemes: Schemes::Https, allowed }
}

/// Of the public internet, many just beside what is not.
const PUBLIC: &[&str] = &[
    "1.1.1.1",
    "8.8.8.8",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "126.255.255.255",
    "128.0.0.1",
    "169.253.255.255",
    "169.255.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.0",
    "192.0.3.0",
    "192.88.98.255",
    "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255",
    "198.20.0.0",
    "198.51.99.1",
    "203.0.114.0",
    "223.255.255.255",
    "2606:4700:4700::1111",
    "2a00:1450:4001::1",
    "2001:200::1",
    "2001:4860:4860::8888",
    "2003::1",
    "3ffe::1",
    "3fff:1000::1",
    "::ffff:8.8.8.8",
    "64:ff9b::8.8.8.8",
];

/// All others, with the reason.
const OTHERS: &[(&str, &str)] = &[
    ("0.0.0.0", "this network"),
    ("0.1.2.3", "this network"),
    ("10.0.0.1", "private"),
    ("10.255.255.255", "private"),
    ("100.64.0.1", "shared"),
    ("100.127.255.255", "shared"),
    ("127.0.0.1", "loopback"),
    ("127.255.255.254", "loopback"),
    ("169.254.169.254", "link-local"),
    ("169.254.0.0", "link-local"),
    ("172.16.0.1", "private"),
    ("172.31.255.255", "private"),
    ("192.0.0.8", "protocols"),
    ("192.0.0.170", "protocols"),
    ("192.0.2.1", "documentation"),
    ("192.88.99.1", "6to4"),
    ("192.168.0.1", "private"),
    ("192.168.255.255", "private"),
    ("198.18.0.1", "benchmarks"),
    ("198.19.255.255", "benchmarks"),
    ("198.51.100.7", "documentation"),
    ("203.0.113.9", "documentation"),
    ("224.0.0.1", "multicast"),
    ("239.255.255.255", "multicast"),
    ("240.0.0.1", "reserved"),
    ("255.255.255.254", "reserved"),
    ("255.255.255.255", "broadcast"),
    ("::", "unspecified"),
    ("::1", "loopback"),
    ("::2", "deprecated"),
    ("::127.0.0.1", "deprecated"),
    ("::8.8.8.8", "deprecated"),
    ("::ffff:127.0.0.1", "loopback"),
    ("::ffff:10.0.0.1", "private"),
    ("::ffff:169.254.169.254", "link-local"),
    ("::ffff:0:127.0.0.1", "reserved"),
    ("64:ff9b::127.0.0.1", "loopback"),
    ("64:ff9b::10.1.2.3", "private"),
    ("64:ff9b::169.254.169.254", "link-local"),
    ("64:ff9b:1::8.8.8.8", "reserved"),
    ("64:ff9b::1:8.8.8.8", "reserved"),
    ("100::1", "reserved"),
    ("2001::1", "Teredo"),
    ("2001:0:7f00:1::", "Teredo"),
    ("2001:2::1", "protocols"),
    ("2001:10::1", "protocols"),
    ("2001:1ff:ffff::1", "protocols"),
    ("2001:db8::1", "documentation"),
    ("2002:7f00:1::1", "6to4"),
    ("2002:a00:1::", "6to4"),
    ("2002:808:808::1", "6to4"),
    ("3fff::1", "documentation"),
    ("3fff:fff::1", "documentation"),
    ("4000::1", "reserved"),
    ("5f00::1", "reserved"),
    ("fc00::1", "unique local"),
    ("fd12:3456::1", "unique local"),
    ("fdff:ffff::1", "unique local"),
    ("fe80::1", "link-local"),
    ("febf::1", "link-local"),
    ("fec0::1", "site-local"),
    ("feff::1", "site-local"),
    ("ff02::1", "multicast"),
    ("ff0e::1", "multicast"),
    ("1fff::1", "reserved"),
    ("e000::1", "reserved"),
];

#[test]
fn only_public_addresses_are_public() {
    for text in PUBLIC {
        let address: IpAddr = text.parse().expect(text);
        assert_eq!(not_public(address), None, "{text}");
        assert_eq!(Guard::default().check_address(address), Ok(()), "{text}");
    }
    for (text, why) in OTHERS {
        let address: IpAddr = text.parse().expect(text);
        let found = not_public(address).unwrap_or("public");
        assert!(found.contains(why), "{text}: {found}");
        assert!(Guard::default().check_address(address).is_err(), "{text}");
    }
}

#[test]
fn the_operator_allows_networks_and_nothing_beside_them() {
    let guard = allowing(&["127.0.0.2/32", "10.1.0.0/16", "fd00::/8"]);
    for text in ["127.0.0.2", "10.1.255.1", "fd01::1", "::ffff:127.0.0.2", "8.8.8.8"] {
        assert_eq!(guard.check_address(text.parse().expect(text)), Ok(()), "{text}");
    }
    for text in
        ["127.0.0.1", "10.2.0.1", "fc01::1", "::ffff:127.0.0.1", "64:ff9b::127.0.0.2", "::1"]
    {
        assert!(guard.check_address(text.parse().expect(text)).is_err(), "{text}");
    }
}

#[test]
fn a_url_is_measured_as_it_is_kept() {
    let url = |path: &str| allowing(&[]).check_url(&format!("https://example.com/{path}"));
    let long = "a".repeat(MAX_URL_CHARS - "https://example.com/".len());
    assert_eq!(url(&long).map(|it| it.as_str().len()), Ok(MAX_URL_CHARS));
    assert_eq!(url(&format!("{long}a")), Err(InvalidUrl::TooLong));
    assert_eq!(url(&"€".repeat(300)), Err(InvalidUrl::TooLong), "nine characters each");
    assert!(url(&"€".repeat(200)).is_ok());
}

#[test]
fn an_address_in_a_url_is_known_in_every_spelling() {
    for host in [
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "017700000001",
        "127.0.0.1.",
        "①②⑦.⓪.⓪.①",
        "127。0。0。1",
        "%31%32%37.0.0.1",
        "0",
        "0.0.0.0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "[fe80::1]",
        "[fd00::1]",
        "[2002:7f00:1::]",
        "169.254.169.254",
        "0xa9fea9fe",
        "2852039166",
        "10.0.0.1",
        "192.168.1.1",
    ] {
        let refused = Guard::default().check_url(&format!("https://{host}:8443/hooks"));
        assert!(matches!(refused, Err(InvalidUrl::Address(_))), "{host}: {refused:?}");
    }
    let url = allowing(&["127.0.0.0/8"]).check_url("https://0x7f.1/hooks").expect("allowed");
    assert_eq!(url.as_str(), "https://127.0.0.1/hooks", "and that is what is connected to");
}

#[test]
fn a_url_says_where_and_nothing_else() {
    let guard = Guard::default();
    for good in [
        "https://example.com",
        "https://example.com:8443/a/b?c=d",
        "https://bücher.example/",
        "https://8.8.8.8/",
    ] {
        assert!(guard.check_url(good).is_ok(), "{good}");
    }
    assert_eq!(guard.check_url("http://example.com/"), Err(InvalidUrl::Scheme));
    for scheme in ["ftp", "file", "gopher", "javascript", "ws", "unix", "data"] {
        let refused = guard.check_url(&format!("{scheme}://example.com/"));
        assert_eq!(refused, Err(InvalidUrl::Scheme), "{scheme}");
    }
    for user in ["user@", "user:pass@", ":pass@", "example.org@"] {
        let refused = guard.check_url(&format!("https://{user}example.com/"));
        assert_eq!(refused, Err(InvalidUrl::Userinfo), "{user}");
    }
    assert_eq!(guard.check_url("https://example.com/#a"), Err(InvalidUrl::Fragment));
    for text in [
        "",
        "example.com",
        "https://",
        "https://?a",
        "https://exa mple.com",
        "https://[::1",
        "https://1.2.3.4.5/",
    ] {
        assert_eq!(guard.check_url(text), Err(InvalidUrl::Malformed), "{text}");
    }
    assert_eq!(
        guard.check_url(&format!("https://example.com/{}", "a".repeat(2_048))),
        Err(InvalidUrl::TooLong)
    );
    let lab = Guard { schemes: Schemes::HttpAndHttps, allowed: Vec::new() };
    assert!(lab.check_url("http://example.com/").is_ok());
}
