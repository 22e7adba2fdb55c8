//! The usual records of a sender domain. All are required; struct update makes one advice:
//! `Requirement { required: false, ..records::dmarc(&domain, "v=DMARC1; p=none") }`.

use super::{DkimKey, Domain, Purpose, RecordType, Requirement};

/// The proof of ownership, id `ownership`: a TXT record with the domain's token.
#[must_use]
pub fn ownership(domain: &Domain) -> Requirement {
    txt(
        "ownership",
        Purpose::Ownership,
        format!("_waxwing.{}", domain.name),
        format!("waxwing-verification={}", domain.verification_token),
        "Proves that the domain is yours. Leave it there: it is checked again from time to time.",
    )
}

/// One key, id `dkim:<selector>`: receivers check signatures with it.
#[must_use]
pub fn dkim(domain: &Domain, key: &DkimKey) -> Requirement {
    let kind = if key.algorithm.starts_with("ed25519") { "ed25519" } else { "rsa" };
    txt(
        &format!("dkim:{}", key.selector),
        Purpose::Dkim,
        format!("{}._domainkey.{}", key.selector, domain.name),
        format!("v=DKIM1; k={kind}; p={}", key.public_key_base64),
        "Lets receivers check that your mail was not changed and really comes from you. Copy the \
         value as a whole.",
    )
}

/// The servers that may send for the domain, id `spf`; none where the server has no record of its
/// own to include. Judge it by its `include:`: a domain may have its own words around it.
#[must_use]
pub fn spf(domain: &Domain) -> Option<Requirement> {
    let include = &domain.spf_include;
    (!include.is_empty()).then(|| {
        txt(
            "spf",
            Purpose::Spf,
            domain.name.clone(),
            format!("v=spf1 include:{include} ~all"),
            "Says which servers may send mail for your domain. If there is a record that begins \
             with `v=spf1` already, put the `include:` into it; do not add a second one.",
        )
    })
}

/// What receivers shall do with mail that fails the other checks, id `dmarc`.
#[must_use]
pub fn dmarc(domain: &Domain, value: &str) -> Requirement {
    txt(
        "dmarc",
        Purpose::Dmarc,
        format!("_dmarc.{}", domain.name),
        value.to_owned(),
        "Tells receivers what to do with mail that only pretends to come from you.",
    )
}

/// Any required TXT record.
#[must_use]
pub fn txt(
    id: &str,
    purpose: Purpose,
    name: String,
    suggested_value: String,
    help: &str,
) -> Requirement {
    let (id, help) = (id.to_owned(), help.to_owned());
    let (required, record_type) = (true, RecordType::Txt);
    Requirement { id, purpose, required, name, record_type, suggested_value, help }
}
