//! What came out of a call, in JSON.

use serde::Serialize;
use serde_json::{Value, json};

use super::json_form::{Charge, Denial, Diagnostic, JsonForm, Judgement, Lookup, Requirement};
use crate::plugin::kinds::{domain, mjml, plan, renderer};
use crate::plugin::runtime::bindings::types::{Diagnostic as WitDiagnostic, Failure};

/// The answer of a plan policy: `{"decisions": […]}`.
#[must_use]
pub fn decisions(answer: &Result<Vec<plan::Verdict>, Failure>) -> Value {
    let decision = |verdict: &plan::Verdict| match verdict {
        plan::Verdict::Allow(charge) => json!({ "allow": value::<Charge>(charge) }),
        plan::Verdict::Deny(denial) => json!({ "deny": value::<Denial>(denial) }),
    };
    answered(
        answer,
        |verdicts| json!({ "decisions": verdicts.iter().map(decision).collect::<Vec<Value>>() }),
    )
}

/// The answer of a renderer, part by part. Faults of the template are an invalid input too.
#[must_use]
pub fn output(answer: &Result<renderer::Output, Failure>) -> Value {
    answered(answer, |output| {
        // Of two bodies of a part the last one is sent.
        let body = |part: renderer::Part| {
            output.bodies.iter().rev().find(|body| body.part == part).map(|body| &body.text)
        };
        json!({
            "subject": body(renderer::Part::Subject),
            "preheader": body(renderer::Part::Preheader),
            "html": body(renderer::Part::Html),
            "text": body(renderer::Part::Text),
            "missing": output.missing,
        })
    })
}

/// The answer of a domain policy to `require`: `{"requirements": […]}`.
#[must_use]
pub fn requirements(answer: &Result<Vec<domain::Requirement>, Failure>) -> Value {
    answered(
        answer,
        |requirements| json!({ "requirements": value::<Vec<Requirement>>(requirements) }),
    )
}

/// The answer of a domain policy to `judge`: `{"findings": […], "recheckAfterS": …}`, or
/// `{"need": […]}`.
#[must_use]
pub fn verdict(answer: &Result<domain::Verdict, Failure>) -> Value {
    answered(answer, |verdict| match verdict {
        domain::Verdict::Decided(judgement) => value::<Judgement>(judgement),
        domain::Verdict::Need(lookups) => json!({ "need": value::<Vec<Lookup>>(lookups) }),
    })
}

/// The answer of an MJML compiler: `{"html": …, "preheader": …, "warnings": […]}`.
#[must_use]
pub fn compiled(answer: &Result<mjml::Compiled, Failure>) -> Value {
    answered(answer, |it| {
        let warnings = value::<Vec<Diagnostic>>(&it.warnings);
        json!({ "html": it.html, "preheader": it.preheader, "warnings": warnings })
    })
}

/// No answer: the plugin trapped, or came to a limit.
#[must_use]
pub fn failed(text: &str) -> Value {
    json!({ "trap": text })
}

fn answered<T>(answer: &Result<T, Failure>, to_json: impl FnOnce(&T) -> Value) -> Value {
    match answer {
        Ok(answer) => to_json(answer),
        Err(failure) => json!({ "failure": reason(failure) }),
    }
}

fn reason(failure: &Failure) -> Value {
    let list = |faults: &Vec<WitDiagnostic>| value::<Vec<Diagnostic>>(faults);
    match failure {
        Failure::InvalidInput(faults) => json!({ "invalidInput": list(faults) }),
        Failure::Misconfigured(faults) => json!({ "misconfigured": list(faults) }),
        Failure::Internal(detail) => json!({ "internal": detail }),
    }
}

fn value<F: JsonForm<Of: Clone> + Serialize>(it: &F::Of) -> Value {
    serde_json::to_value(F::of(it.clone())).expect("an answer has string keys only")
}
