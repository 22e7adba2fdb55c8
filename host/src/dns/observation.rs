//! What was seen: plain values, as the domain policy gets them.

use hickory_resolver::proto::rr::RecordType as Wire;

use crate::clock::Timestamp;

/// The record types that can be queried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RecordType {
    A,
    Aaaa,
    Caa,
    /// Alias; the alias itself is the answer.
    Cname,
    Mx,
    Ns,
    /// Name of an address.
    Ptr,
    Srv,
    /// Certificate of a service.
    Tlsa,
    Txt,
}

/// One lookup and what came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// `ip:port` of the server that answered; where none did, all that were asked, by commas.
    pub resolver: String,
    /// What was seen.
    pub outcome: Outcome,
    /// The targets of the CNAMEs on the way, in their order: lower case, without last dots.
    pub cname_chain: Vec<String>,
    /// Whether the server vouches for the whole answer by DNSSEC (the AD bit). It is worth as much
    /// as the way to that server.
    pub dnssec_secure: bool,
    /// When the outcome was known.
    pub at: Timestamp,
}

/// What a lookup found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Records of the type: sorted by data, at most 64 and 64 KiB of data; the rest is left out.
    Answers(Vec<Answer>),
    /// The name exists and has no record of the type.
    NoData,
    /// The name does not exist.
    NxDomain,
    /// Unknown: the servers could not resolve it, or their answer is malformed.
    ServFail,
    /// Unknown: the servers would not say.
    Refused,
    /// Unknown: no server answered in time.
    TimedOut,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Answer {
    /// Presentation form (RFC 1035 section 5.1): a TXT record as `"one string" "another"`, names in
    /// lower case without their last dot. [`super::text`] gives a TXT record's bytes back.
    pub data: String,
    /// Seconds that it may be cached.
    pub ttl: u32,
}

impl RecordType {
    pub const ALL: [Self; 10] = [
        Self::A,
        Self::Aaaa,
        Self::Caa,
        Self::Cname,
        Self::Mx,
        Self::Ns,
        Self::Ptr,
        Self::Srv,
        Self::Tlsa,
        Self::Txt,
    ];

    /// As zone files write it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::Aaaa => "AAAA",
            Self::Caa => "CAA",
            Self::Cname => "CNAME",
            Self::Mx => "MX",
            Self::Ns => "NS",
            Self::Ptr => "PTR",
            Self::Srv => "SRV",
            Self::Tlsa => "TLSA",
            Self::Txt => "TXT",
        }
    }

    /// The type of a word, in any case.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str().eq_ignore_ascii_case(word))
    }

    pub(super) const fn wire(self) -> Wire {
        match self {
            Self::A => Wire::A,
            Self::Aaaa => Wire::AAAA,
            Self::Caa => Wire::CAA,
            Self::Cname => Wire::CNAME,
            Self::Mx => Wire::MX,
            Self::Ns => Wire::NS,
            Self::Ptr => Wire::PTR,
            Self::Srv => Wire::SRV,
            Self::Tlsa => Wire::TLSA,
            Self::Txt => Wire::TXT,
        }
    }
}

impl Outcome {
    /// The records, if there are any.
    #[must_use]
    pub fn answers(&self) -> &[Answer] {
        match self {
            Self::Answers(answers) => answers,
            Self::NoData | Self::NxDomain | Self::ServFail | Self::Refused | Self::TimedOut => &[],
        }
    }

    /// Whether nothing is known of the name: never to be taken for "missing".
    #[must_use]
    pub const fn is_failure(&self) -> bool {
        match self {
            Self::ServFail | Self::Refused | Self::TimedOut => true,
            Self::Answers(_) | Self::NoData | Self::NxDomain => false,
        }
    }
}
