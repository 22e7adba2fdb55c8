//! The kinds of plugin, and the names of the settings that limit each.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A kind of plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Turns a template and data into the parts of a message.
    Renderer,
    /// Says which DNS records a domain needs, and judges what was seen.
    Domain,
    /// Says what a plan may send and what it costs.
    Plan,
    /// Turns MJML into HTML when a template is published.
    Mjml,
}

impl Kind {
    pub const ALL: [Self; 4] = [Self::Renderer, Self::Domain, Self::Plan, Self::Mjml];

    /// The interface that a component of the kind exports, without its version.
    #[must_use]
    pub fn interface(self) -> &'static str {
        match self {
            Self::Renderer => "waxwing:plugin/renderer",
            Self::Domain => "waxwing:plugin/domain-policy",
            Self::Plan => "waxwing:plugin/plan-policy",
            Self::Mjml => "waxwing:plugin/mjml-compiler",
        }
    }

    /// As in `kind = "plan"`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Renderer => "renderer",
            Self::Domain => "domain",
            Self::Plan => "plan",
            Self::Mjml => "mjml",
        }
    }

    /// Whose section of `plugins.limits` limits it: what MJML comes from is a template, too.
    #[must_use]
    pub fn limits_section(self) -> &'static str {
        match self {
            Self::Renderer | Self::Mjml => Self::Renderer.as_str(),
            Self::Domain | Self::Plan => self.as_str(),
        }
    }

    /// The settings that limit it: time of a call, time of a preparing call, memory, bytes out.
    pub(in crate::plugin) fn knobs(self) -> Knobs {
        match self {
            // What is compiled is a template, so the limits are those of templates.
            Self::Renderer | Self::Mjml => knobs!("renderer"),
            Self::Domain => knobs!("domain"),
            Self::Plan => knobs!("plan"),
        }
    }
}

/// The names of the settings that limit a kind.
pub(in crate::plugin) struct Knobs {
    /// Running time of a call.
    pub call: &'static str,
    /// Running time of a preparing call.
    pub prepare: &'static str,
    /// Memory of an instance.
    pub memory: &'static str,
    /// Bytes out of a call.
    pub output: &'static str,
}

macro_rules! knobs {
    ($kind:literal) => {
        Knobs {
            call: concat!("plugins.limits.", $kind, ".call_ms"),
            prepare: concat!("plugins.limits.", $kind, ".prepare_ms"),
            memory: concat!("plugins.limits.", $kind, ".memory_bytes"),
            output: concat!("plugins.limits.", $kind, ".output_bytes"),
        }
    };
}
use knobs;

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Renderer => "template renderer",
            Self::Domain => "domain policy",
            Self::Plan => "plan policy",
            Self::Mjml => "MJML compiler",
        })
    }
}
