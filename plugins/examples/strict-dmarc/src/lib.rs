//! An example of a domain policy: besides ownership, SPF and DKIM a sender domain must have a DMARC
//! record that makes receivers refuse forged mail.
//!
//! A subdomain without a record of its own inherits that of its organizational domain, which is a
//! further lookup.

mod dkim;
mod dmarc;
mod self_test;
mod settings;
mod spf;

use waxwing_plugin::dns::{Reading, is_within};
use waxwing_plugin::domain_policy::{
    Domain, DomainPolicy, Lookup, Observation, Outcome, Purpose, RecordType, Requirement, Verdict,
    judge_each, records,
};
use waxwing_plugin::{CallContext, Diagnostic, Failure, Plugin, SelfTestResult};

use dmarc::Owner;
use settings::Settings;

/// The further lookup of the organizational domain's record.
const INHERITED: &str = "dmarc:organizational";

/// The policy over the operator's settings.
struct StrictDmarc {
    settings: Settings,
}

impl Plugin for StrictDmarc {
    type Settings = Settings;

    fn configure(settings: Settings) -> Result<Self, Vec<Diagnostic>> {
        Ok(Self { settings })
    }

    fn self_test(&self, ctx: &CallContext) -> Vec<SelfTestResult> {
        self_test::run(self, ctx)
    }
}

impl DomainPolicy for StrictDmarc {
    fn require(&self, _: &CallContext, domain: &Domain) -> Result<Vec<Requirement>, Failure> {
        let mut all = vec![records::ownership(domain)];
        all.extend(domain.dkim.iter().map(|key| records::dkim(domain, key)));
        all.extend(records::spf(domain));
        all.push(records::dmarc(domain, &dmarc::suggested(self.settings)));
        Ok(all)
    }

    fn judge(
        &self,
        ctx: &CallContext,
        domain: &Domain,
        seen: &[Observation],
    ) -> Result<Verdict, Failure> {
        let mut seen = seen.to_vec();
        let mut owner = Owner::Domain;
        if let Some(above) = organizational(domain)
            && only_absent(&seen, "dmarc")
        {
            let further = seen.iter().filter(|it| it.lookup_id == INHERITED);
            let further: Vec<Observation> = further.cloned().collect();
            if further.is_empty() {
                let (id, name) = (INHERITED.to_owned(), format!("_dmarc.{above}"));
                return Ok(Verdict::Need(vec![Lookup { id, name, record_type: RecordType::Txt }]));
            }
            if !only_absent(&further, INHERITED) {
                owner = Owner::Organization;
                seen.retain(|it| it.lookup_id != "dmarc");
                seen.extend(
                    further.into_iter().map(|it| Observation { lookup_id: "dmarc".into(), ..it }),
                );
            }
        }
        let read = |it: &Requirement, records: &[String]| self.read_one(domain, it, records, owner);
        Ok(Verdict::Decided(judge_each(&self.require(ctx, domain)?, &seen, read)))
    }
}

impl StrictDmarc {
    fn read_one(
        &self,
        domain: &Domain,
        requirement: &Requirement,
        records: &[String],
        owner: Owner,
    ) -> Reading {
        match requirement.purpose {
            Purpose::Dmarc => dmarc::read(self.settings, requirement, records, owner),
            Purpose::Spf => spf::read(&domain.spf_include, requirement, records),
            Purpose::Dkim => dkim::read(requirement, records),
            Purpose::Ownership
            | Purpose::ReturnPath
            | Purpose::Mx
            | Purpose::Tracking
            | Purpose::Bimi
            | Purpose::Tls
            | Purpose::Other => Reading::of_suggested_value(requirement, records),
        }
    }
}

/// The domain whose record a subdomain inherits.
fn organizational(domain: &Domain) -> Option<&str> {
    let above = domain.organizational_domain.as_str();
    (above != domain.name && !above.is_empty() && is_within(&domain.name, above)).then_some(above)
}

/// Whether a name was looked up and has no records, as far as all resolvers know.
fn only_absent(seen: &[Observation], lookup_id: &str) -> bool {
    let mut own = seen.iter().filter(|it| it.lookup_id == lookup_id).peekable();
    own.peek().is_some()
        && own.all(|it| match &it.outcome {
            Outcome::NoData | Outcome::NxDomain => true,
            Outcome::Answers(answers) => answers.is_empty(),
            Outcome::ServFail | Outcome::Refused | Outcome::TimedOut => false,
        })
}

waxwing_plugin::export_domain_policy!(StrictDmarc);

#[cfg(test)]
mod tests {
    use waxwing_plugin::testing::{cases, configured, context};

    use super::*;

    #[test]
    fn the_golden_cases_hold() {
        cases::<StrictDmarc>("cases");
    }

    #[test]
    fn the_self_test_passes_with_every_setting() {
        for settings in ["{}", r#"{"policy":"quarantine","alignment":"relaxed"}"#] {
            let policy: StrictDmarc = configured(settings).expect("settings");
            let results = policy.self_test(&context());
            assert!(results.iter().all(|it| it.passed), "{results:?}");
        }
    }

    #[test]
    fn a_word_that_is_no_policy_is_refused_with_its_path() {
        let faults = configured::<StrictDmarc>(r#"{"policy":"none"}"#).err().expect("refused");
        assert_eq!(faults[0].path.as_deref(), Some("policy"));
    }
}
