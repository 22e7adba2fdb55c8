//! What is asked at a terminal, and what becomes of the answers.

use clap::Parser;

use super::*;

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    flags: Flags,
}

fn flags(line: &[&str]) -> Flags {
    Line::try_parse_from(["init"].iter().chain(line)).expect("flags").flags
}

fn filled(mut flags: Flags, typed: &str) -> (io::Result<()>, Flags, String) {
    let (mut input, mut output) = (typed.as_bytes(), Vec::new());
    let outcome = flags.fill(&mut Questions { input: &mut input, output: &mut output });
    (outcome, flags, String::from_utf8(output).expect("a text"))
}

#[test]
fn what_is_missing_is_asked_for_until_it_can_be_used() {
    let given = flags(&["--address", "192.0.2.25", "--hostname", "mail.example.net"]);
    let typed = "nobody\nops@example.net\ndirectly\nSMARTHOST\nsmtp.example.com:465\nwaxwing\nno\n";
    let (outcome, flags, said) = filled(given, typed);
    outcome.expect("answered");
    assert!(said.contains("the address has no @") && !said.contains("Public name"), "{said}");
    assert!(said.contains("\"directly\" is neither direct nor smarthost"), "{said}");
    let file = Path::new("/etc/waxwing/waxwing.toml");
    let answers = Answers::of(flags, file).expect("nothing is missing");
    let Route::Smarthost { server, login: Some(login) } = &answers.route else {
        unreachable!("{:?}", answers.route)
    };
    assert_eq!((server.host.as_str(), server.port), ("smtp.example.com", 465));
    assert_eq!(login.password_file, Path::new("/etc/waxwing/smarthost.password"));
    let Certificate::Files(folder) = &answers.certificate else { unreachable!("not agreed") };
    assert_eq!(folder, Path::new("/etc/waxwing/tls"));
}

#[test]
fn no_answer_takes_the_route_that_the_question_shows() {
    let given = flags(&["--address", "192.0.2.25", "--hostname", "mail.example.net"]);
    let (outcome, flags, said) = filled(given, "ops@example.net\n\nyes\n");
    outcome.expect("answered");
    assert!(said.contains("[direct]"), "{said}");
    assert_eq!((flags.route, flags.agree_to_terms), (Some(RouteArg::Direct), true));
}

#[test]
fn a_terminal_that_ends_in_the_middle_ends_the_questions() {
    let (outcome, _, _) = filled(flags(&["--address", "192.0.2.25"]), "mail.example.net\n");
    assert_eq!(outcome.expect_err("no more input").kind(), io::ErrorKind::UnexpectedEof);
}

#[test]
fn all_flags_that_are_missing_are_named_at_once() {
    let given = flags(&["--address", "192.0.2.25", "--route", "smarthost"]);
    let error = Answers::of(given, Path::new("waxwing.toml")).expect_err("missing").to_string();
    for flag in ["--hostname", "--email", "--smarthost"] {
        assert!(error.contains(flag), "{flag} in {error}");
    }
    assert!(!error.contains("--route") && !error.contains("--address"), "{error}");
}

#[test]
fn a_smarthost_is_a_host_with_or_without_a_port() {
    for (text, host, port) in [
        ("smtp.example.com", "smtp.example.com", 587),
        ("smtp.example.com:465", "smtp.example.com", 465),
        ("192.0.2.1:25", "192.0.2.1", 25),
        ("[2001:db8::1]:25", "2001:db8::1", 25),
        ("2001:db8::1", "2001:db8::1", 587),
        ("192.0.2.1", "192.0.2.1", 587),
        ("relay:25", "relay", 25),
    ] {
        let parsed = text.parse::<HostAndPort>();
        assert_eq!(parsed, Ok(HostAndPort { host: host.to_owned(), port }), "{text}");
    }
    let odd = [
        "smtp.example.com:25:25",
        "-mail.example.com",
        "a..b:25",
        "300.1.1.1",
        "mail.example.com?",
    ];
    let of_nobody = ["0.0.0.0:25", "[::]:25", "224.0.0.1", "255.255.255.255:587"];
    let others = ["", ":25", "host:0", "host:99999", "user@host", "smtp://host", "a b", "[::1]"];
    for text in others.iter().chain(&odd).chain(&of_nobody) {
        assert!(text.parse::<HostAndPort>().is_err(), "{text:?}");
    }
}

#[test]
fn a_smarthost_beside_the_direct_route_is_refused() {
    let named = ["--address", "192.0.2.25", "--hostname", "mail.example.net"];
    for more in [["--smarthost", "smtp.example.com"], ["--smarthost-user", "waxwing"]] {
        let line =
            [&named[..], &["--email", "ops@example.net", "--route", "direct"], &more].concat();
        let error = Answers::of(flags(&line), Path::new("waxwing.toml")).expect_err("refused");
        let error = error.to_string();
        assert!(
            error.contains("leave --smarthost") && error.contains("--route smarthost"),
            "{error}"
        );
    }
}

#[test]
fn an_address_or_a_name_that_the_internet_never_has_is_told() {
    for address in ["127.0.0.1", "0.0.0.0", "::1", "239.1.1.1"] {
        let refused = Line::try_parse_from(["init", "--address", address]);
        let error = refused.expect_err("no address for others").to_string();
        assert!(error.contains("give its public address"), "{error}");
    }
    let doubts = |hostname: &str, address: &str| {
        let rest = ["--email", "ops@example.net", "--route", "direct"];
        let line = [&["--hostname", hostname, "--address", address][..], &rest].concat();
        Answers::of(flags(&line), Path::new("waxwing.toml")).expect("all answers").doubts()
    };
    assert_eq!(doubts("mail.example.net", "5.9.1.7"), [""; 0]);
    let said = doubts("mail.local", "10.0.0.4");
    let [name, address] = &said[..] else { unreachable!("{said:?}") };
    assert!(name.contains("mail.local") && name.contains("--hostname"), "{name}");
    assert!(address.contains("10.0.0.4 (private)") && address.contains("--address"), "{address}");
}

#[test]
fn what_the_service_cannot_write_is_said_of_other_places_alone() {
    let doubts = |directory: &str| {
        let given = ["--hostname", "mail.example.net", "--email", "ops@example.net"];
        let more = ["--route", "direct", "--address", "1.1.1.1", "--data-dir", directory];
        let flags = flags(&[&given[..], &more].concat());
        Answers::of(flags, Path::new("waxwing.toml")).expect("nothing is missing").doubts()
    };
    for writable in ["/var/lib/waxwing", "/var/lib/waxwing/data"] {
        assert_eq!(doubts(writable), Vec::<String>::new());
    }
    let doubts = doubts("/srv/waxwing");
    let [doubt] = doubts.as_slice() else { unreachable!("one doubt: {doubts:?}") };
    assert!(doubt.contains("add ReadWritePaths=/srv/waxwing under [Service]"), "{doubt}");
}
