//! `waxwing plugin bench`: what calls cost, and how far that is from each limit.

mod findings;
mod report;

use std::num::NonZeroU32;
use std::path::Path;

use clap::Args;

use super::error::ToolError;
use super::local_validation::{ToolHost, Tools};
use super::project::{Subject, Which};
use crate::id::TemplateId;
use crate::plugin::Instances;
use crate::plugin::installed::InstalledPlugin;
use crate::plugin::measure::Measured;
use crate::plugin::records::Call;
use crate::plugin::renderer::VersionKey;
use crate::plugin::validation::UNOBSERVED;
use crate::plugin::{CallFailure, Kind, builtin_cases, golden_cases};
use findings::{Costs, Findings, Times};

/// Calls before the measured ones of a warm instance.
const WARM_UP: u32 = 5;

/// Measure what calls cost: cold, warm, p50, p99, memory, and the distance to each limit
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  waxwing plugin bench                           the golden cases of the project here
  waxwing plugin bench --case paid --calls 2000
  waxwing plugin bench prices.wasm --json        without cases: the inputs of the host's own

Times are CPU time in the plugin: limits count that, not what other processes take. Cold is a new
instance, configured, and a call in it; warm is a call in an instance that was used before. A
renderer compiles the template in a cold call and finds it compiled in a warm one.")]
pub struct Bench {
    #[command(flatten)]
    which: Which,
    /// Only this case
    #[arg(long, value_name = "NAME")]
    case: Option<String>,
    /// How many calls of each sort
    #[arg(long, value_name = "N", default_value = "500")]
    calls: NonZeroU32,
    #[command(flatten)]
    tools: Tools,
}

/// An input with its name.
#[derive(Debug)]
struct Asked {
    name: String,
    call: Call,
}

pub async fn run(bench: Bench) -> Result<(), ToolError> {
    let host = bench.tools.open()?;
    let subject = bench.which.find(&host)?;
    let log = host.validator.log(&subject.candidate.slot);
    let validated = host.validator.validate(&subject.candidate, log, None, UNOBSERVED).await?;
    let asked = inputs(validated.kind(), &subject.cases, bench.case.as_deref())?;
    let mut findings = findings(&subject, &validated, bench.calls.get());
    for (number, asked) in (1..).zip(asked) {
        let (costs, memory) =
            costs(&host, &subject, &validated, number, &asked, bench.calls.get()).await?;
        findings.memory_bytes = findings.memory_bytes.max(memory);
        findings.costs.push(costs);
    }
    let value = report::json(&findings);
    bench.tools.output.one(&value, || report::lines(&findings));
    Ok(())
}

fn findings(subject: &Subject, validated: &InstalledPlugin, calls: u32) -> Findings {
    let usual = Instances::usual(validated.kind(), &subject.artifact);
    Findings {
        name: validated.identity().name.clone(),
        version: validated.identity().version.clone(),
        digest: validated.identity().digest.clone(),
        kind: validated.kind(),
        instances: match (validated.kind(), validated.config().instances) {
            (Kind::Plan | Kind::Domain | Kind::Mjml, Some(instances)) => instances,
            (Kind::Plan | Kind::Domain | Kind::Renderer | Kind::Mjml, _) => usual,
        },
        limits: validated.generation_config().limits,
        calls,
        memory_bytes: validated.peak_memory(),
        costs: Vec::new(),
    }
}

/// The golden cases, or where there are none the inputs that the host tries on every plugin.
fn inputs(kind: Kind, cases: &Path, only: Option<&str>) -> Result<Vec<Asked>, ToolError> {
    let golden = golden_cases::read(kind, cases)?;
    let names: Vec<String> = golden.iter().map(|case| case.name.clone()).collect();
    let mut asked: Vec<Asked> =
        golden.into_iter().map(|case| Asked { name: case.name, call: case.call }).collect();
    if let Some(only) = only {
        asked.retain(|it| it.name == only);
        if asked.is_empty() {
            let there_are = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(ToolError::NoCase {
                name: only.to_owned(),
                cases: cases.into(),
                there_are,
            });
        }
    }
    if asked.is_empty() {
        let calls = builtin_cases::calls(kind).into_iter();
        asked = calls.map(|(name, call)| Asked { name: name.to_owned(), call }).collect();
    }
    Ok(asked)
}

async fn costs(
    host: &ToolHost,
    subject: &Subject,
    validated: &InstalledPlugin,
    number: u64,
    asked: &Asked,
    calls: u32,
) -> Result<(Costs, usize), ToolError> {
    let settings = asked
        .call
        .settings
        .clone()
        .unwrap_or_else(|| validated.generation_config().settings.clone());
    let with = |instances| {
        let candidate = subject.candidate.with_instances(instances);
        let settings = settings.clone();
        async move { host.validator.validate_with(&candidate, settings).await }
    };
    let (fresh, warm) = (with(Instances::Fresh).await?, with(Instances::Warm).await?);
    let failed = |failure| ToolError::Call { case: asked.name.clone(), failure };
    let costs = measure(host, &fresh, &warm, number, asked, calls).await.map_err(failed)?;
    Ok((costs, fresh.peak_memory().max(warm.peak_memory())))
}

async fn measure(
    host: &ToolHost,
    fresh: &InstalledPlugin,
    warm: &InstalledPlugin,
    number: u64,
    asked: &Asked,
    calls: u32,
) -> Result<Costs, CallFailure> {
    let (name, call) = (asked.name.clone(), &asked.call);
    let template = TemplateId::new(host.clock.now());
    let key = Some(VersionKey { template, revision: number, locale: 0 });
    let (mut instance, mut cold, mut used, mut first) = (vec![], vec![], vec![], vec![]);
    for _ in 0..calls {
        instance.push(fresh.measure_instance().await?);
        cold.push(fresh.measure(call, None).await?.cpu);
    }
    if fresh.kind() == Kind::Renderer {
        // Its instances are always kept, so that a cold call is put together from its two halves.
        first.clone_from(&cold);
        cold = cold.iter().zip(&instance).map(|(call, instance)| *call + *instance).collect();
    }
    for _ in 0..WARM_UP {
        warm.measure(call, key).await?;
    }
    let mut answer_bytes = 0;
    for _ in 0..calls {
        let Measured { cpu, answer } = warm.measure(call, key).await?;
        used.push(cpu);
        answer_bytes = answer.to_string().len();
    }
    let first = (!first.is_empty()).then(|| Times::new(first));
    let (instance, cold, warm) = (Times::new(instance), Times::new(cold), Times::new(used));
    Ok(Costs { name, instance, cold, warm, first, answer_bytes })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn percentiles_are_of_the_sorted_calls() {
        let times = Times::new((1..=200).rev().map(Duration::from_micros).collect());
        assert_eq!((times.p50().as_micros(), times.p99().as_micros()), (100, 198));
        let one = Times::new(vec![Duration::from_micros(7)]);
        assert_eq!((one.p50(), one.p99()), (one.p99(), Duration::from_micros(7)));
    }

    #[test]
    fn without_golden_cases_the_hosts_own_inputs_are_taken() {
        let dir = tempfile::tempdir().unwrap();
        for kind in Kind::ALL {
            let known = builtin_cases::calls(kind).len();
            assert_eq!(inputs(kind, dir.path(), None).unwrap().len(), known, "{kind}");
        }
        let case = dir.path().join("paid");
        std::fs::create_dir(&case).unwrap();
        std::fs::write(case.join("input.json"), r#"{"account": {}, "uses": []}"#).unwrap();
        assert_eq!(inputs(Kind::Plan, dir.path(), None).unwrap()[0].name, "paid");
        let error = inputs(Kind::Plan, dir.path(), Some("free")).unwrap_err().to_string();
        assert!(error.contains("`free`") && error.contains("there are: paid"), "{error}");
    }
}
