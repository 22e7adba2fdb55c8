//! Which slots could answer a call.

use std::sync::Arc;

use super::{Kind, Table};
use crate::plugin::config::binding::Scope;
use crate::plugin::config::slot::SlotName;
use crate::plugin::promotion::installed::Installed;

impl Table {
    /// The slots that cover calls of a kind and scope, narrowest first.
    #[must_use]
    pub fn covering(&self, kind: Kind, scope: &Scope<'_>) -> Vec<SlotName> {
        fn of<P>(installed: &[Arc<Installed<P>>], scope: &Scope<'_>) -> Vec<SlotName> {
            let covering = installed.iter().filter(|it| it.config.binding.covers(scope));
            covering.map(|it| it.slot.clone()).collect()
        }
        match kind {
            Kind::Renderer => of(&self.renderers, scope),
            Kind::Domain => of(&self.domains, scope),
            Kind::Plan => of(&self.plans, scope),
            Kind::Mjml => of(&self.mjml_compilers, scope),
        }
    }
}
