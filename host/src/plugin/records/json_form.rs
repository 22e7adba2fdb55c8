//! The interface's types in their JSON form, field by field: one that is forgotten does not compile.

mod conversion;
mod pairs;
mod template;

use serde::{Deserialize, Serialize};

use crate::plugin::kinds::plan;
use crate::plugin::runtime::bindings::domain::exports::waxwing::plugin::domain_policy as domain;
use crate::plugin::runtime::bindings::types::{
    Diagnostic as WitDiagnostic, Severity as WitSeverity,
};

pub use conversion::JsonForm;
pub use pairs::Pairs;
pub use template::Template;

/// Serde reads a record from a list too, member by member in their order: too lax for what people
/// write. The derived functions are the type's own, and these are the traits.
macro_rules! only_from_objects {
    ($name:ident) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                Self::serialize(self, to)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct Object;

                impl<'de> serde::de::Visitor<'de> for Object {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("an object")
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(
                        self,
                        map: A,
                    ) -> Result<$name, A::Error> {
                        $name::deserialize(serde::de::value::MapAccessDeserializer::new(map))
                    }
                }

                from.deserialize_map(Object)
            }
        }
    };
}
pub(super) use only_from_objects;

macro_rules! records {
    ($($(#[$meta:meta])* $name:ident = $of:ty { $($field:ident: $json_form:ty),* $(,)? })*) => {$(
        #[derive(Debug, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase", deny_unknown_fields, remote = "Self")]
        $(#[$meta])*
        pub struct $name {
            $(pub $field: $json_form,)*
        }

        only_from_objects!($name);

        impl JsonForm for $name {
            type Of = $of;

            fn of(it: $of) -> Self {
                Self { $($field: JsonForm::of(it.$field),)* }
            }

            fn back(self) -> $of {
                type Of = $of;
                Of { $($field: self.$field.back(),)* }
            }
        }
    )*};
}

macro_rules! words {
    ($($(#[$meta:meta])* $name:ident = $of:ty { $($(#[$from_name:meta])* $word:ident),* })*) => {$(
        #[derive(Debug, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase", expecting = "a word")]
        $(#[$meta])*
        pub enum $name {
            $($(#[$from_name])* $word,)*
        }

        impl JsonForm for $name {
            type Of = $of;

            fn of(it: $of) -> Self {
                type Of = $of;
                match it {
                    $(Of::$word => Self::$word,)*
                }
            }

            fn back(self) -> $of {
                type Of = $of;
                match self {
                    $(Self::$word => Of::$word,)*
                }
            }
        }
    )*};
}

records! {
    #[derive(Default)]
    #[serde(default)]
    Account = plan::Account {
        id: String,
        plan: String,
        paid: bool,
        credits_remaining: i64,
        created_unix_ms: u64,
        sent_last_day: u64,
        sent_last_month: u64,
        extra: Pairs,
    }
    #[derive(Default)]
    #[serde(default)]
    UseRequest = plan::UseRequest {
        channel: Channel,
        template_slug: Option<String>,
        template_required_plan: Option<String>,
        template_tags: Vec<String>,
        recipient_domain: String,
        recipients: u32,
        size_bytes: u64,
    }
    Charge = plan::Charge { credits: u32, reason: Option<String> }
    Denial = plan::Denial {
        code: String,
        message: String,
        required_plan: Option<String>,
        retry_after_s: Option<u32>,
    }
    #[derive(Default)]
    #[serde(default)]
    DkimKey = domain::DkimKey { selector: String, public_key_base64: String, algorithm: String }
    #[derive(Default)]
    #[serde(default)]
    SenderDomain = domain::Domain {
        name: String,
        organizational_domain: String,
        verification_token: String,
        dkim: Vec<DkimKey>,
        spf_include: String,
        return_path_host: String,
        plan: String,
        extra: Pairs,
    }
    #[derive(Default)]
    #[serde(default)]
    Answer = domain::Answer { data: String, ttl: u32 }
    #[derive(Default)]
    #[serde(default)]
    Observation = domain::Observation {
        lookup_id: String,
        resolver: String,
        outcome: Outcome,
        cname_chain: Vec<String>,
        dnssec_secure: bool,
        at_unix_ms: u64,
    }
    Requirement = domain::Requirement {
        id: String,
        purpose: Purpose,
        required: bool,
        name: String,
        record_type: RecordType,
        suggested_value: String,
        help: String,
    }
    Lookup = domain::Lookup { id: String, name: String, record_type: RecordType }
    Finding = domain::Finding {
        requirement_id: String,
        status: Status,
        found: Vec<String>,
        hint: String,
    }
    Judgement = domain::Judgement { findings: Vec<Finding>, recheck_after_s: Option<u32> }
    Diagnostic = WitDiagnostic {
        severity: Severity,
        code: String,
        message: String,
        line: u32,
        column: u32,
        snippet: Option<String>,
        path: Option<String>,
        part: Option<String>,
    }
}

words! {
    #[derive(Default)]
    Channel = plan::Channel { #[default] Api, Smtp, Dashboard }
    RecordType = domain::RecordType { A, Aaaa, Caa, Cname, Mx, Ns, Ptr, Srv, Tlsa, Txt }
    Purpose = domain::Purpose {
        Ownership, Spf, Dkim, Dmarc, ReturnPath, Mx, Tracking, Bimi, Tls, Other
    }
    Status = domain::Status { Satisfied, Missing, Wrong, Propagating, Unknown }
    Severity = WitSeverity { Info, Warning, Error }
}

/// The answer of a resolver. Default: there is no such record.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", expecting = "a word, or an object with `answers`")]
pub enum Outcome {
    Answers(Vec<Answer>),
    #[default]
    NoData,
    NxDomain,
    ServFail,
    Refused,
    TimedOut,
}

impl JsonForm for Outcome {
    type Of = domain::Outcome;

    fn of(it: domain::Outcome) -> Self {
        match it {
            domain::Outcome::Answers(answers) => Self::Answers(JsonForm::of(answers)),
            domain::Outcome::NoData => Self::NoData,
            domain::Outcome::NxDomain => Self::NxDomain,
            domain::Outcome::ServFail => Self::ServFail,
            domain::Outcome::Refused => Self::Refused,
            domain::Outcome::TimedOut => Self::TimedOut,
        }
    }

    fn back(self) -> domain::Outcome {
        match self {
            Self::Answers(answers) => domain::Outcome::Answers(answers.back()),
            Self::NoData => domain::Outcome::NoData,
            Self::NxDomain => domain::Outcome::NxDomain,
            Self::ServFail => domain::Outcome::ServFail,
            Self::Refused => domain::Outcome::Refused,
            Self::TimedOut => domain::Outcome::TimedOut,
        }
    }
}
