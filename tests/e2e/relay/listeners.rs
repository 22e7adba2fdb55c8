//! Several listeners of one mode.

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use waxwing_tests::{Launch, Server};

#[tokio::test]
async fn each_mode_can_listen_at_several_addresses() {
    let two = r#"["127.0.0.1:0", "127.0.0.2:0"]"#;
    let launch = Launch::serve("").with("smtp", "enabled", "true");
    let launch = launch.with("smtp", "listen_starttls", two).with("smtp", "listen_tls", two);
    let server = Server::start(launch.with("log", "format", "json"));
    let log = server.log();
    let line = log.lines().find(|it| it.contains("waxwing listens")).expect("a line");
    let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
    let addresses = |field: &str| -> Vec<String> {
        line[field].as_str().expect("addresses").split(", ").map(str::to_owned).collect()
    };
    let (starttls, tls) = (addresses("smtp_starttls"), addresses("smtp_tls"));
    assert_eq!((starttls.len(), tls.len()), (2, 2), "{line}");
    assert!(starttls[1].starts_with("127.0.0.2:") && tls[1].starts_with("127.0.0.2:"), "{line}");
    for address in &starttls {
        let mut stream = TcpStream::connect(address).await.expect("the port listens");
        let mut greeting = [0; 4];
        stream.read_exact(&mut greeting).await.expect("a greeting");
        assert_eq!(&greeting, b"220 ", "{address}");
    }
    for address in &tls {
        TcpStream::connect(address).await.expect("the port listens");
    }
}
