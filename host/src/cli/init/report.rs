//! What the command prints. Standard output is a zone file, or JSON; what else is to be said goes to standard error.

use std::path::Path;

use serde_json::{Value, json};

use super::answers::Answers;
use crate::cli::output::{Output, say, tell};
use crate::server::host_records::{Finding, HostRecord, Standing};

/// Records that somebody may look for in the list, and why they are not there.
const NOT_LISTED: &str = "\
; DKIM and DMARC belong to sender domains: `waxwing domain add` prints their records.
; MTA-STS and TLS-RPT protect mail that people receive. This host receives reports alone, so neither is listed.";

/// What comes after the records.
const NEXT: &str = "  systemctl enable --now waxwing
Then open the set-up link that `journalctl -u waxwing` shows, or make an account and a sender domain:
  waxwing account create --help
  waxwing domain add --help
\"First use\" in OPERATING.md, in /usr/share/doc/waxwing/host of the package, has every step.";

/// After the configuration was written.
pub fn written(
    output: Output,
    file: &Path,
    (missing, answers): (&[String], &Answers),
    records: &[HostRecord],
) {
    let (file, warnings) = (file.display(), answers.doubts());
    if output.is_json() {
        let records: Vec<Value> = records.iter().map(in_json).collect();
        say(json!({
            "config": file.to_string(), "missing": missing, "warnings": warnings, "records": records,
        }));
        return;
    }
    tell(format_args!("{file} is written."));
    for it in warnings {
        tell(format_args!("Warning: {it}"));
    }
    let files = answers.certificate.files();
    if let Some([chain, key]) = files.filter(|it| it.iter().any(|file| !file.exists())) {
        tell(format_args!(
            "No certificate is ordered, because the terms of Let's Encrypt are not agreed to (--agree-to-terms).\n\
             Before the server starts, put one of your own, readable for the server's user, to\n  {}\n  {} (its key)",
            chain.display(),
            key.display()
        ));
    }
    if !missing.is_empty() {
        tell("Before the server starts, also put right:");
        for it in missing {
            tell(format_args!("  {}", it.replace('\n', "\n  ")));
        }
    }
    tell("Publish these records. To see which are visible, run:");
    tell(format_args!("  waxwing init --check --config {file}\n"));
    zone(records).iter().for_each(say);
    tell(format_args!("\nWhen they are seen:\n{NEXT}"));
}

/// After the records were looked up, and all are there.
pub fn all_seen(output: Output) {
    if !output.is_json() {
        tell(format_args!("\nAll records are seen. Next, as root:\n{NEXT}"));
    }
}

/// The records as the lines of a zone file.
fn zone(records: &[HostRecord]) -> Vec<String> {
    let (reverse, own): (Vec<&HostRecord>, Vec<&HostRecord>) =
        records.iter().partition(|it| it.is_reverse());
    let mut lines = Vec::new();
    for record in own {
        lines.extend([format!("; {}", record.purpose), record.zone_line()]);
    }
    if let Some(first) = reverse.first() {
        lines.push(format!("; {}", first.purpose));
        lines.push("; whoever gave out the address publishes it, not this zone:".to_owned());
        lines.extend(reverse.iter().map(|it| format!("; {}", it.zone_line())));
    }
    lines.extend(NOT_LISTED.lines().map(str::to_owned));
    lines
}

/// After the records were looked up.
pub fn observed(output: Output, findings: &[Finding]) {
    let values: Vec<Value> = findings.iter().map(observed_in_json).collect();
    if output.is_json() {
        say(Value::from(values));
        return;
    }
    for finding in findings {
        let Finding { record, standing, seen, .. } = finding;
        let (standing, kind) = (standing.as_str(), record.record_type.as_str());
        say(format!("{standing:<8} {kind:<4} {}  {}", record.name, record.value));
        if finding.standing == Standing::Differs {
            for it in seen {
                say(format!("         there is: {it}"));
            }
        }
        if let Some(advice) = finding.advice() {
            say(format!("         {advice}"));
        }
    }
}

fn in_json(record: &HostRecord) -> Value {
    json!({
        "name": record.name,
        "type": record.record_type.as_str(),
        "value": record.value,
        "purpose": record.purpose,
    })
}

fn observed_in_json(finding: &Finding) -> Value {
    let mut value = in_json(&finding.record);
    value["status"] = finding.standing.as_str().into();
    value["seen"] = json!(finding.seen);
    value["advice"] = json!(finding.advice());
    value
}
