//! An example of a plan policy: no bulk mail in quiet hours, and a price that changes with the
//! volume of a month.

mod hours;
mod price;
mod self_test;
mod settings;

use waxwing_plugin::plan_policy::{
    Account, Charge, Decision, Denial, PlanPolicy, UseRequest, denial, deny,
};
use waxwing_plugin::{CallContext, Diagnostic, Plugin, SelfTestResult};

use settings::Settings;

/// The policy over the operator's settings.
struct QuietHoursPrice {
    settings: Settings,
}

impl Plugin for QuietHoursPrice {
    type Settings = Settings;

    fn configure(settings: Settings) -> Result<Self, Vec<Diagnostic>> {
        let faults = settings.faults();
        if faults.is_empty() { Ok(Self { settings }) } else { Err(faults) }
    }

    fn self_test(&self, ctx: &CallContext) -> Vec<SelfTestResult> {
        self_test::run(self, ctx)
    }
}

impl PlanPolicy for QuietHoursPrice {
    fn decide(&self, ctx: &CallContext, who: &Account, one: &UseRequest) -> Decision {
        self.quiet(ctx, one).map_or_else(|| self.price(who, one), Decision::Deny)
    }
}

impl QuietHoursPrice {
    fn quiet(&self, ctx: &CallContext, one: &UseRequest) -> Option<Denial> {
        let quiet = self.settings.quiet_hours.as_ref()?;
        let wait = quiet.seconds_left(ctx.now_unix_ms)?;
        if one.template_tags.iter().any(|it| self.settings.urgent_tags.contains(it)) {
            return None;
        }
        waxwing_plugin::debug!(wait_s = wait, "quiet hours");
        waxwing_plugin::count!("quiet_hours_denials", 1);
        let message = format!("from {quiet} UTC only urgent templates are sent");
        Some(Denial { retry_after_s: Some(wait), ..denial("quiet-hours", message) })
    }

    fn price(&self, who: &Account, one: &UseRequest) -> Decision {
        let sent = who.sent_last_month;
        let Some(credits) = price::credits(&self.settings, sent, one.recipients) else {
            return deny(
                "price-overflow",
                "the price of this message exceeds any possible balance",
            );
        };
        let reason = Some(format!("{sent} recipients in the last month"));
        Decision::Allow(Charge { credits, reason })
    }
}

waxwing_plugin::export_plan_policy!(QuietHoursPrice);

#[cfg(test)]
mod tests {
    use waxwing_plugin::testing::{
        account, cases, configured, context, counts, logs, template_use,
    };

    use super::*;

    #[test]
    fn the_golden_cases_hold() {
        cases::<QuietHoursPrice>("cases");
    }

    #[test]
    fn the_self_test_passes_with_and_without_quiet_hours() {
        for settings in ["{}", r#"{"quietHours":{"fromHour":22,"untilHour":6}}"#] {
            let policy: QuietHoursPrice = configured(settings).expect("settings");
            let results = policy.self_test(&context());
            assert!(results.iter().all(|it| it.passed), "{results:?}");
        }
    }

    #[test]
    fn a_denial_in_quiet_hours_is_logged_and_counted() {
        // The tests' clock stands at midnight.
        let policy: QuietHoursPrice =
            configured(r#"{"quietHours":{"fromHour":23,"untilHour":1}}"#).expect("settings");
        let bulk = [template_use("news", None)];
        let decisions = policy.check(&context(), &account("free"), &bulk).expect("decides");
        assert!(matches!(&decisions[..], [Decision::Deny(it)] if it.retry_after_s == Some(3600)));
        assert_eq!(logs(), ["debug: quiet hours wait_s=3600"]);
        assert_eq!(counts(), ["quiet_hours_denials +1"]);
    }

    #[test]
    fn the_schema_has_descriptions_defaults_and_bounds() {
        let schema = QuietHoursPrice::settings_schema();
        for part in [
            r#""description":"Credits for each of the first recipients of a month.""#,
            r#""default":1000"#,
            r#""maximum":23"#,
            r#""additionalProperties":false"#,
        ] {
            assert!(schema.contains(part), "{part}: {schema}");
        }
    }

    #[test]
    fn hours_that_are_equal_are_refused_with_their_path() {
        let refused =
            configured::<QuietHoursPrice>(r#"{"quietHours":{"fromHour":7,"untilHour":7}}"#);
        let faults = refused.err().expect("refused");
        assert_eq!(faults[0].path.as_deref(), Some("quietHours.untilHour"));
    }
}
