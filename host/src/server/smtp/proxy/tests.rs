//! Headers that name a client, that name none, and that are none.

use tokio::io::AsyncWriteExt;

use super::*;

const PROXY: &str = "10.0.0.1:9";
const CLIENT: &str = "192.0.2.7:4096";
const NEXT: &[u8] = b"EHLO a\r\n";
/// Two addresses of IPv4 and two ports.
const IPV4: &[u8] = b"\xc0\x00\x02\x07\x7f\0\0\x01\x10\0\x02\x4b";

/// A header of version 2 with that version and command, family and protocol.
fn v2(command: u8, family: u8, length: usize, rest: &[u8]) -> Vec<u8> {
    let length = u16::try_from(length).expect("two octets").to_be_bytes();
    [v2::PROTOCOL_PREFIX, &[command, family], &length, rest].concat()
}

/// The client that these octets name, and what is left of them.
async fn read(octets: &[u8]) -> (Result<String, String>, Vec<u8>) {
    let mut stream = octets;
    let client = client(&mut stream, PROXY.parse().expect("an address"), MAX_WAIT).await;
    (client.map(|it| it.to_string()).map_err(|it| it.to_string()), stream.to_vec())
}

async fn assert_names(header: &[u8], wanted: &str) {
    let (client, rest) = read(&[header, NEXT].concat()).await;
    assert_eq!(client.as_deref(), Ok(wanted), "{}", header.escape_ascii());
    assert_eq!(rest, NEXT, "{} and nothing behind it is read", header.escape_ascii());
}

async fn assert_refused(octets: &[u8], words: &str) {
    let (client, _) = read(octets).await;
    let error = client.expect_err(&octets.escape_ascii().to_string());
    assert!(error.contains(words), "{}: {error}", octets.escape_ascii());
}

#[tokio::test]
async fn both_versions_name_the_client_and_nothing_behind_them_is_read() {
    assert_names(b"PROXY TCP4 192.0.2.7 127.0.0.1 4096 587\r\n", CLIENT).await;
    assert_names(b"PROXY TCP6 2001:db8::7 ::1 4096 587\r\n", "[2001:db8::7]:4096").await;
    assert_names(&v2(0x21, 0x11, 12, IPV4), CLIENT).await;
    let ipv6 = [&b"\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x07"[..], &[0; 16], b"\x10\0\x02\x4b"];
    assert_names(&v2(0x21, 0x21, 36, &ipv6.concat()), "[2001:db8::7]:4096").await;
    let with_more = [IPV4, &[4; MAX_V2_REST - IPV4.len()]].concat();
    assert_names(&v2(0x21, 0x11, with_more.len(), &with_more), CLIENT).await;
}

#[tokio::test]
async fn where_no_client_is_named_the_proxy_speaks_for_itself() {
    assert_names(b"PROXY UNKNOWN\r\n", PROXY).await;
    assert_names(b"PROXY UNKNOWN 192.0.2.7 127.0.0.1 4096 587\r\n", PROXY).await;
    assert_names(b"PROXY UNKNOWN whatever \xff it is that a proxy says\r\n", PROXY).await;
    assert_names(&v2(0x20, 0x00, 0, b""), PROXY).await;
    assert_names(&v2(0x20, 0x11, 12, IPV4), PROXY).await;
    assert_names(&v2(0x21, 0x00, 12, IPV4), PROXY).await;
    assert_names(&v2(0x21, 0x12, 12, IPV4), PROXY).await;
    assert_names(&v2(0x21, 0x31, 216, &[b'/'; 216]), PROXY).await;
}

#[tokio::test]
async fn what_is_no_header_is_refused_with_what_to_do() {
    let cure = "take its network out of smtp.trusted_proxies";
    assert_refused(b"EHLO client.example\r\n", cure).await;
    assert_refused(b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03\x12\x34", cure).await;
    assert_refused(b"proxy TCP4 192.0.2.7 127.0.0.1 4096 587\r\n", cure).await;
    assert_refused(b"\r\n\r\n\0\r\nQUIX\n\x21\x11\0\x0c", cure).await;
    assert_refused(b"", "health checks").await;
}

#[tokio::test]
async fn a_truncated_header_is_refused_wherever_it_ends() {
    for whole in [b"PROXY TCP4 192.0.2.7 127.0.0.1 4096 587\r\n".to_vec(), v2(0x21, 0x11, 12, IPV4)]
    {
        for length in 1..whole.len() {
            assert_refused(&whole[..length], "ended within its PROXY header").await;
        }
    }
}

#[tokio::test]
async fn a_header_without_end_is_refused_at_its_bound() {
    let endless = [b"PROXY TCP4 ".to_vec(), vec![b'1'; 500]].concat();
    let (client, rest) = read(&endless).await;
    assert!(client.is_err_and(|it| it.contains("more than 107 octets")));
    assert_eq!(rest.len(), endless.len() - MAX_V1);
    let (client, rest) = read(&v2(0x21, 0x11, 0xffff, &vec![0; 0xffff])).await;
    assert!(client.is_err_and(|it| it.contains("more than 4112 octets")));
    assert_eq!(rest.len(), 0xffff, "nothing behind the length is read");
    assert_refused(&v2(0x21, 0x11, MAX_V2_REST + 1, &[0; 5_000]), "more than 4112").await;
}

#[tokio::test]
async fn a_malicious_header_names_nobody() {
    for header in [
        &b"PROXY TCP4 nobody 127.0.0.1 4096 587\r\n"[..],
        b"PROXY TCP4 2001:db8::7 ::1 4096 587\r\n",
        b"PROXY TCP4 192.0.2.7 127.0.0.1 65536 587\r\n",
        b"PROXY TCP4 192.0.2.7 127.0.0.1 -1 587\r\n",
        b"PROXY TCP4 192.0.2.7 127.0.0.1 4096\r\n",
        b"PROXY TCP4 192.0.2.7 127.0.0.1 4096 587 1\r\n",
        b"PROXY TCP4 192.0.2.7\t127.0.0.1 4096 587\r\n",
        b"PROXY TCP4 192.0.2.7 127.0.0.1 4096 587\nEHLO a\r\n",
        b"PROXY TCP4 192.0.2.7 127.0.0.1 4096 587\rEHLO a\r\n",
        b"PROXY TCP4 192.0.2.7 127.0.0.1 4096 587\r\xc3\xa9\r\n",
        b"PROXY UNKNOWNS\r\n",
        b"PROXY UDP4 192.0.2.7 127.0.0.1 4096 587\r\n",
        b"PROXY TCP4 192.0.2.\xff 127.0.0.1 4096 587\r\n",
        b"PROXY \r\nPROXY TCP4 192.0.2.7 127.0.0.1 4096 587\r\n",
    ] {
        assert_refused(header, "of version 1 cannot be read").await;
    }
    for header in [
        v2(0x31, 0x11, 12, IPV4),
        v2(0x22, 0x11, 12, IPV4),
        v2(0x21, 0x41, 12, IPV4),
        v2(0x21, 0x13, 12, IPV4),
        v2(0x21, 0x11, 11, IPV4),
        v2(0x21, 0x21, 12, IPV4),
        v2(0x21, 0x31, 12, IPV4),
        v2(0x21, 0x11, 0, b""),
    ] {
        assert_refused(&header, "of version 2 cannot be read").await;
    }
}

#[tokio::test]
async fn a_header_that_does_not_come_in_time_is_refused() {
    let (mut peer, mut stream) = tokio::io::duplex(64);
    peer.write_all(b"PROXY TCP4 192").await.expect("written");
    let proxy = PROXY.parse().expect("an address");
    let late = client(&mut stream, proxy, Duration::from_millis(1)).await;
    assert!(matches!(late, Err(ProxyHeaderError::Late(_))), "{late:?}");
}
