//! What a plugin costs, for `waxwing plugin bench`: the CPU time that its calls take in the guest,
//! which is what the limits count, and the memory that its instances hold.

use std::time::Duration;

use serde_json::Value;

use super::installed::InstalledPlugin;
use crate::fair_share::ShareOwner;
use crate::plugin::kinds::renderer::VersionKey;
use crate::plugin::records::{Call, Input, answer};
use crate::plugin::runtime::error::CallFailure;
use crate::plugin::runtime::log::CallPurpose;

#[derive(Debug, Clone)]
pub struct Measured {
    /// CPU time in the guest; with a fresh instance for each call, that of the instance too.
    pub cpu: Duration,
    pub answer: Value,
}

impl InstalledPlugin {
    /// Makes an instance, configures it and lets it go: the CPU time in the guest.
    pub async fn measure_instance(&self) -> Result<Duration, CallFailure> {
        let before = self.all_cpu();
        match self {
            Self::Renderer(it) => {
                drop(it.plugin.generation().instance(CallPurpose::Rehearsal).await?);
            }
            Self::Domain(it) => {
                drop(it.plugin.generation().instance(CallPurpose::Rehearsal).await?);
            }
            Self::Plan(it) => drop(it.plugin.generation().instance(CallPurpose::Rehearsal).await?),
            Self::Mjml(it) => drop(it.plugin.generation().instance(CallPurpose::Rehearsal).await?),
        }
        Ok(self.all_cpu().saturating_sub(before))
    }

    /// Makes a call and measures it. A renderer keeps the compiled template under `kept`, as it
    /// does for one that is published; without, it compiles it for this call.
    pub async fn measure(
        &self,
        call: &Call,
        kept: Option<VersionKey>,
    ) -> Result<Measured, CallFailure> {
        let before = self.all_cpu();
        let answer = match (self, &call.input) {
            (Self::Renderer(it), Input::Render { template, data }) => {
                let template = || template.clone();
                let owner = ShareOwner::Operator;
                answer::output(&it.plugin.render(owner, kept, template, &call.context, data).await?)
            }
            (Self::Renderer(_) | Self::Domain(_) | Self::Plan(_) | Self::Mjml(_), _) => {
                match self.dry_run(call).await {
                    (answer, None) => answer,
                    (_, Some(failure)) => return Err(failure),
                }
            }
        };
        Ok(Measured { cpu: self.all_cpu().saturating_sub(before), answer })
    }

    fn all_cpu(&self) -> Duration {
        self.cpu(CallPurpose::Service) + self.cpu(CallPurpose::Rehearsal)
    }

    /// The most memory that one of its instances has held, in bytes.
    #[must_use]
    pub fn peak_memory(&self) -> usize {
        match self {
            Self::Renderer(it) => it.plugin.generation().peak().bytes(),
            Self::Domain(it) => it.plugin.generation().peak().bytes(),
            Self::Plan(it) => it.plugin.generation().peak().bytes(),
            Self::Mjml(it) => it.plugin.generation().peak().bytes(),
        }
    }
}
