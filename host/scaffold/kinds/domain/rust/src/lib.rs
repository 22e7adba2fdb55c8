//! Ownership, DKIM and SPF are required, DMARC is advised.

use schemars::JsonSchema;
use serde::Deserialize;
use waxwing_plugin::dns::Reading;
use waxwing_plugin::domain_policy::{Domain, DomainPolicy, Purpose, Requirement, Status, records};
use waxwing_plugin::{CallContext, Diagnostic, Failure, Plugin, SelfTestResult, self_check};

/// The settings. The server validates them with the schema of this type before `configure`.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Settings {
    /// Whether a domain needs a DMARC record before it may send.
    require_dmarc: bool,
}

/// The rule.
pub struct Policy {
    settings: Settings,
}

impl Plugin for Policy {
    type Settings = Settings;

    fn configure(settings: Settings) -> Result<Self, Vec<Diagnostic>> {
        Ok(Self { settings })
    }

    /// Checks that run before this version judges anything; every one must pass.
    fn self_test(&self, _: &CallContext) -> Vec<SelfTestResult> {
        let domain = waxwing_plugin::testing::domain("example.com");
        let wrong = self.needs(&domain).into_iter().find(|it| {
            let suggested = [it.suggested_value.clone()];
            self.read(&domain, it, &suggested).status != Status::Satisfied
        });
        let outcome = wrong.map_or(Ok(()), |it| Err(it.id));
        vec![self_check(
            "every suggested value satisfies its own rule",
            outcome,
        )]
    }
}

impl DomainPolicy for Policy {
    /// The records that a domain must or should publish.
    fn require(&self, _: &CallContext, domain: &Domain) -> Result<Vec<Requirement>, Failure> {
        Ok(self.needs(domain))
    }

    /// What the records that one resolver saw mean for one requirement. `judge` is there too, to
    /// judge all requirements together or to ask for further lookups.
    fn read(&self, domain: &Domain, requirement: &Requirement, found: &[String]) -> Reading {
        let right = match requirement.purpose {
            Purpose::Spf => found.iter().any(|it| includes(it, &domain.spf_include)),
            Purpose::Dmarc => found.iter().any(|it| it.starts_with("v=DMARC1;")),
            _ => false,
        };
        if right {
            return Reading::satisfied(found, "The record is right.");
        }
        Reading::of_suggested_value(requirement, found)
    }
}

impl Policy {
    fn needs(&self, domain: &Domain) -> Vec<Requirement> {
        // The server's own sandbox domain needs no DNS.
        if domain
            .extra
            .iter()
            .any(|it| it.key == "sandbox" && it.value == "true")
        {
            return Vec::new();
        }
        let mut needs = vec![records::ownership(domain)];
        needs.extend(domain.dkim.iter().map(|key| records::dkim(domain, key)));
        needs.extend(records::spf(domain));
        needs.push(Requirement {
            required: self.settings.require_dmarc,
            ..records::dmarc(domain, "v=DMARC1; p=none")
        });
        needs
    }
}

/// Whether an SPF record includes that host, whatever else it says.
fn includes(record: &str, host: &str) -> bool {
    let mut terms = record.split_whitespace();
    terms
        .next()
        .is_some_and(|it| it.eq_ignore_ascii_case("v=spf1"))
        && terms.any(|it| it.strip_prefix("include:") == Some(host))
}

waxwing_plugin::export_domain_policy!(Policy);

#[cfg(test)]
mod tests;
