//! What the plugins have decided of one message, as it is recorded.

use std::sync::Arc;

use crate::plugin::decision::Decision;
use crate::plugin::sample::Sample;
use crate::store::records::PluginDecision;

/// Decisions in their order, with the calls that are in the sample.
#[derive(Debug, Default)]
pub struct Decisions {
    recorded: Vec<PluginDecision>,
    /// Each with the kind of its plugin.
    samples: Vec<(&'static str, Arc<Sample>)>,
}

impl Decisions {
    /// Adds what a plugin has decided now.
    pub fn push(&mut self, decision: Decision) {
        let kind = decision.kind.as_str();
        self.samples.extend(decision.sample.map(|sample| (kind, sample)));
        self.recorded.push(PluginDecision {
            kind,
            identity: decision.identity.record(),
            verdict: decision.verdict.into(),
            reason: decision.reason,
            micros: decision.micros,
            blank: decision.blank,
            locale: decision.locale,
        });
    }

    /// Adds what was decided before there was a message.
    pub fn push_earlier(&mut self, decision: PluginDecision) {
        self.recorded.push(decision);
    }

    /// Adds later ones.
    pub fn append(&mut self, later: Self) {
        self.recorded.extend(later.recorded);
        self.samples.extend(later.samples);
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.recorded.is_empty()
    }

    #[must_use]
    pub fn recorded(&self) -> &[PluginDecision] {
        &self.recorded
    }

    /// The recorded calls.
    #[must_use]
    pub fn samples(&self) -> impl DoubleEndedIterator<Item = (&'static str, &Sample)> {
        self.samples.iter().map(|(kind, sample)| (*kind, &**sample))
    }

    /// As the store takes them.
    #[must_use]
    pub fn into_recorded(self) -> Arc<[PluginDecision]> {
        self.recorded.into()
    }
}

impl FromIterator<Decision> for Decisions {
    fn from_iter<I: IntoIterator<Item = Decision>>(decisions: I) -> Self {
        let mut all = Self::default();
        decisions.into_iter().for_each(|decision| all.push(decision));
        all
    }
}
