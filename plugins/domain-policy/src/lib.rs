//! The built-in domain policy: what a sender domain must publish, and what to make of what was seen.
//!
//! It asks for ownership, DKIM, SPF, the return path and DMARC. It has no resolver: the host asks
//! DNS, this judges. What cannot be seen is unknown and never counts as satisfied.

mod dkim;
mod dmarc;
mod judgement;
mod ownership;
mod requirements;
mod return_path;
mod seen;
mod self_test;
mod settings;
mod spf;

use waxwing_plugin::domain_policy::{Domain, DomainPolicy, Observation, Requirement, Verdict};
use waxwing_plugin::{CallContext, Diagnostic, Failure, Plugin, SelfTestResult};

use requirements::needs;
use settings::Settings;

/// The policy under the operator's settings.
struct DomainRules {
    settings: Settings,
}

impl Plugin for DomainRules {
    type Settings = Settings;

    fn configure(settings: Settings) -> Result<Self, Vec<Diagnostic>> {
        let faults = settings.faults();
        if faults.is_empty() { Ok(Self { settings }) } else { Err(faults) }
    }

    fn self_test(&self, _: &CallContext) -> Vec<SelfTestResult> {
        self_test::run(&self.settings)
    }
}

impl DomainPolicy for DomainRules {
    fn require(&self, _: &CallContext, domain: &Domain) -> Result<Vec<Requirement>, Failure> {
        Ok(needs(&self.settings, domain)?.into_iter().map(|it| it.requirement).collect())
    }

    fn judge(
        &self,
        _: &CallContext,
        domain: &Domain,
        seen: &[Observation],
    ) -> Result<Verdict, Failure> {
        Ok(judgement::judge(&needs(&self.settings, domain)?, seen))
    }
}

waxwing_plugin::export_domain_policy!(DomainRules);

#[cfg(test)]
mod tests {
    use waxwing_plugin::testing::cases;

    #[test]
    fn each_state_of_a_domain_has_its_words() {
        cases::<super::DomainRules>("cases");
    }
}
