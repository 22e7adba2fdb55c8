//! A plugin under `cargo test`: the same implementation as in the component, run natively.
//!
//! - [`configured`] makes the plugin from JSON settings, as the host does.
//! - [`account`], [`template_use`], [`domain`], [`answered`], [`template`] are plausible inputs. Every
//!   value can be changed with struct update: `Account { paid: true, ..account("pro") }`. The
//!   plugin's own self-test may use them too.
//! - [`logs`] and [`counts`] are what the plugin logged and counted.
//! - [`cases`] runs the golden cases of `waxwing plugin test`:
//!
//! ```no_run
//! # use waxwing_plugin::{Diagnostic, NoSettings, Plugin, plan_policy::PlanPolicy};
//! # struct MyPolicy;
//! # impl Plugin for MyPolicy {
//! #     type Settings = NoSettings;
//! #     fn configure(_: NoSettings) -> Result<Self, Vec<Diagnostic>> { Ok(Self) }
//! # }
//! # impl PlanPolicy for MyPolicy {}
//! # waxwing_plugin::export_plan_policy!(MyPolicy);
//! # fn main() {
//! // In a #[test]:
//! waxwing_plugin::testing::cases::<MyPolicy>("cases");
//! # }
//! ```

#[cfg(not(target_family = "wasm"))]
#[doc(hidden)]
pub mod answers;
#[cfg(not(target_family = "wasm"))]
pub(crate) mod captured;
#[cfg(not(target_family = "wasm"))]
mod golden;

use crate::domain_policy::{Answer, DkimKey, Domain, Observation, Outcome};
use crate::plan_policy::{Account, Channel, UseRequest};
use crate::renderer::{Part, Source, Template};
use crate::{CallContext, Diagnostic, Plugin, settings};

#[cfg(not(target_family = "wasm"))]
pub use captured::{counts, logs};
#[cfg(not(target_family = "wasm"))]
pub use golden::{Golden, cases};

/// The plugin made from JSON settings, through the same steps as in a component.
///
/// # Errors
/// The text is not JSON of the settings' shape, or the plugin refuses it.
pub fn configured<P: Plugin>(settings: &str) -> Result<P, Vec<Diagnostic>> {
    P::configure(settings::parse(settings)?)
}

/// A dry run at a fixed time: 2026-01-01T00:00:00Z.
#[must_use]
pub fn context() -> CallContext {
    CallContext {
        call_id: "test".to_owned(),
        now_unix_ms: 1_767_225_600_000,
        locale: None,
        dry_run: true,
        extra: Vec::new(),
    }
}

/// An unpaid account that has sent nothing and has 1000 credits.
#[must_use]
pub fn account(plan: &str) -> Account {
    Account {
        id: "acc_test".to_owned(),
        plan: plan.to_owned(),
        paid: false,
        credits_remaining: 1000,
        created_unix_ms: 0,
        sent_last_day: 0,
        sent_last_month: 0,
        extra: Vec::new(),
    }
}

/// A send of one template to one recipient over the API.
#[must_use]
pub fn template_use(slug: &str, required_plan: Option<&str>) -> UseRequest {
    UseRequest {
        channel: Channel::Api,
        template_slug: Some(slug.to_owned()),
        template_required_plan: required_plan.map(str::to_owned),
        template_tags: Vec::new(),
        recipient_domain: "recipient.example".to_owned(),
        recipients: 1,
        size_bytes: 1024,
    }
}

/// A template of these parts, without layout and partials.
#[must_use]
pub fn template(parts: &[(Part, &str)]) -> Template {
    let source = |(part, text): &(Part, &str)| Source { part: *part, text: (*text).to_owned() };
    Template {
        slug: "test".to_owned(),
        revision: 1,
        sources: parts.iter().map(source).collect(),
        partials: Vec::new(),
        layout: None,
    }
}

/// A domain with one RSA key, an SPF include, and the server's own return-path host.
#[must_use]
pub fn domain(name: &str) -> Domain {
    Domain {
        name: name.to_owned(),
        organizational_domain: name.to_owned(),
        verification_token: "tok3n".to_owned(),
        dkim: vec![DkimKey {
            selector: "wx1".to_owned(),
            public_key_base64: "MIIBIjANBgkqhkiG9w0BAQEFAAOC".to_owned(),
            algorithm: "rsa".to_owned(),
        }],
        spf_include: "spf.waxwing.example".to_owned(),
        return_path_host: "rp.waxwing.example".to_owned(),
        plan: "free".to_owned(),
        extra: Vec::new(),
    }
}

/// What one resolver answered to one lookup; several values are several records.
#[must_use]
pub fn answered(lookup_id: &str, values: &[&str]) -> Observation {
    let answers = values.iter().map(|it| Answer { data: (*it).to_owned(), ttl: 300 }).collect();
    observed(lookup_id, Outcome::Answers(answers))
}

/// Any other outcome of one lookup.
#[must_use]
pub fn observed(lookup_id: &str, outcome: Outcome) -> Observation {
    Observation {
        lookup_id: lookup_id.to_owned(),
        resolver: "192.0.2.53".to_owned(),
        outcome,
        cname_chain: Vec::new(),
        dnssec_secure: false,
        at_unix_ms: 1_767_225_600_000,
    }
}
