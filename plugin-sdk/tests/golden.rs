//! Golden cases that differ, cannot be read or are not there fail, and say why.

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use waxwing_plugin::domain_policy::DomainPolicy;
use waxwing_plugin::plan_policy::PlanPolicy;
use waxwing_plugin::renderer::{Body, Output, Renderer, Source, Template};
use waxwing_plugin::testing::{Golden, cases};
use waxwing_plugin::{CallContext, Diagnostic, Failure, NoSettings, Plugin};

struct Defaults;

impl Plugin for Defaults {
    type Settings = NoSettings;

    fn configure(_: NoSettings) -> Result<Self, Vec<Diagnostic>> {
        Ok(Self)
    }
}

impl PlanPolicy for Defaults {}

waxwing_plugin::export_plan_policy!(Defaults);

struct Ownership;

impl Plugin for Ownership {
    type Settings = NoSettings;

    fn configure(_: NoSettings) -> Result<Self, Vec<Diagnostic>> {
        Ok(Self)
    }
}

impl DomainPolicy for Ownership {}

waxwing_plugin::export_domain_policy!(Ownership);

struct Echo;

impl Plugin for Echo {
    type Settings = NoSettings;

    fn configure(_: NoSettings) -> Result<Self, Vec<Diagnostic>> {
        Ok(Self)
    }
}

impl Renderer for Echo {
    type Compiled = Vec<Source>;

    fn compile(&self, template: &Template) -> Result<Vec<Source>, Vec<Diagnostic>> {
        Ok(template.sources.clone())
    }

    fn render(sources: &Vec<Source>, _: &CallContext, data: &str) -> Result<Output, Failure> {
        let body = |it: &Source| Body { part: it.part, text: format!("{}{data}", it.text) };
        Ok(Output { bodies: sources.iter().map(body).collect(), missing: Vec::new() })
    }
}

waxwing_plugin::export_renderer!(Echo);

/// A folder of one case.
fn folder(name: &str, input: &str, expected: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let case = folder.join("one");
    fs::create_dir_all(&case).expect("a folder below the target directory");
    fs::write(case.join("input.json"), input).expect("written");
    fs::write(case.join("expected.json"), expected).expect("written");
    folder
}

/// How the cases of a folder fail.
fn failure<P: Golden>(folder: &Path) -> String {
    let folder = folder.display().to_string();
    let failed = catch_unwind(|| cases::<P>(&folder)).expect_err("the cases must fail");
    failed.downcast_ref::<String>().cloned().unwrap_or_default()
}

fn passes<P: Golden>(name: &str, input: &str, expected: &str) {
    cases::<P>(&folder(name, input, expected).display().to_string());
}

#[test]
fn the_order_of_members_does_not_matter_and_a_null_does() {
    let input = r#"{"uses":[{"recipients":2}]}"#;
    passes::<Defaults>("order", input, r#"{"decisions":[{"allow":{"reason":null,"credits":2}}]}"#);
    let folder = folder("left-out", input, r#"{"decisions":[{"allow":{"credits":2}}]}"#);
    assert!(failure::<Defaults>(&folder).contains("1 of 1 golden cases"));
}

#[test]
fn another_answer_fails_with_both() {
    let folder = folder("other", r#"{"uses":[{}]}"#, r#"{"decisions":[]}"#);
    let text = failure::<Defaults>(&folder);
    assert!(text.contains("one: \n  expected {\"decisions\":[]}"), "{text}");
    assert!(
        text.contains(r#"found    {"decisions":[{"allow":{"credits":0,"reason":null}}]}"#),
        "{text}"
    );
}

#[test]
fn an_input_with_a_misspelt_member_fails_with_its_path() {
    let folder = folder("misspelt", r#"{"uses":[{"recipient":1}]}"#, "{}");
    let text = failure::<Defaults>(&folder);
    assert!(text.contains("one: input.json: uses[0].recipient: unknown field"), "{text}");
}

#[test]
fn a_folder_without_cases_fails() {
    let empty = Path::new(env!("CARGO_TARGET_TMPDIR")).join("empty");
    fs::create_dir_all(&empty).expect("a folder below the target directory");
    assert!(failure::<Defaults>(&empty).starts_with("there are no cases in "));
    assert!(failure::<Defaults>(&empty.join("none")).contains("none"));
}

#[test]
fn settings_that_are_refused_are_the_failure_misconfigured() {
    let expected = r#"{"failure":{"misconfigured":[{"severity":"error","code":"settings","message":
        "`price`: unknown field `price`, there are no fields","line":1,"column":8,"snippet":null,"path":"price","part":null}]}}"#;
    passes::<Defaults>("settings", r#"{"settings":{"price":1}}"#, expected);
}

#[test]
fn a_domain_is_required_without_observations_and_judged_with_them() {
    let domain = r#""domain":{"name":"example.com","verificationToken":"t"}"#;
    let required = r#"{"requirements":[{"id":"ownership","purpose":"ownership","required":true,
        "name":"_waxwing.example.com","recordType":"txt","suggestedValue":"waxwing-verification=t",
        "help":"Proves that the domain is yours. Leave it there: it is checked again from time to time."}]}"#;
    passes::<Ownership>("require", &format!("{{{domain}}}"), required);
    let seen = r#""seen":[{"lookupId":"ownership","resolver":"192.0.2.1",
        "outcome":{"answers":[{"data":"waxwing-verification=t","ttl":300}]}}]"#;
    let judged = r#"{"findings":[{"requirementId":"ownership","status":"satisfied",
        "found":["waxwing-verification=t"],"hint":"The record is right."}],"recheckAfterS":86400}"#;
    passes::<Ownership>("judge", &format!("{{{domain},{seen}}}"), judged);
}

#[test]
fn a_renderer_answers_with_its_parts() {
    let input = r#"{"template":{"slug":"a","subject":"Hi ","text":"Yo "},"data":{"n":null}}"#;
    let expected = r#"{"subject":"Hi {\"n\":null}","preheader":null,"html":null,"text":"Yo {\"n\":null}","missing":[]}"#;
    passes::<Echo>("render", input, expected);
    let raw = r#"{"template":{"text":""},"dataJson":"no JSON"}"#;
    let expected = r#"{"subject":null,"preheader":null,"html":null,"text":"no JSON","missing":[]}"#;
    passes::<Echo>("raw", raw, expected);
}
