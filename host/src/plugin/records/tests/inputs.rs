//! Recorded calls through their JSON form, and what is refused.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{Call, Input};
use crate::plugin::kinds::domain::{Observation, Outcome};
use crate::plugin::kinds::mjml::Document;
use crate::plugin::kinds::plan::{Account, Channel, UseRequest};
use crate::plugin::kinds::renderer::{Part, Source, Template};
use crate::plugin::runtime::bindings::types::{CallContext, Pair};
use crate::plugin::runtime::kind::Kind;

fn read(kind: Kind, json: &Value) -> Call {
    Call::from_json(kind, json).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(kind: Kind, json: &Value) -> String {
    Call::from_json(kind, json).expect_err("refused").to_string()
}

#[track_caller]
fn comes_back(call: &Call) {
    let back = read(call.kind(), &call.to_json());
    assert_eq!(format!("{back:?}"), format!("{call:?}"));
}

fn plan_input() -> Value {
    json!({
        "nowUnixMs": 1_800_000_000_000_u64,
        "locale": null,
        "extra": { "k": "v", "a": "b" },
        "settings": { "prices": [1, 2] },
        "account": {
            "id": "acc_example", "plan": "free", "paid": false, "creditsRemaining": -100,
            "createdUnixMs": 0, "sentLastDay": 0, "sentLastMonth": 0, "extra": {},
        },
        "uses": [{
            "channel": "smtp", "templateSlug": "welcome", "templateRequiredPlan": null,
            "templateTags": ["a"], "recipientDomain": "example.com", "recipients": 1,
            "sizeBytes": 1000,
        }],
    })
}

fn judge_input() -> Value {
    json!({
        "nowUnixMs": 0,
        "locale": "de",
        "extra": {},
        "domain": {
            "name": "example.com", "organizationalDomain": "example.com",
            "verificationToken": "t",
            "dkim": [{ "selector": "wx1", "publicKeyBase64": "AA==", "algorithm": "rsa-sha256" }],
            "spfInclude": "s", "returnPathHost": "r", "plan": "free", "extra": {},
        },
        "seen": [
            {
                "lookupId": "spf", "resolver": "192.0.2.1",
                "outcome": { "answers": [{ "data": "v=spf1 -all", "ttl": 300 }] },
                "cnameChain": ["a.example.com"], "dnssecSecure": true, "atUnixMs": 5,
            },
            {
                "lookupId": "dkim", "resolver": "", "outcome": "nxDomain", "cnameChain": [],
                "dnssecSecure": false, "atUnixMs": 0,
            },
        ],
    })
}

fn render_input() -> Value {
    json!({
        "nowUnixMs": 0,
        "locale": null,
        "extra": {},
        "template": {
            "slug": "welcome", "revision": 1, "subject": "Hi {{ name }}", "preheader": null,
            "html": "<p>…</p>", "text": null, "layout": null, "partials": { "footer": "bye" },
        },
        "data": { "name": "Ada", "count": 1.5 },
    })
}

fn mjml_input() -> Value {
    json!({
        "nowUnixMs": 0,
        "locale": null,
        "extra": {},
        "source": "<mjml><mj-body></mj-body></mjml>",
        "includes": { "footer": "<mj-text>bye</mj-text>" },
    })
}

#[test]
fn a_whole_input_of_each_kind_is_written_as_it_was_read() {
    let mut require = judge_input();
    require.as_object_mut().expect("an object").remove("seen");
    let inputs = [
        (Kind::Plan, plan_input()),
        (Kind::Domain, judge_input()),
        (Kind::Domain, require),
        (Kind::Renderer, render_input()),
        (Kind::Mjml, mjml_input()),
    ];
    assert!(Kind::ALL.iter().all(|kind| inputs.iter().any(|(it, _)| it == kind)));
    for (kind, input) in inputs {
        let call = read(kind, &input);
        assert_eq!(call.kind(), kind);
        assert_eq!(call.to_json(), input);
    }
}

#[test]
fn the_members_arrive_where_they_belong() {
    let call = read(Kind::Plan, &plan_input());
    assert_eq!(call.context.now_unix_ms, 1_800_000_000_000);
    let extra: Vec<&str> = call.context.extra.iter().map(|it| it.key.as_str()).collect();
    assert_eq!(extra, ["k", "a"], "in the order of the file");
    assert_eq!(call.settings, Some(json!({ "prices": [1, 2] })));
    let Input::Plan { who, uses } = call.input else { panic!("{call:?}") };
    assert_eq!((who.id.as_str(), who.credits_remaining), ("acc_example", -100));
    assert_eq!(uses[0].template_tags, ["a"]);
    assert_eq!((uses[0].channel, uses[0].size_bytes), (Channel::Smtp, 1_000));

    let call = read(Kind::Renderer, &render_input());
    let Input::Render { template, data } = call.input else { panic!("{call:?}") };
    let parts: Vec<Part> = template.sources.iter().map(|source| source.part).collect();
    assert_eq!(parts, [Part::Subject, Part::Html]);
    assert_eq!(data, r#"{"name":"Ada","count":1.5}"#);
    assert_eq!(template.partials[0].value, "bye");
}

#[test]
fn a_domain_is_judged_only_where_something_was_seen() {
    let call = read(Kind::Domain, &json!({ "domain": { "name": "example.com" } }));
    assert!(matches!(call.input, Input::Require { .. }), "{call:?}");
    let call = read(Kind::Domain, &json!({ "seen": [{ "lookupId": "spf" }] }));
    let Input::Judge { seen, .. } = &call.input else { panic!("{call:?}") };
    assert!(matches!(seen[0].outcome, Outcome::NoData), "{call:?}");
    let call = read(Kind::Domain, &json!({ "seen": [] }));
    assert!(matches!(call.input, Input::Judge { .. }), "{call:?}");
    comes_back(&call);
}

#[test]
fn everything_may_be_left_out() {
    for kind in Kind::ALL {
        let call = read(kind, &json!({}));
        assert_eq!(call.settings, None);
        assert_eq!(call.context.call_id, "");
        comes_back(&call);
    }
    let call = read(Kind::Plan, &json!({ "uses": [{}] }));
    let Input::Plan { uses, .. } = &call.input else { panic!("{call:?}") };
    assert_eq!((uses[0].channel, uses[0].recipients), (Channel::Api, 0));
    let call = read(Kind::Renderer, &json!({}));
    let Input::Render { template, data } = &call.input else { panic!("{call:?}") };
    assert_eq!((template.sources[0].part, template.sources[0].text.as_str()), (Part::Subject, ""));
    assert_eq!((template.sources.len(), data.as_str()), (1, "{}"));
}

#[test]
fn a_mistake_is_named_with_its_place_and_what_would_be_right() {
    let cases = [
        (
            Kind::Plan,
            json!({ "account": { "plann": "x" } }),
            "`account.plann` of the input: unknown field `plann`, expected one of `id`, `plan`,",
        ),
        (
            Kind::Plan,
            json!({ "uses": [{}, { "channel": "fax" }] }),
            "`uses[1].channel` of the input: unknown variant `fax`, expected one of `api`, `smtp`, \
             `dashboard`",
        ),
        (
            Kind::Plan,
            json!({ "template": {} }),
            "`template` of the input: unknown field `template`, expected one of `callId`, \
             `nowUnixMs`, `locale`, `dryRun`, `extra`, `settings`, `account`, `uses`",
        ),
        (
            Kind::Plan,
            json!({ "account": "acc_example" }),
            "`account` of the input: invalid type: string \"acc_example\", expected an object",
        ),
        (
            Kind::Plan,
            json!({ "uses": [{ "recipients": -1 }] }),
            "`uses[0].recipients` of the input: invalid value: integer `-1`, expected u32",
        ),
        (
            Kind::Domain,
            json!({ "seen": [{ "outcome": "gone" }] }),
            "`seen[0].outcome` of the input: unknown variant `gone`, expected one of `answers`, \
             `noData`, `nxDomain`, `servFail`, `refused`, `timedOut`",
        ),
        (
            Kind::Domain,
            json!({ "extra": { "k": 1 } }),
            "`extra.k` of the input: invalid type: integer `1`, expected a string",
        ),
        (
            Kind::Renderer,
            json!({ "data": {}, "dataJson": "{}" }),
            "`dataJson` of the input: there is `data` too; leave one of the two out",
        ),
        (Kind::Renderer, json!([]), "the input: invalid type: sequence, expected an object"),
        (
            Kind::Plan,
            json!({ "uses": [["api", "welcome"]] }),
            "`uses[0]` of the input: invalid type: sequence, expected an object",
        ),
        (Kind::Renderer, json!("x"), "the input: invalid type: string \"x\", expected an object"),
    ];
    for (kind, input, expected) in cases {
        let text = refused(kind, &input);
        assert!(text.starts_with(expected), "{input}: {text}");
    }
}

#[test]
fn the_call_of_a_recorded_decision_keeps_its_identifier() {
    let mut call = read(Kind::Plan, &plan_input());
    call.context.call_id = "req_1".to_owned();
    call.context.dry_run = true;
    assert_eq!(call.to_json()["callId"], "req_1");
    comes_back(&call);
}

#[test]
fn data_come_back_as_the_very_same_text() {
    let texts = [
        r#"{"b":1,"a":[null,true,"\u00e9"]}"#,
        r#"{ "a": 1 }"#,
        r#"{"a":1,"a":2}"#,
        "123456789012345678901234567890",
        "1.10",
        "null",
        "not json",
        "",
    ];
    for text in texts {
        let mut call = read(Kind::Renderer, &render_input());
        let Input::Render { data, .. } = &mut call.input else { panic!("{call:?}") };
        text.clone_into(data);
        comes_back(&call);
    }
}

fn pairs() -> impl Strategy<Value = Vec<Pair>> {
    let pairs = proptest::collection::btree_map(".{0,8}", ".{0,8}", 0..4);
    pairs.prop_map(|it| it.into_iter().map(|(key, value)| Pair { key, value }).collect())
}

fn contexts() -> impl Strategy<Value = CallContext> {
    (".{0,9}", any::<u64>(), any::<Option<String>>(), any::<bool>(), pairs()).prop_map(
        |(call_id, now_unix_ms, locale, dry_run, extra)| CallContext {
            call_id,
            now_unix_ms,
            locale,
            dry_run,
            extra,
        },
    )
}

fn uses() -> impl Strategy<Value = UseRequest> {
    let channel = proptest::sample::select(vec![Channel::Api, Channel::Smtp, Channel::Dashboard]);
    let slugs = any::<(Option<String>, Option<String>, Vec<String>, String)>();
    (channel, slugs, any::<(u32, u64)>()).prop_map(|(channel, text, (recipients, size_bytes))| {
        UseRequest {
            channel,
            template_slug: text.0,
            template_required_plan: text.1,
            template_tags: text.2,
            recipient_domain: text.3,
            recipients,
            size_bytes,
        }
    })
}

fn accounts() -> impl Strategy<Value = Account> {
    (any::<(String, String, bool, i64)>(), any::<(u64, u64, u64)>(), pairs()).prop_map(
        |((id, plan, paid, credits_remaining), numbers, extra)| Account {
            id,
            plan,
            paid,
            credits_remaining,
            created_unix_ms: numbers.0,
            sent_last_day: numbers.1,
            sent_last_month: numbers.2,
            extra,
        },
    )
}

fn templates() -> impl Strategy<Value = Template> {
    let parts = any::<[Option<String>; 4]>();
    (any::<(String, u64)>(), parts, pairs(), any::<Option<String>>()).prop_map(
        |((slug, revision), texts, partials, layout)| {
            let parts = [Part::Subject, Part::Preheader, Part::Html, Part::Text];
            let source = |(part, text): (Part, Option<String>)| Some(Source { part, text: text? });
            let sources = parts.into_iter().zip(texts).filter_map(source).collect();
            Template { slug, revision, sources, partials, layout }
        },
    )
}

fn observations() -> impl Strategy<Value = Observation> {
    let outcome = proptest::sample::select(vec![
        Outcome::Answers(Vec::new()),
        Outcome::NoData,
        Outcome::NxDomain,
        Outcome::ServFail,
        Outcome::Refused,
        Outcome::TimedOut,
    ]);
    (outcome, any::<(String, String, Vec<String>, bool, u64)>()).prop_map(|(outcome, it)| {
        Observation {
            lookup_id: it.0,
            resolver: it.1,
            outcome,
            cname_chain: it.2,
            dnssec_secure: it.3,
            at_unix_ms: it.4,
        }
    })
}

fn calls() -> impl Strategy<Value = Call> {
    let Input::Judge { domain, .. } = read(Kind::Domain, &judge_input()).input else {
        panic!("the input is one to judge")
    };
    let seen = proptest::collection::vec(observations(), 0..3);
    let input = prop_oneof![
        (accounts(), proptest::collection::vec(uses(), 0..3))
            .prop_map(|(who, uses)| Input::Plan { who, uses }),
        (templates(), any::<String>())
            .prop_map(|(template, data)| Input::Render { template, data }),
        Just(Input::Require { domain: domain.clone() }),
        seen.prop_map(move |seen| Input::Judge { domain: domain.clone(), seen }),
        (any::<String>(), pairs())
            .prop_map(|(source, includes)| Input::Mjml { document: Document { source, includes } }),
    ];
    let settings = prop_oneof![Just(None), ".{0,4}".prop_map(|key| Some(json!({ key: 1 })))];
    (contexts(), settings, input).prop_map(|(context, settings, input)| Call {
        context,
        settings,
        input,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_call_comes_back_from_its_json_text(call in calls()) {
        let text = call.to_json().to_string();
        let json = serde_json::from_str(&text).expect("valid JSON");
        let back = Call::from_json(call.kind(), &json).expect("readable");
        prop_assert_eq!(format!("{back:?}"), format!("{call:?}"));
    }
}
