//! What the file and the environment may say, and what is answered where they are wrong.

mod faults;
mod reference;

use std::net::SocketAddr;

use super::*;

fn environment(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
}

#[test]
fn every_key_can_come_from_the_environment() {
    let pairs = [
        ("WAXWING_HTTP__LISTEN", "127.0.0.1:0"),
        ("WAXWING_LIMITS__SENDS_PER_SECOND", "7"),
        ("WAXWING_DELIVERY__RETRY_PAUSES_S", "[1, 2]"),
        ("WAXWING_PLUGINS__LIMITS__PLAN__CALL_MS", "20"),
        ("WAXWING_CI", "not ours"),
    ];
    let config = Config::load(None, environment(&pairs).into_iter()).expect("valid");
    assert_eq!(config.http.listen.port(), 0);
    assert_eq!(config.limits.sends_per_second.get(), 7);
    assert_eq!(config.delivery.retry_pauses_s, [1, 2]);
    assert_eq!(config.plugins.limits.plan.call_ms, 20);
    assert_eq!(config.plugins.limits.plan.prepare_ms, 50, "the others keep their defaults");
}

#[test]
fn all_bounds_that_are_broken_are_named_at_once() {
    let pairs = [
        ("WAXWING_LIMITS__CONNECTIONS", "0"),
        ("WAXWING_LIMITS__BODY_MEMORY_BYTES", "0"),
        ("WAXWING_DELIVERY__RETRY_PAUSES_S", "[0]"),
    ];
    let error = Config::load(None, environment(&pairs).into_iter()).expect_err("broken");
    let text = error.to_string();
    for name in ["connections", "body_memory_bytes", "retry_pauses_s"] {
        assert!(text.contains(name), "{text}");
    }
}

#[test]
fn a_filter_of_the_log_is_checked_with_everything_else() {
    let filter = "waxwing=loud,,=[";
    let pairs = [("WAXWING_LOG__FILTER", filter), ("WAXWING_LIMITS__CONNECTIONS", "0")];
    let error = Config::load(None, environment(&pairs).into_iter()).expect_err("broken");
    let text = error.to_string();
    assert!(text.contains("WAXWING_LOG__FILTER: `waxwing=loud,,=[` is no filter"), "{text}");
    assert!(text.contains("limits.connections"), "{text}");
}

#[test]
fn each_bad_element_of_a_list_is_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("waxwing.toml");
    let text = "[http]\ntrusted_proxies = [\"10.0.0.0/8\", \"10.0.0.0/99\", \"nonsense\"]\n";
    std::fs::write(&file, text).expect("written");
    let error = Config::load(Some(&file), std::iter::empty()).expect_err("broken").to_string();
    assert!(error.contains("10.0.0.0/99") && error.contains("nonsense"), "{error}");
    assert!(!error.contains("10.0.0.0/8 "), "{error}");
}

#[test]
fn faults_of_the_file_the_environment_and_the_rules_are_named_at_once() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("waxwing.toml");
    let text = "[http]\nlissten = \"127.0.0.1:1\"\n\n[smtp]\nrecipients = \"many\"\nconnections = 0\n\n\
                [[delivery.smarthosts]]\nname = \"a\"\nhost = \"a.example\"\nport = 99999\n\n\
                [[delivery.smarthosts]]\nname = \"b\"\n\n\
                [delivery]\nlocal_addresses = [\"127.0.0.1\", \"no address\", \"::1\"]\n";
    // A table may not be named twice: its keys stand first.
    let (arrays, rest) = text.split_once("[delivery]\n").expect("two parts");
    let (head, arrays) = arrays.split_at(arrays.find("[[").expect("an array"));
    std::fs::write(&file, format!("{head}[delivery]\n{rest}\n{arrays}")).expect("written");
    let pairs = [("WAXWING_LIMITS__CONNECTIONS", "many"), ("WAXWING_HTP__LISTEN", "127.0.0.1:1")];
    let error = Config::load(Some(&file), environment(&pairs).into_iter()).expect_err("broken");
    let text = error.to_string();
    for named in [
        "line 2, column 1, at `http.lissten`",
        "at `smtp.recipients`",
        "smtp.connections: 1 to 1000000",
        "at `delivery.smarthosts[0].port`",
        "at `delivery.smarthosts[1]`: missing field `host`",
        "at `delivery.local_addresses`",
        "WAXWING_LIMITS__CONNECTIONS: ",
        "WAXWING_HTP__LISTEN: ",
    ] {
        assert!(text.contains(named), "{named} in {text}");
    }
    assert_eq!(text.lines().count(), 1 + 8, "{text}");
}

#[test]
fn an_unknown_key_is_named_with_the_valid_ones() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("waxwing.toml");
    std::fs::write(&file, "[http]\nlissten = \"127.0.0.1:1\"\n").expect("written");
    let error = Config::load(Some(&file), std::iter::empty()).expect_err("unknown key");
    let text = error.to_string();
    assert!(text.contains("line 2") && text.contains("unknown field `lissten`"), "{text}");
    assert!(text.contains("did you mean `listen`?"), "{text}");
    std::fs::write(&file, "[http]\ncolour = \"red\"\n[log]\nformat = \"jsn\"\n").expect("written");
    let variable = ("WAXWING_STORE__DATADIR".to_owned(), "/tmp".to_owned());
    let error = Config::load(Some(&file), [variable].into_iter()).expect_err("unknown key");
    let text = error.to_string();
    let lines: Vec<_> = text.lines().skip(1).collect();
    assert!(lines[0].contains("colour") && !lines[0].contains("did you mean"), "{text}");
    assert!(lines[1].contains("unknown variant") && lines[1].contains("mean `json`"), "{text}");
    assert!(lines[2].contains("did you mean `data_dir`?"), "{text}");
}

fn with(pairs: &[(&str, &str)]) -> Result<Config, String> {
    Config::load(None, environment(pairs).into_iter()).map_err(|error| error.to_string())
}

fn ports(addresses: &[SocketAddr]) -> Vec<u16> {
    addresses.iter().map(SocketAddr::port).collect()
}

#[test]
fn the_relay_listens_on_loopback_unless_it_is_told_otherwise() {
    let smtp = with(&[]).expect("valid").smtp;
    assert_eq!(ports(smtp.starttls_addresses()), [2587]);
    assert_eq!(ports(smtp.tls_addresses()), [2465]);
    let pairs = [("WAXWING_SMTP__LISTEN_TLS", "off"), ("WAXWING_SMTP__HOSTNAME", "MX-1")];
    let smtp = with(&pairs).expect("valid").smtp;
    assert_eq!(ports(smtp.starttls_addresses()), [2587]);
    assert_eq!(smtp.tls_addresses(), []);
    assert_eq!(smtp.hostname.as_ref().map(Hostname::as_str), Some("mx-1"));
    let smtp = with(&[("WAXWING_SMTP__ENABLED", "false")]).expect("valid").smtp;
    assert_eq!((smtp.starttls_addresses(), smtp.tls_addresses()), (&[][..], &[][..]));
}

#[test]
fn each_mode_of_the_relay_listens_at_one_address_at_several_or_at_none() {
    for (value, wanted) in [
        ("0.0.0.0:587", &[587][..]),
        (r#"["0.0.0.0:587", "[::1]:2526"]"#, &[587, 2526]),
        ("off", &[]),
        ("[]", &[]),
    ] {
        let smtp = with(&[("WAXWING_SMTP__LISTEN_STARTTLS", value)]).expect("valid").smtp;
        assert_eq!(ports(smtp.starttls_addresses()), wanted, "{value}");
    }
    for (value, words) in [
        (r#"["0.0.0.0:587", "off"]"#, "\"off\" stands alone"),
        (r#"["0.0.0.0:587", "localhost:1"]"#, "\"localhost:1\" is neither an address with a port"),
        ("587", "expected an address with a port"),
    ] {
        let error = with(&[("WAXWING_SMTP__LISTEN_STARTTLS", value)]).expect_err(value);
        assert!(error.contains("WAXWING_SMTP__LISTEN_STARTTLS: "), "{error}");
        assert!(error.contains(words), "{words}: {error}");
    }
}

#[test]
fn listeners_of_which_only_one_could_start_are_named_with_their_keys() {
    for (key, value, words) in [
        (
            "SMTP__LISTEN_STARTTLS",
            r#"["127.0.0.1:587", "127.0.0.1:587"]"#,
            "smtp.listen_starttls[0] = 127.0.0.1:587 and smtp.listen_starttls[1] = 127.0.0.1:587 cannot",
        ),
        (
            "SMTP__LISTEN_STARTTLS",
            r#"["0.0.0.0:587", "0.0.0.0:2525"]"#,
            "smtp.listen_starttls[1] = 0.0.0.0:2525 and inbox.smtp_listen = 127.0.0.1:2525 cannot",
        ),
        ("HTTP__METRICS_LISTEN", "127.0.0.1:8080", "http.listen = 127.0.0.1:8080 and http.metrics"),
        (
            "BOUNCES__LISTEN",
            "127.0.0.1:2465",
            "smtp.listen_tls = 127.0.0.1:2465 and bounces.listen",
        ),
    ] {
        let name = format!("WAXWING_{key}");
        let error = with(&[(&name, value)]).expect_err("two listeners want one address");
        assert!(error.contains(words), "{words}: {error}");
    }
    for (key, value) in [
        ("WAXWING_SMTP__LISTEN_STARTTLS", r#"["127.0.0.1:0", "127.0.0.1:0"]"#),
        ("WAXWING_SMTP__LISTEN_STARTTLS", r#"["127.0.0.1:587", "127.0.0.2:587", "[::1]:587"]"#),
    ] {
        assert_eq!(with(&[(key, value)]).err(), None, "{value}");
    }
}

#[test]
fn trusted_proxies_and_user_names_of_the_relay_are_named_one_by_one() {
    let pairs = [
        ("WAXWING_SMTP__TRUSTED_PROXIES", r#"["10.0.0.0/8", "2001:db8::1"]"#),
        ("WAXWING_SMTP__USER_NAMES", r#"["apikey", "address"]"#),
    ];
    let smtp = with(&pairs).expect("valid").smtp;
    assert_eq!((smtp.trusted_proxies.len(), smtp.user_names.len()), (2, 2));
    let pairs = [
        ("WAXWING_SMTP__TRUSTED_PROXIES", r#"["10.0.0.0/33"]"#),
        ("WAXWING_SMTP__USER_NAMES", r#"["anything"]"#),
    ];
    let error = with(&pairs).expect_err("neither");
    assert!(error.contains("TRUSTED_PROXIES: `10.0.0.0/33` is not an IP address or"), "{error}");
    assert!(
        error.contains("unknown variant `anything`, expected `apikey` or `address`"),
        "{error}"
    );
}

#[test]
fn what_is_wrong_with_the_relay_is_said_at_once() {
    let pairs = [
        ("WAXWING_SMTP__CERTIFICATE", "/etc/cert.pem"),
        ("WAXWING_SMTP__MESSAGE_BYTES", "1024"),
        ("WAXWING_SMTP__MEMORY_BYTES", "1023"),
        ("WAXWING_SMTP__RECIPIENTS", "0"),
        ("WAXWING_SMTP__CONNECTIONS", "0"),
        ("WAXWING_SMTP__CONNECTIONS_PER_IP", "0"),
        ("WAXWING_SMTP__LOGIN_SECONDS", "0"),
        ("WAXWING_SMTP__IDLE_SECONDS", "0"),
        ("WAXWING_SMTP__DATA_SECONDS", "86401"),
    ];
    let error = Config::load(None, environment(&pairs).into_iter()).expect_err("broken");
    let text = error.to_string();
    for (name, _) in pairs {
        let key = name.trim_start_matches("WAXWING_SMTP__").to_ascii_lowercase();
        assert!(text.contains(&format!("smtp.{key}")), "{key} in {text}");
    }
}

#[test]
fn a_listener_that_is_no_address_is_told_what_one_looks_like() {
    let pairs = [("WAXWING_SMTP__LISTEN_TLS", "2465")];
    let error = Config::load(None, environment(&pairs).into_iter()).expect_err("a number");
    assert!(error.to_string().contains("LISTEN_TLS"), "{error}");
    let pairs = [("WAXWING_SMTP__LISTEN_TLS", "localhost:2465")];
    let error = Config::load(None, environment(&pairs).into_iter()).expect_err("a name");
    assert!(error.to_string().contains("127.0.0.1:2587"), "{error}");
}

#[test]
fn a_fault_of_the_file_is_told_without_its_line_which_may_hold_a_password() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("waxwing.toml");
    let smarthost = "{name=\"a\",host=\"h\",password=\"TOPSECRET\",weight=\"x\"}";
    for text in [
        format!("[delivery]\nsmarthosts = [{smarthost}]\n"),
        "[delivery]\nsmarthosts = [{password=\"TOPSECRET}]\n".to_owned(),
    ] {
        std::fs::write(&file, text).expect("written");
        let error = Config::load(Some(&file), environment(&[]).into_iter())
            .expect_err("it is broken")
            .to_string();
        assert!(error.contains("line 2, column "), "{error}");
        assert!(!error.contains("TOPSECRET"), "{error}");
    }
}

#[test]
fn a_smarthost_has_a_host_without_a_port_and_the_inbox_is_on_loopback() {
    for (key, value, fault) in [
        (
            "DELIVERY__SMARTHOSTS",
            r#"[{name="a", host="127.0.0.1:25"}]"#,
            "delivery.smarthosts[0].host (`a`): a name or an address",
        ),
        ("DELIVERY__SMARTHOSTS", r#"[{name="a", host="smtp://x/"}]"#, "[0].host (`a`): a name"),
        ("DELIVERY__SMARTHOSTS", r#"[{name="a", host="h", port=0}]"#, "[0].port (`a`): at least 1"),
        ("INBOX__SMTP_LISTEN", "0.0.0.0:2525", "inbox.smtp_listen: a loopback address"),
    ] {
        let pairs = [(format!("WAXWING_{key}"), value.to_owned())];
        let error = Config::load(None, pairs.into_iter()).expect_err("it is broken").to_string();
        assert!(error.contains(fault), "{error}");
    }
    for host in ["127.0.0.1", "::1", "mx", "smtp_relay", "relay.example.net"] {
        let smarthosts = format!("[{{name=\"a\", host=\"{host}\"}}]");
        let pairs = [("WAXWING_DELIVERY__SMARTHOSTS".to_owned(), smarthosts)];
        assert!(Config::load(None, pairs.into_iter()).is_ok(), "{host}");
    }
}

#[test]
fn who_may_not_read_the_file_is_told_which_user_may() {
    let unreadable = |kind: std::io::ErrorKind| {
        let (path, source) = (PathBuf::from("waxwing.toml"), kind.into());
        ConfigError::Read { path, source }.to_string()
    };
    let denied = unreadable(std::io::ErrorKind::PermissionDenied);
    assert!(denied.contains("`runuser -u waxwing -- waxwing …`"), "{denied}");
    let missing = unreadable(std::io::ErrorKind::NotFound);
    assert!(!missing.contains("runuser"), "{missing}");
}
