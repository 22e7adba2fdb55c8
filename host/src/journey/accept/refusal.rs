//! Every reason a send can be refused. HTTP and SMTP have one mapper each; no reply is decided anywhere else.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::account::brand::BrandField;
use crate::credit::Credits;
use crate::id::DecisionId;
use crate::store::StoreError;
use crate::template::contract::DataFault;

/// Faults that are named one by one.
const MAX_FAULTS: usize = 100;
/// Faults that a log line names.
const MAX_LOGGED_FAULTS: usize = 8;
/// Characters of a fault's place; a client chooses the names in its objects.
const MAX_FIELD_CHARS: usize = 200;
/// Characters of what is said of a fault.
const MAX_MESSAGE_CHARS: usize = 1_000;
/// What a client is told when nobody knows whether its request was carried out.
pub const UNKNOWN: &str = "the database did not answer in time, so nobody knows whether this was done; look before you repeat it, or \
    repeat a send with its idempotency key";

/// When a client may try again in read-only mode: nobody knows how long the operator needs.
const READ_ONLY_RETRY_AFTER_S: u32 = 60;

/// A refusal, and the record of what the plugins decided before it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    pub refusal: Refusal,
    /// The decision record, where a plugin was asked.
    pub decision: Option<DecisionId>,
}

/// Why a message, or a whole request, is refused. A refusal never charges and never stores; only [`UNKNOWN`] says that
/// nobody knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Refusal {
    /// What was sent is wrong: all faults at once.
    BadRequest {
        /// At least one.
        faults: Vec<Fault>,
    },
    /// The key is missing, unknown, expired or switched off; the text does not tell which.
    Unauthorized,
    /// The balance is too low.
    InsufficientBalance {
        /// What the message costs.
        required: Credits,
        balance: Credits,
    },
    /// The sender's domain is not verified.
    DomainNotVerified {
        domain: String,
        /// In percent, below 100.
        progress: u8,
        missing: Vec<String>,
    },
    /// The plan does not allow the template.
    RestrictedTemplate {
        /// The template's slug.
        template: String,
        /// The account's plan.
        plan: String,
        /// The plan that would allow it.
        required_plan: Option<String>,
        /// The policy's words.
        message: String,
    },
    /// The key, the account or the plan policy does not allow it.
    Forbidden {
        message: String,
        /// When it may be allowed.
        retry_after_s: Option<u32>,
    },
    RateLimited {
        /// When the next one is allowed.
        retry_after: Duration,
    },
    /// The key is not valid, and neither were many that came from this address before it.
    TooManyFailedLogins {
        /// When the next failure is answered without this.
        retry_after: Duration,
    },
    /// The idempotency key was used for another request.
    IdempotencyConflict,
    /// Another request with the idempotency key, equal or not, is still running.
    IdempotencyInFlight,
    /// The published template or a setting is wrong: the operator's or the author's fault.
    Internal {
        /// What the client may know.
        message: String,
    },
    /// Not now.
    Unavailable {
        /// What is out of order.
        #[serde(default)]
        outage: Outage,
        /// What the client may know.
        message: String,
        /// When to try again.
        retry_after_s: u32,
    },
}

/// What is out of order when a message cannot be taken now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outage {
    /// A plugin failed, and closed.
    Plugin,
    /// The store cannot be reached or written.
    #[default]
    Store,
    /// Too much at one time.
    Busy,
    /// The server is shutting down.
    Stopping,
    /// An operator has switched the server to read-only mode.
    Maintenance,
}

/// One fault in what a client sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Where, e.g. `to` or `data.user.name`; empty for the body as a whole.
    pub field: String,
    /// What kind, e.g. `missing`, `invalid`, `too_long`.
    pub code: String,
    /// What is wrong and what is wanted.
    pub message: String,
}

impl Outage {
    fn as_str(self) -> &'static str {
        match self {
            Self::Plugin => "plugin",
            Self::Store => "store",
            Self::Busy => "busy",
            Self::Stopping => "stopping",
            Self::Maintenance => "maintenance",
        }
    }
}

impl Refusal {
    /// Faults in what was sent; of very many, the first ones and how many more there are.
    #[must_use]
    pub fn bad_request(mut faults: Vec<Fault>) -> Self {
        let more = faults.len().saturating_sub(MAX_FAULTS);
        if more > 0 {
            faults.truncate(MAX_FAULTS);
            faults.push(Fault::new("", "more", format!("and {more} more faults")));
        }
        Self::BadRequest { faults }
    }

    #[must_use]
    pub fn fault(field: &str, code: &str, message: impl Into<String>) -> Self {
        Self::BadRequest { faults: vec![Fault::new(field, code, message)] }
    }

    /// Not now.
    #[must_use]
    pub fn unavailable(outage: Outage, message: &str) -> Self {
        Self::Unavailable { outage, message: message.to_owned(), retry_after_s: 5 }
    }

    /// An operator has switched the server to read-only mode, for that reason.
    #[must_use]
    pub fn read_only(reason: &str) -> Self {
        Self::Unavailable {
            outage: Outage::Maintenance,
            message: format!("the server takes no messages and no changes for now: {reason}"),
            retry_after_s: READ_ONLY_RETRY_AFTER_S,
        }
    }

    /// The database failed. Its error goes to the log and not to the client.
    #[must_use]
    pub fn store_outage(error: &StoreError) -> Self {
        if error.is_unknown() {
            tracing::error!(%error, "a request got no answer from the database; the client was told to look before it repeats the request");
            return Self::unavailable(Outage::Store, UNKNOWN);
        }
        tracing::error!(%error, "a request was refused because the database failed; nothing was charged, and the client may repeat it");
        Self::unavailable(Outage::Store, "the store cannot be reached")
    }

    /// The code word of the contract.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::BadRequest { .. } => "BAD_REQUEST",
            Self::Unauthorized => "UNAUTHORIZED",
            Self::InsufficientBalance { .. } => "INSUFFICIENT_BALANCE",
            Self::DomainNotVerified { .. } => "DOMAIN_NOT_VERIFIED",
            Self::RestrictedTemplate { .. } => "RESTRICTED_TEMPLATE",
            Self::Forbidden { .. } => "FORBIDDEN",
            Self::RateLimited { .. } | Self::TooManyFailedLogins { .. } => "RATE_LIMITED",
            Self::IdempotencyConflict => "IDEMPOTENCY_CONFLICT",
            Self::IdempotencyInFlight => "CONFLICT",
            Self::Internal { .. } => "INTERNAL",
            Self::Unavailable { .. } => "UNAVAILABLE",
        }
    }

    /// What happened, why, and what to do, in one or two sentences, for HTTP and, where the contract says no other
    /// words, for SMTP.
    #[must_use]
    pub fn message(&self) -> String {
        match self {
            Self::BadRequest { faults } => match faults.as_slice() {
                [one] if one.field.is_empty() => one.message.clone(),
                [one] => format!("{}: {}", one.field, one.message),
                many => {
                    let field = |it: &Fault| match it.field.as_str() {
                        "" => "the body".to_owned(),
                        field => field.to_owned(),
                    };
                    let fields: Vec<String> = many.iter().take(8).map(field).collect();
                    format!("{} faults, in: {}", many.len(), fields.join(", "))
                }
            },
            Self::Unauthorized => "a valid API key is required in the x-api-key header".to_owned(),
            Self::InsufficientBalance { required, balance } => format!(
                "the message costs {} and the balance is {}; nothing was charged or sent",
                credits(*required),
                credits(*balance),
            ),
            Self::DomainNotVerified { domain, progress, missing } if missing.is_empty() => {
                format!("the sender domain {domain} is {progress}% verified")
            }
            Self::DomainNotVerified { domain, progress, missing } => format!(
                "the sender domain {domain} is {progress}% verified; missing: {}",
                missing.join(", ")
            ),
            Self::RestrictedTemplate { message, .. }
            | Self::Forbidden { message, .. }
            | Self::Internal { message }
            | Self::Unavailable { message, .. } => message.clone(),
            Self::RateLimited { retry_after } => {
                format!("too many requests; try again in {} s", whole_seconds(*retry_after))
            }
            Self::TooManyFailedLogins { retry_after } => format!(
                "the API key is not valid, and this IP address has had too many failed logins; \
                 a valid key works at once, this one may be tried again in {} s",
                whole_seconds(*retry_after)
            ),
            Self::IdempotencyConflict => {
                "this idempotency key was used for another request; use a new key".to_owned()
            }
            Self::IdempotencyInFlight => {
                "a request with this idempotency key is under way; try again in 1 s".to_owned()
            }
        }
    }

    /// What a log line may say of it beside the code: names of fields, domains and templates, never an
    /// address, a value or the words of a client or a plugin.
    #[must_use]
    pub fn log_detail(&self) -> Option<String> {
        match self {
            Self::BadRequest { faults } => {
                let shown: Vec<String> =
                    faults.iter().take(MAX_LOGGED_FAULTS).map(Fault::log_detail).collect();
                Some(shown.join(", "))
            }
            Self::InsufficientBalance { required, balance } => {
                Some(format!("need {}, have {}", required.0, balance.0))
            }
            Self::DomainNotVerified { domain, progress, missing } => {
                Some(format!("{domain} {progress}% missing: {}", missing.join(", ")))
            }
            Self::RestrictedTemplate { template, plan, .. } => {
                Some(format!("template {template}, plan {plan}"))
            }
            Self::RateLimited { retry_after } | Self::TooManyFailedLogins { retry_after } => {
                Some(format!("try again in {} s", whole_seconds(*retry_after)))
            }
            Self::Unavailable { outage, .. } => Some(outage.as_str().to_owned()),
            Self::Unauthorized
            | Self::Forbidden { .. }
            | Self::IdempotencyConflict
            | Self::IdempotencyInFlight
            | Self::Internal { .. } => None,
        }
    }

    /// When a client may try again, in whole seconds.
    #[must_use]
    pub fn retry_after_s(&self) -> Option<u64> {
        match self {
            Self::RateLimited { retry_after } | Self::TooManyFailedLogins { retry_after } => {
                Some(whole_seconds(*retry_after))
            }
            Self::IdempotencyInFlight => Some(1),
            Self::Unavailable { retry_after_s, .. } => Some(u64::from(*retry_after_s)),
            Self::Forbidden { retry_after_s, .. } => retry_after_s.map(u64::from),
            Self::BadRequest { .. }
            | Self::Unauthorized
            | Self::InsufficientBalance { .. }
            | Self::DomainNotVerified { .. }
            | Self::RestrictedTemplate { .. }
            | Self::IdempotencyConflict
            | Self::Internal { .. } => None,
        }
    }
}

impl Refused {
    /// For the place of a refused message in a stored answer.
    ///
    /// # Panics
    /// Never: a refusal has string keys only.
    #[must_use]
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("a refusal has string keys only")
    }
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, decision: None }
    }
}

impl Fault {
    /// A variable that the template requires is absent from `data`.
    #[must_use]
    pub fn missing_variable(path: &str) -> Self {
        let message = match BrandField::of_variable(path) {
            None => "the template requires this variable".to_owned(),
            Some(brand) => format!(
                "the template requires this variable; give it in `data`, or set it once for the \
                 account, with PATCH /v1/brand {{\"{}\": …}} or `waxwing account brand acc_… --{} …`",
                brand.member(),
                brand.option(),
            ),
        };
        Self::new(&format!("data.{path}"), "missing", message)
    }

    /// The template printed nothing in the place of a variable, and is strict.
    #[must_use]
    pub fn blank_variable(path: &str) -> Self {
        let message = "this variable would be blank in the message, and the template or the account is `strict`";
        Self::new(&format!("data.{path}"), "missing", message)
    }

    /// A value is not what the template declares.
    #[must_use]
    pub fn undeclared_value(it: &DataFault) -> Self {
        let message = format!("{}, as the template declares", it.wanted);
        Self::new(&format!("data.{}", it.path), it.wanted.code(), message)
    }

    /// The field and the kind of fault. Clients choose the names of their metadata, so a name that could
    /// be more than a name is masked.
    fn log_detail(&self) -> String {
        let is_name = |c: char| c.is_ascii_alphanumeric() || "._-[]".contains(c);
        let field = if self.field.chars().all(is_name) { self.field.as_str() } else { "?" };
        if field.is_empty() { self.code.clone() } else { format!("{field} {}", self.code) }
    }

    #[must_use]
    pub fn new(field: &str, code: &str, message: impl Into<String>) -> Self {
        let field = field.chars().take(MAX_FIELD_CHARS).collect();
        Self { field, code: code.to_owned(), message: cut(message.into()) }
    }
}

/// Words that may repeat what was sent, within a bound: whoever sent it chose how long it is.
#[must_use]
pub fn cut(mut words: String) -> String {
    if words.len() > MAX_MESSAGE_CHARS
        && let Some((end, _)) = words.char_indices().nth(MAX_MESSAGE_CHARS)
    {
        words.truncate(end);
        words.push('…');
    }
    words
}

fn credits(amount: Credits) -> String {
    if amount.0 == 1 { "1 credit".to_owned() } else { format!("{} credits", amount.0) }
}

fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}
