//! MTA-STS (RFC 8461): what a domain's record in DNS and its policy say. Parsing only, no I/O;
//! whatever the grammar does not allow is refused.

#[cfg(test)]
mod tests;

use std::fmt;
use std::str;
use std::time::Duration;

/// How a record begins; others at the same name are not about MTA-STS (section 3.1).
const RECORD: &str = "v=STSv1;";
const VERSION: &str = "STSv1";
/// The longest that a policy may ask to be kept (section 3.2), 31,557,600 s. More is cut to it: to keep a policy
/// for a year is safer than to have none.
const MAX_AGE: Duration = Duration::from_hours(8_766);
/// The most digits of `max_age`, and the longest `id`.
const AGE_DIGITS: usize = 10;
const MAX_ID: usize = 32;
/// The longest name of a field.
const MAX_FIELD_NAME: usize = 32;
const MAX_DOMAIN: usize = 253;
const MAX_LABEL: usize = 63;

/// A policy: which mail hosts a domain has, and whether a sender must insist on them and on TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StsPolicy {
    /// How much it asks.
    pub mode: Mode,
    mx: Vec<MxPattern>,
    max_age: Duration,
}

/// How much a policy asks of senders (section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Deliver to no host that is not allowed, or without a valid certificate.
    Enforce,
    /// Deliver as ever, and report.
    Testing,
    /// There is no policy, or no more.
    None,
}

/// A line `mx`.
#[derive(Debug, Clone, PartialEq, Eq)]
enum MxPattern {
    Host(String),
    /// `*.example.com`: exactly one label before this domain.
    Wildcard(String),
}

/// Why a text is no policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPolicy {
    /// Not UTF-8.
    #[error("the policy is not UTF-8")]
    NotText,
    /// A line that is no field; the first is 1.
    #[error("line {0} of the policy is not `name: value`")]
    Line(usize),
    /// A field that must be there.
    #[error("the policy has no field `{0}`")]
    Missing(&'static str),
    /// A field with a value that it cannot have.
    #[error("the field `{0}` of the policy has no valid value")]
    Value(&'static str),
}

impl StsPolicy {
    /// Reads the resource that a policy host serves. The order of the fields is free, and of all but
    /// `mx` the first counts (section 3.2); empty lines are passed over.
    ///
    /// # Errors
    /// It is not a policy by the grammar.
    pub fn parse(resource: &[u8]) -> Result<Self, InvalidPolicy> {
        let text = str::from_utf8(resource).map_err(|_| InvalidPolicy::NotText)?;
        let (mut version, mut mode, mut max_age) = (None, None, None);
        let mut mx = Vec::new();
        for (line, number) in text.split_inclusive('\n').zip(1..) {
            let line =
                line.strip_suffix('\n').map_or(line, |it| it.strip_suffix('\r').unwrap_or(it));
            let line = line.trim_end_matches(is_space);
            if line.is_empty() {
                continue;
            }
            let (name, value) = field(line).ok_or(InvalidPolicy::Line(number))?;
            match name {
                "version" => version = version.or(Some(value)),
                "mode" => mode = mode.or(Some(value)),
                "max_age" => max_age = max_age.or(Some(value)),
                "mx" => mx.push(MxPattern::parse(value).ok_or(InvalidPolicy::Value("mx"))?),
                _ => {}
            }
        }
        if version.ok_or(InvalidPolicy::Missing("version"))? != VERSION {
            return Err(InvalidPolicy::Value("version"));
        }
        let mode = mode.ok_or(InvalidPolicy::Missing("mode"))?;
        let mode = Mode::parse(mode).ok_or(InvalidPolicy::Value("mode"))?;
        let max_age = max_age.ok_or(InvalidPolicy::Missing("max_age"))?;
        let max_age = age(max_age).ok_or(InvalidPolicy::Value("max_age"))?;
        if mx.is_empty() && mode != Mode::None {
            return Err(InvalidPolicy::Missing("mx"));
        }
        Ok(Self { mode, mx, max_age })
    }

    /// How long it holds from when it was fetched; at most a year.
    #[must_use]
    pub const fn max_age(&self) -> Duration {
        self.max_age
    }

    /// Whether mail may only go to hosts that it allows, over TLS and with a valid certificate.
    #[must_use]
    pub fn is_enforced(&self) -> bool {
        self.mode == Mode::Enforce
    }

    /// Whether a mail host is one of the domain's (section 4.1), by its name in the MX record.
    #[must_use]
    pub fn allows(&self, host: &str) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        self.mx.iter().any(|it| it.fits(&host))
    }
}

/// The policy as a resource: what [`StsPolicy::parse`] reads as the same policy.
impl fmt::Display for StsPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "version: {VERSION}\nmode: {}\n", self.mode.as_str())?;
        for pattern in &self.mx {
            match pattern {
                MxPattern::Host(host) => writeln!(f, "mx: {host}")?,
                MxPattern::Wildcard(domain) => writeln!(f, "mx: *.{domain}")?,
            }
        }
        writeln!(f, "max_age: {}", self.max_age.as_secs())
    }
}

impl Mode {
    fn parse(word: &str) -> Option<Self> {
        [Self::Enforce, Self::Testing, Self::None].into_iter().find(|it| it.as_str() == word)
    }

    const fn as_str(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Testing => "testing",
            Self::None => "none",
        }
    }
}

impl MxPattern {
    fn parse(value: &str) -> Option<Self> {
        let (domain, is_wildcard) =
            value.strip_prefix("*.").map_or((value, false), |domain| (domain, true));
        if !is_domain(domain) {
            return None;
        }
        let domain = domain.to_ascii_lowercase();
        Some(if is_wildcard { Self::Wildcard(domain) } else { Self::Host(domain) })
    }

    fn fits(&self, host: &str) -> bool {
        match self {
            Self::Host(name) => host == name,
            Self::Wildcard(domain) => host
                .split_once('.')
                .is_some_and(|(label, rest)| !label.is_empty() && rest == domain),
        }
    }
}

/// The `id` of the policy that a domain's records announce: those at `_mta-sts` and the domain, each
/// with its strings joined. Nothing unless exactly one of them is about MTA-STS, and that one by the
/// grammar (section 3.1).
#[must_use]
pub fn record_id<T: AsRef<[u8]>>(records: &[T]) -> Option<String> {
    let mut records = records.iter().filter_map(|it| it.as_ref().strip_prefix(RECORD.as_bytes()));
    let record = records.next().filter(|_| records.next().is_none())?;
    let record = str::from_utf8(record).ok()?.trim_matches(is_space);
    let mut id = None;
    for part in record.strip_suffix(';').unwrap_or(record).split(';') {
        let (name, value) = part.trim_matches(is_space).split_once('=')?;
        if !is_field_name(name) || !is_record_value(value) {
            return None;
        }
        if name == "id" && id.is_none() {
            id = Some(value);
        }
    }
    let is_id = |id: &&str| {
        (1..=MAX_ID).contains(&id.len()) && id.bytes().all(|it| it.is_ascii_alphanumeric())
    };
    id.filter(is_id).map(str::to_owned)
}

/// A line of a policy: its name, and its value without the white space before it.
fn field(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':')?;
    let value = value.trim_start_matches(is_space);
    (is_field_name(name) && !value.is_empty() && !value.contains(char::is_control))
        .then_some((name, value))
}

fn is_field_name(name: &str) -> bool {
    name.len() <= MAX_FIELD_NAME
        && name.starts_with(|it: char| it.is_ascii_alphanumeric())
        && name.bytes().all(|it| it.is_ascii_alphanumeric() || b"_-.".contains(&it))
}

fn is_record_value(value: &str) -> bool {
    !value.is_empty() && value.bytes().all(|it| it.is_ascii_graphic() && !b"=;".contains(&it))
}

fn age(digits: &str) -> Option<Duration> {
    let is_number = digits.len() <= AGE_DIGITS && digits.bytes().all(|it| it.is_ascii_digit());
    let seconds = digits.parse().ok().filter(|_| is_number)?;
    Some(Duration::from_secs(seconds).min(MAX_AGE))
}

/// A domain of RFC 5321 section 4.1.2, in A-labels.
fn is_domain(text: &str) -> bool {
    let is_label = |label: &str| {
        (1..=MAX_LABEL).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'-')
    };
    text.len() <= MAX_DOMAIN && text.split('.').all(is_label)
}

const fn is_space(it: char) -> bool {
    matches!(it, ' ' | '\t')
}
