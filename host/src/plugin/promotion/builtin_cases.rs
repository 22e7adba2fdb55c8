//! Built-in cases: calls at the edges that every plugin of a kind must answer, and in the right shape.

use serde_json::{Value, json};

use super::error::LoadError;
use super::installed::InstalledPlugin;
use crate::plugin::records::Call;
use crate::plugin::runtime::kind::Kind;

/// Checks that a plugin answers the built-in cases of its kind.
pub async fn check(validated: &InstalledPlugin) -> Result<(), LoadError> {
    let failed = |case: &str, detail| {
        let name = validated.identity().name.clone();
        LoadError::Case { name, case: case.to_owned(), detail }
    };
    for (case, call) in calls(validated.kind()) {
        let (answer, failure) = validated.dry_run(&call).await;
        if let Some(failure) = failure {
            return Err(failed(case, failure.to_string()));
        }
        if let Some(fault) = answer_fault(validated.kind(), &answer) {
            return Err(failed(case, fault));
        }
    }
    Ok(())
}

/// The calls, each with the name of its case.
///
/// # Panics
/// Never: a test makes all of them.
#[must_use]
pub fn calls(kind: Kind) -> Vec<(&'static str, Call)> {
    let call =
        |input| Call::from_json(kind, &input).expect("a built-in case is a call of its kind");
    inputs(kind).into_iter().map(|(case, input)| (case, call(input))).collect()
}

fn inputs(kind: Kind) -> Vec<(&'static str, Value)> {
    match kind {
        Kind::Plan => vec![
            (
                "the built-in case `no use`",
                json!({"account": {"id": "acc_test", "plan": "free"}, "uses": []}),
            ),
            (
                "the built-in case `three uses`",
                json!({
                    "account": {"id": "acc_test", "plan": "no such plan", "creditsRemaining": -1},
                    "uses": [
                        {"templateSlug": "welcome", "recipientDomain": "example.com", "recipients": 1},
                        {"channel": "smtp", "recipientDomain": "xn--bcher-kva.example", "recipients": 100},
                        {"templateSlug": "ünï\u{0}code", "recipients": u32::MAX, "sizeBytes": u64::MAX},
                    ],
                }),
            ),
        ],
        Kind::Renderer => vec![(
            "the built-in case `plain text`",
            json!({"template": {"slug": "host-case", "subject": "Hello", "text": "Hello"}, "data": {}}),
        )],
        Kind::Mjml => vec![(
            "the built-in case `one text`",
            json!({"source": "<mjml><mj-body><mj-section><mj-column><mj-text>Hi {{ name }}</mj-text>\
                   </mj-column></mj-section></mj-body></mjml>"}),
        )],
        Kind::Domain => {
            let domain = json!({
                "name": "example.com", "organizationalDomain": "example.com",
                "verificationToken": "token", "spfInclude": "spf.example.net",
                "returnPathHost": "bounce.example.com", "plan": "free",
            });
            vec![
                ("the built-in case `requirements`", json!({"domain": domain})),
                ("the built-in case `nothing seen`", json!({"domain": domain, "seen": []})),
            ]
        }
    }
}

/// What is wrong with the shape of an answer to one of the built-in cases.
fn answer_fault(kind: Kind, answer: &Value) -> Option<String> {
    if let Some(failure) = answer.get("failure") {
        let is_plain_text = kind == Kind::Renderer || kind == Kind::Mjml;
        let text = format!("it must give an answer, and gave up: {failure}");
        return (is_plain_text || failure.get("internal").is_some()).then_some(text);
    }
    match kind {
        Kind::Renderer if answer.get("text").is_none_or(Value::is_null) => {
            Some("the template has a text part, and the answer has none".to_owned())
        }
        Kind::Domain => {
            let requirements = answer.get("requirements")?.as_array()?;
            let ids: Vec<&Value> = requirements.iter().map(|it| &it["id"]).collect();
            let twice = ids.iter().enumerate().find(|(n, id)| ids[..*n].contains(id));
            twice.map(|(_, id)| format!("the requirement {id} is there twice"))
        }
        Kind::Mjml if !answer["html"].as_str().is_some_and(|it| it.contains("Hi {{ name }}")) => {
            Some("the Liquid of the document is not in its HTML as it was written".to_owned())
        }
        Kind::Renderer | Kind::Plan | Kind::Mjml => None,
    }
}
