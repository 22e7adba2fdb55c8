//! The server as a stub resolver sees it: bytes over sockets.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use hickory_server::proto::op::{Edns, Message, Query, ResponseCode};
use hickory_server::proto::rr::{RData, RecordType};

use crate::zone::absolute;
use crate::{DnsServer, Fault};

/// Longer than a busy machine needs.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a test listens to silence.
const SILENCE: Duration = Duration::from_millis(150);

fn question(name: &str, record_type: RecordType) -> Vec<u8> {
    let mut message = Message::query();
    message.metadata.recursion_desired = true;
    message.metadata.authentic_data = true;
    message.add_query(Query::query(absolute(name), record_type));
    message.edns.get_or_insert_with(Edns::new).set_max_payload(1232);
    message.to_vec().expect("a question")
}

fn over_udp(server: &DnsServer, question: &[u8], wait: Duration) -> Option<Vec<u8>> {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.set_read_timeout(Some(wait)).expect("a time-out");
    socket.send_to(question, server.address()).expect("sent");
    let mut buffer = vec![0; 4096];
    match socket.recv(&mut buffer) {
        Ok(length) => {
            buffer.truncate(length);
            Some(buffer)
        }
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => None,
        Err(error) => unreachable!("{error}"),
    }
}

fn over_tcp(server: &DnsServer, question: &[u8]) -> Message {
    let mut stream = TcpStream::connect(server.address()).expect("connected");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    let length = u16::try_from(question.len()).expect("short");
    stream.write_all(&length.to_be_bytes()).expect("written");
    stream.write_all(question).expect("written");
    let mut length = [0; 2];
    stream.read_exact(&mut length).expect("an answer");
    let mut answer = vec![0; u16::from_be_bytes(length).into()];
    stream.read_exact(&mut answer).expect("an answer");
    Message::from_vec(&answer).expect("a message")
}

fn ask(server: &DnsServer, name: &str, record_type: RecordType) -> Message {
    let answer = over_udp(server, &question(name, record_type), PATIENCE).expect("an answer");
    Message::from_vec(&answer).expect("a message")
}

/// The response code and the answers, as `owner type data`.
fn seen(message: &Message) -> (ResponseCode, Vec<String>) {
    let answers = message.answers.iter();
    let answers = answers.map(|it| format!("{} {} {}", it.name, it.record_type(), it.data));
    (message.metadata.response_code, answers.collect())
}

fn texts(message: &Message) -> Vec<Vec<u8>> {
    let texts = message.answers.iter().filter_map(|it| {
        let RData::TXT(txt) = &it.data else { return None };
        Some(txt.txt_data.concat())
    });
    texts.collect()
}

#[tokio::test]
async fn what_was_added_is_answered_and_all_else_does_not_exist() {
    let server = DnsServer::start().await;
    server.txt("a.b.example.com", "one");
    server.txt("a.b.example.com", "two");
    server.mx("a.b.example.com", 10, "mx.example.com");
    let answer = ask(&server, "A.b.example.COM", RecordType::TXT);
    assert_eq!(texts(&answer), [b"one".to_vec(), b"two".to_vec()]);
    assert_eq!(
        seen(&ask(&server, "a.b.example.com", RecordType::MX)).1,
        ["a.b.example.com. MX 10 mx.example.com."]
    );
    for (name, code) in [
        ("a.b.example.com", ResponseCode::NoError),
        ("b.example.com", ResponseCode::NoError),
        ("c.b.example.com", ResponseCode::NXDomain),
        ("x.a.b.example.com", ResponseCode::NXDomain),
    ] {
        let answer = ask(&server, name, RecordType::A);
        assert_eq!(seen(&answer), (code, vec![]), "{name}");
        assert_eq!(answer.authorities.len(), 1, "a SOA with {name}");
    }
    server.remove("a.b.example.com", "txt");
    assert_eq!(texts(&ask(&server, "a.b.example.com", RecordType::TXT)), [] as [Vec<u8>; 0]);
    server.remove_all("a.b.example.com");
    let gone = ask(&server, "b.example.com", RecordType::TXT);
    assert_eq!(gone.metadata.response_code, ResponseCode::NXDomain);
}

#[tokio::test]
async fn a_wildcard_covers_only_what_does_not_exist() {
    let server = DnsServer::start().await;
    server.txt("*.example.com", "wild");
    server.ip("there.example.com", [192, 0, 2, 1].into());
    server.ip("deep.under.example.com", [192, 0, 2, 1].into());
    assert_eq!(texts(&ask(&server, "x.y.example.com", RecordType::TXT)), [b"wild".to_vec()]);
    for (name, code) in [
        ("there.example.com", ResponseCode::NoError),
        ("under.example.com", ResponseCode::NoError),
        ("x.there.example.com", ResponseCode::NXDomain),
        ("example.com", ResponseCode::NoError),
    ] {
        let answer = ask(&server, name, RecordType::TXT);
        assert_eq!(seen(&answer), (code, vec![]), "{name}");
    }
}

#[tokio::test]
async fn chains_are_followed_to_their_end() {
    let server = DnsServer::start().await;
    server.cname("a.example.com", "b.example.net");
    server.cname("b.example.net", "c.example.org");
    server.ip("c.example.org", [192, 0, 2, 1].into());
    server.cname("loop.example", "pool.example");
    server.cname("pool.example", "loop.example");
    server.cname("dangling.example", "nothing.example");
    let chain = [
        "a.example.com. CNAME b.example.net.",
        "b.example.net. CNAME c.example.org.",
        "c.example.org. A 192.0.2.1",
    ];
    assert_eq!(seen(&ask(&server, "a.example.com", RecordType::A)).1, chain);
    assert_eq!(seen(&ask(&server, "a.example.com", RecordType::CNAME)).1, chain[..1]);
    assert_eq!(seen(&ask(&server, "loop.example", RecordType::TXT)).1.len(), 2);
    assert_eq!(
        seen(&ask(&server, "dangling.example", RecordType::TXT)),
        (ResponseCode::NXDomain, vec!["dangling.example. CNAME nothing.example.".to_owned()])
    );
    server.fault("a.example.com", Fault::OneLink);
    assert_eq!(seen(&ask(&server, "a.example.com", RecordType::A)).1, chain[..1]);
    server.fault("c.example.org", Fault::ServFail);
    server.clear("a.example.com");
    let failed = ask(&server, "a.example.com", RecordType::A);
    assert_eq!(seen(&failed), (ResponseCode::ServFail, vec![]));
}

#[tokio::test]
async fn what_is_too_long_for_a_datagram_comes_over_tcp() {
    let server = DnsServer::start().await;
    let long = "x".repeat(18_000);
    server.txt("long.example", &long);
    server.txt_chunks("bytes.example", &[b"\xff\x00", b"", b"\"\\"]);
    assert!(ask(&server, "long.example", RecordType::TXT).metadata.truncation);
    let whole = over_tcp(&server, &question("long.example", RecordType::TXT));
    assert_eq!(texts(&whole), [long.into_bytes()]);
    let bytes = ask(&server, "bytes.example", RecordType::TXT);
    assert_eq!(texts(&bytes), [b"\xff\x00\"\\".to_vec()]);
    server.fault("bytes.example", Fault::Truncated);
    let cut = ask(&server, "bytes.example", RecordType::TXT);
    assert!(cut.metadata.truncation && cut.answers.is_empty());
    assert_eq!(texts(&over_tcp(&server, &question("bytes.example", RecordType::TXT))).len(), 1);
}

#[tokio::test]
async fn faults_hold_for_a_name_and_below_until_cleared() {
    let server = DnsServer::start().await;
    server.txt("x.bad.example", "x");
    server.fault("bad.example", Fault::Refused);
    let refused = ask(&server, "x.bad.example", RecordType::TXT);
    assert_eq!(refused.metadata.response_code, ResponseCode::Refused);
    server.fault("x.bad.example", Fault::Silent);
    let txt = question("x.bad.example", RecordType::TXT);
    assert_eq!(over_udp(&server, &txt, SILENCE), None);
    server.clear("x.bad.example");
    server.clear("bad.example");
    assert_eq!(texts(&ask(&server, "x.bad.example", RecordType::TXT)).len(), 1);

    server.fault_everything(Some(Fault::Lost(1)));
    assert_eq!(over_udp(&server, &txt, SILENCE), None);
    assert_eq!(texts(&ask(&server, "x.bad.example", RecordType::TXT)).len(), 1);
    server.fault_everything(Some(Fault::ServFail));
    let failed = ask(&server, "x.bad.example", RecordType::TXT);
    assert_eq!(failed.metadata.response_code, ResponseCode::ServFail);
    server.fault_everything(None);

    server.fault("x.bad.example", Fault::Slow(SILENCE));
    let asked = Instant::now();
    assert_eq!(texts(&ask(&server, "x.bad.example", RecordType::TXT)).len(), 1);
    assert!(asked.elapsed() >= SILENCE);

    server.fault("x.bad.example", Fault::Malformed);
    let malformed = over_udp(&server, &txt, PATIENCE).expect("an answer");
    assert!(Message::from_vec(&malformed).is_err());
    server.fault("x.bad.example", Fault::Unrelated);
    assert_eq!(ask(&server, "x.bad.example", RecordType::TXT).answers.len(), 3);
}

#[tokio::test]
async fn queries_are_listed_counted_and_generated() {
    let server = DnsServer::start().await;
    server.txt("kept.example", "kept");
    server.answer_any(|name, record_type| {
        let number = name.strip_suffix(".load.example")?;
        Some(if record_type == "TXT" { vec![format!("t={number}")] } else { Vec::new() })
    });
    assert_eq!(texts(&ask(&server, "7.LOAD.example", RecordType::TXT)), [b"t=7".to_vec()]);
    let none = ask(&server, "7.load.example", RecordType::A);
    assert_eq!(seen(&none), (ResponseCode::NoError, vec![]));
    assert_eq!(texts(&ask(&server, "kept.example", RecordType::TXT)).len(), 1);
    let listed = [("7.load.example", "TXT"), ("7.load.example", "A"), ("kept.example", "TXT")];
    assert_eq!(server.queries(), listed.map(|(name, of)| (name.to_owned(), of.to_owned())));
    assert_eq!((server.query_count(), server.most_at_once()), (3, 1));
    server.forget_queries();
    assert_eq!((server.query_count(), server.queries().len()), (0, 0));
}

#[tokio::test]
async fn secure_names_carry_the_ad_bit_along_their_whole_chain() {
    let server = DnsServer::start().await;
    server.secure("signed.example");
    server.txt("a.signed.example", "x");
    server.cname("b.signed.example", "plain.example");
    server.txt("plain.example", "x");
    for (name, secure) in
        [("a.signed.example", true), ("no.signed.example", true), ("b.signed.example", false)]
    {
        let answer = ask(&server, name, RecordType::TXT);
        assert_eq!(answer.metadata.authentic_data, secure, "{name}");
    }
}

#[tokio::test]
async fn other_types_are_added_from_their_presentation() {
    let server = DnsServer::start().await;
    server.record("_443._tcp.example.com", "TLSA", "3 1 1 00ff");
    server.record("example.com", "SRV", "1 2 443 host.example.com.");
    server.record("example.com", "CAA", "0 issue \"ca.example\"");
    server.ns("example.com", "ns.example.net");
    let srv = ask(&server, "example.com", RecordType::SRV);
    assert_eq!(seen(&srv).1, ["example.com. SRV 1 2 443 host.example.com."]);
    assert_eq!(ask(&server, "_443._tcp.example.com", RecordType::TLSA).answers.len(), 1);
    assert_eq!(ask(&server, "example.com", RecordType::CAA).answers.len(), 1);
    assert_eq!(
        seen(&ask(&server, "example.com", RecordType::NS)).1,
        ["example.com. NS ns.example.net."]
    );
}

#[tokio::test]
async fn a_dropped_server_leaves_its_port() {
    let server = DnsServer::start().await;
    server.fault_everything(Some(Fault::Slow(PATIENCE)));
    let address = server.address();
    assert_eq!(over_udp(&server, &question("slow.example", RecordType::TXT), SILENCE), None);
    drop(server);
    assert!(UdpSocket::bind(address).is_ok(), "the port is free again");
    assert!(TcpStream::connect(address).is_err(), "nobody listens");
}
