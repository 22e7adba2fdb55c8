//! Which keys differ, and which of them a running server takes.

use super::*;

fn config(toml: &str) -> Config {
    toml::from_str(toml).expect("valid")
}

fn differing(one: &str, other: &str) -> Vec<&'static str> {
    config(one).differing_keys(&config(other))
}

#[test]
fn a_file_that_says_the_defaults_changes_nothing() {
    let said = "[http]\nlisten = '127.0.0.1:8080'\n[limits]\nfailed_logins = 20\n[delivery]";
    assert_eq!(differing("", said), [""; 0]);
}

#[test]
fn what_differs_is_named_by_section_and_key() {
    let other = "
        [http]\nlisten = '127.0.0.1:9000'\ntrusted_proxies = ['10.0.0.0/8']
        [smtp]\nlisten_tls = 'off'\ntrusted_proxies = ['::1']\nuser_names = ['apikey']\nrecipients = 7
        [acme]\nterms_agreed = true
        [store]\ndata_dir = 'elsewhere'
        [delivery]\nroute = 'direct'\nconcurrent = 3
        [bounces]\nfeedback = ['fbl@example.com']
        [dns]\ntries = 5
        [domains]\ngrace_s = 1
        [webhooks]\nallow_http = true
        [credits]\nlow = 1
        [inbox]\nview = true
        [plugins]\nsample_every = 1\nlimits.plan.call_ms = 20
        [retention]\ncontent_days = 1
        [limits]\nsend_burst = 1
        [log]\nformat = 'json'";
    let keys = [
        "http.listen",
        "http.trusted_proxies",
        "smtp.listen_tls",
        "smtp.trusted_proxies",
        "smtp.user_names",
        "smtp.recipients",
        "acme.terms_agreed",
        "store.data_dir",
        "delivery.route",
        "delivery.concurrent",
        "bounces.feedback",
        "dns.tries",
        "domains.grace_s",
        "webhooks.allow_http",
        "credits.low",
        "inbox.view",
        "plugins.limits",
        "plugins.sample_every",
        "retention.content_days",
        "limits.send_burst",
        "log.format",
    ];
    assert_eq!(differing("", other), keys);
    assert_eq!(differing(other, ""), keys);
    assert_eq!(differing(other, other), [""; 0]);
}

#[test]
fn a_secret_that_differs_is_named_by_its_key_alone() {
    let smarthost = |password: &str| {
        format!(
            "[[delivery.smarthosts]]\nname = 'a'\nhost = 'a'\nuser = 'a'\npassword = '{password}'"
        )
    };
    assert_eq!(differing(&smarthost("one"), &smarthost("two")), ["delivery.smarthosts"]);
}

#[test]
fn a_running_server_takes_limits_routes_and_the_logs_filter_alone() {
    let running = config("[http]\nlisten = '127.0.0.1:1'");
    let new = config(
        "[http]\nlisten = '127.0.0.1:2'\n[limits]\nbody_bytes = 9\n[log]\nfilter = 'debug'
         [smtp]\nrecipients = 9\nhostname = 'mail.example.com'
         [delivery]\nroute = 'direct'\nmessages_per_minute = 9\nconcurrent = 9",
    );
    let taken = running.reloaded_from(&new);
    let (changed, left) = (running.differing_keys(&taken), taken.differing_keys(&new));
    let keys = [
        "smtp.recipients",
        "delivery.route",
        "delivery.messages_per_minute",
        "limits.body_bytes",
        "log.filter",
    ];
    assert_eq!(changed, keys);
    assert_eq!(left, ["http.listen", "smtp.hostname", "delivery.concurrent"]);
}
