//! All faults at once, each with the key that the operator wrote, and none that only follows from another.

use super::*;

fn faults_of(text: &str, variables: &[(&str, &str)]) -> Vec<String> {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("waxwing.toml");
    std::fs::write(&file, text).expect("written");
    let reading = Config::read(Some(&file), environment(variables).into_iter());
    reading.expect("the file can be read").faults
}

fn assert_faults(text: &str, variables: &[(&str, &str)], wanted: &[&str]) {
    let faults = faults_of(text, variables);
    for (fault, wanted) in faults.iter().zip(wanted) {
        assert!(fault.contains(wanted), "{wanted} in {fault}");
    }
    assert_eq!(faults.len(), wanted.len(), "{faults:#?}");
}

#[test]
fn a_bad_or_missing_required_key_hides_no_other_fault_of_its_table() {
    let text = "[[delivery.rules]]\nroute = \"smarhost\"\nrecipients = [\"%%\"]\nsmarthosts = [\"x\"]\n\
                accounts = [\"nobody\"]\n\
                [[delivery.rules]]\nrecipients = [\"exa mple.com\"]\n\
                [[delivery.smarthosts]]\nname = \"relay\"\nweight = 0\nport = \"x\"\nuser = \"u\"\n\
                [[delivery.smarthosts]]\nname = \"other\"\nhost = \"a:1\"\n\
                [[delivery.destinations]]\nconnections = 0\n";
    let wanted = [
        "line 2, column 9, at `delivery.rules[0].route`: unknown variant `smarhost`",
        "at `delivery.rules[0].accounts`: ",
        "line 6, column 1, at `delivery.rules[1]`: missing field `route`",
        "at `delivery.smarthosts[0].port`: ",
        "at `delivery.smarthosts[0]`: missing field `host`",
        "at `delivery.destinations[0]`: missing field `exchangers`",
        "delivery.smarthosts[0].weight (`relay`): 1 to 1000",
        "delivery.smarthosts[0].user (`relay`): needs a `password`",
        "delivery.smarthosts[1].host (`other`): a name or an address",
        "delivery.rules[0].smarthosts: no smarthost is called `x`",
        "delivery.rules[0].recipients: ",
        "delivery.rules[1].recipients: ",
        "delivery.destinations[0].connections",
    ];
    let faults = faults_of(text, &[]);
    for wanted in wanted {
        let found = faults.iter().filter(|fault| fault.contains(wanted)).count();
        assert_eq!(found, 1, "{wanted} in {faults:#?}");
    }
    assert_eq!(faults.len(), wanted.len(), "{faults:#?}");
}

#[test]
fn a_thing_that_cannot_be_read_is_not_checked_by_its_stand_in() {
    assert_faults(
        "[http]\nlisten = \"127.0.0.1:2587\"\n[smtp]\nlisten_starttls = 7\n",
        &[],
        &["at `smtp.listen_starttls`"],
    );
    let text = "[smtp]\nmessage_bytes = \"x\"\nmemory_bytes = 1048576\ncertificate = 7\n\
                private_key = \"key.pem\"\n";
    assert_faults(text, &[], &["at `smtp.message_bytes`", "at `smtp.certificate`"]);
    let smarthosts = "[[delivery.rules]]\nroute = \"smarthost\"\nsmarthosts = [\"relay\"]\n\
                      [[delivery.smarthosts]]\nname = 7\nhost = \"relay.example\"\n";
    assert_faults(smarthosts, &[], &["at `delivery.smarthosts[0].name`"]);
    let text = "[delivery]\nroute = \"smarthost\"\nsmarthosts = 7\n";
    assert_faults(text, &[], &["at `delivery.smarthosts`"]);
    let text = "[webhooks]\nconcurrent = 0\n[domains]\ncheck_every_s = 0\n";
    assert_faults(
        text,
        &[],
        &["domains.check_every_s: 1 to 31536000", "webhooks.concurrent: 1 to 1000"],
    );
    assert_faults(
        "[smtp\n",
        &[("WAXWING_SMTP__RECIPIENTS", "0")],
        &["line 1", "smtp.recipients: "],
    );
    let text = "[store]\ndata_dir = 7\n";
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("waxwing.toml");
    std::fs::write(&file, text).expect("written");
    let reading = Config::read(Some(&file), std::iter::empty()).expect("read");
    assert!(!reading.has("store.data_dir") && reading.has("store") && reading.has("plugins.dir"));
    let variable = environment(&[("WAXWING_STORE__DATA_DIR", "/data")]);
    let reading = Config::read(Some(&file), variable.into_iter()).expect("read");
    assert!(reading.has("store.data_dir"), "the variable stands above the file");
}

#[test]
fn a_variable_tells_all_faults_of_its_lists_and_tables() {
    let variables = [
        ("WAXWING_HTTP__TRUSTED_PROXIES", r#"["10.0.0.0/8", "10.0.0.0/99", "nonsense"]"#),
        (
            "WAXWING_DELIVERY__SMARTHOSTS",
            r#"[{name="a", port=99999, weight=0}, {host="b", colour=1}]"#,
        ),
        ("WAXWING_DELIVERY__ROUTE", "smarhost"),
    ];
    let wanted = [
        "WAXWING_HTTP__TRUSTED_PROXIES: `10.0.0.0/99` is not",
        "WAXWING_HTTP__TRUSTED_PROXIES: `nonsense` is not",
        "WAXWING_DELIVERY__SMARTHOSTS, at `[0].port`: ",
        "WAXWING_DELIVERY__SMARTHOSTS, at `[0]`: missing field `host`",
        "WAXWING_DELIVERY__SMARTHOSTS, at `[1].colour`: unknown field",
        "WAXWING_DELIVERY__SMARTHOSTS, at `[1]`: missing field `name`",
        "WAXWING_DELIVERY__ROUTE: unknown variant `smarhost`",
        "delivery.smarthosts[0].weight (`a`): 1 to 1000",
    ];
    assert_faults("", &variables, &wanted);
    let config = with(&[("WAXWING_DELIVERY__SMARTHOSTS", r#"[{name="a", host="b"}]"#)]);
    assert_eq!(config.expect("valid").delivery.smarthosts.len(), 1);
    let text = "waxwing=\"debug\"\n[http]";
    let config = with(&[("WAXWING_STORE__DATA_DIR", text)]).expect("valid");
    assert_eq!(config.store.data_dir, Path::new(text), "a text is a text");
}

#[test]
fn an_empty_list_of_a_rule_is_refused_because_it_reads_as_nobody() {
    for key in ["accounts", "recipients", "smarthosts"] {
        let text = format!("[[delivery.rules]]\nroute = \"direct\"\n{key} = []\n");
        let wanted = format!(
            "line 3, column {}, at `delivery.rules[0].{key}`: an empty list matches nothing: name at \
             least one, or leave the key out for all",
            key.len() + 4
        );
        assert_faults(&text, &[], &[&wanted]);
    }
    assert_faults("[plugins]\ndir = \"\"\n", &[], &["plugins.dir: not empty; leave the key out"]);
    let text = "[[delivery.rules]]\nroute = \"direct\"\naccounts = [\"nobody\"]\n";
    assert_faults(text, &[], &["at `delivery.rules[0].accounts`"]);
}

#[test]
fn a_fault_of_an_entry_names_the_entry() {
    let text = "[delivery]\nconnections = 5\n\
                [[delivery.destinations]]\nexchangers = \"google.com\"\n\
                [[delivery.destinations]]\nexchangers = \"outlook.com\"\nconnections = 0\n\
                messages_per_connection = 0\n\
                [[delivery.smarthosts]]\nname = \"a\"\nhost = \"h\"\nconnections = 1001\n\
                user = \"u\"\npassword = \"p\"\nsecurity = \"none\"\n\
                [[delivery.smarthosts]]\nname = \"a\"\nhost = \"h\"\nmessages_per_connection = 0\n\
                password = \"p\"\npassword_file = \"p\"\n\
                [[delivery.rules]]\nroute = \"direct\"\nsmarthosts = [\"a\"]\n";
    let wanted = [
        "delivery.smarthosts[0].connections (`a`): 1 to 1000",
        "delivery.smarthosts[0].security (`a`): \"starttls\" or \"tls\"",
        "delivery.smarthosts[1].messages_per_connection (`a`): at least 1",
        "delivery.smarthosts[1].password_file (`a`): not beside `password`",
        "delivery.smarthosts[1].password (`a`): needs a `user`",
        "delivery.smarthosts[1].name: another one is called `a`",
        "delivery.rules[0].smarthosts: only with route = \"smarthost\"",
        "delivery.destinations[1].connections (`outlook.com`): 1 to 1000",
        "delivery.destinations[1].messages_per_connection (`outlook.com`): at least 1",
    ];
    assert_faults(text, &[], &wanted);
    let rule =
        "[[delivery.rules]]\nroute = \"direct\"\n[[delivery.rules]]\nroute = \"smarthost\"\n";
    assert_faults(
        rule,
        &[],
        &["delivery.rules[1].route: `smarthost` needs [[delivery.smarthosts]]"],
    );
    let limits = "[plugins.limits.plan]\ncall_ms = 0\nmemory_bytes = 1\n";
    let wanted = ["plugins.limits.plan.call_ms: 1 to 60000", "plugins.limits.plan.memory_bytes: "];
    assert_faults(limits, &[], &wanted);
}

#[test]
fn listeners_that_want_the_same_address_are_one_fault() {
    let text = "[http]\nlisten = \"127.0.0.1:9000\"\n\
                [smtp]\nlisten_starttls = [\"0.0.0.0:9000\", \"127.0.0.2:9000\"]\n";
    let wanted = "http.listen = 127.0.0.1:9000, smtp.listen_starttls[0] = 0.0.0.0:9000 and \
                  smtp.listen_starttls[1] = 127.0.0.2:9000 cannot all listen: give each a port";
    assert_faults(text, &[], &[wanted]);
    let both_families = "[smtp]\nlisten_starttls = [\"[::]:587\", \"0.0.0.0:587\"]\n";
    let wanted =
        "smtp.listen_starttls[0] = [::]:587 and smtp.listen_starttls[1] = 0.0.0.0:587 cannot";
    assert_faults(both_families, &[], &[wanted]);
}
