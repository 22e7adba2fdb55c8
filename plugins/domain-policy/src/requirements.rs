//! The records that a domain must or should publish, each with the rule that judges it.
//!
//! All suggested values can be published side by side: no name has both a CNAME and a TXT record.

use waxwing_plugin::Failure;
use waxwing_plugin::dns::{bare, is_within};
use waxwing_plugin::domain_policy::{DkimKey, Domain, Purpose, RecordType, Requirement};

use crate::settings::{ReturnPathWeight, Settings, Weight};
use crate::{dkim, dmarc, ownership, spf};

/// One record, and how to judge it.
pub struct Need {
    pub requirement: Requirement,
    pub rule: Rule,
}

/// What makes a record right.
pub enum Rule {
    Ownership {
        token: String,
    },
    Dkim(DkimKey),
    Spf {
        include: String,
    },
    ReturnPath {
        target: String,
    },
    /// A subdomain inherits from `organizational`.
    Dmarc {
        organizational: Option<String>,
    },
}

/// Everything that `domain` needs, in the order in which an account holder sees it.
///
/// # Errors
/// The host gave no token: an empty one would be proven by anybody. Or it gave a selector twice.
pub fn needs(settings: &Settings, domain: &Domain) -> Result<Vec<Need>, Failure> {
    if extra(domain, "sandbox") == Some("true") {
        return Ok(Vec::new());
    }
    if domain.verification_token.trim().is_empty() {
        return Err(Failure::Internal(format!("{} has no verification token", domain.name)));
    }
    let return_path = ReturnPath::of(settings, domain);
    let mut needs = vec![ownership(domain)];
    needs.extend(domain.dkim.iter().map(|key| dkim(domain, key)));
    needs.extend(return_path_need(settings, domain, &return_path));
    needs.extend(spf(settings, domain, &return_path));
    needs.push(dmarc(settings, domain));
    match repeated(&needs) {
        None => Ok(needs),
        Some(id) => Err(Failure::Internal(format!("{} has two requirements {id}", domain.name))),
    }
}

/// Two keys with one selector: a finding could not say which of them it means.
fn repeated(needs: &[Need]) -> Option<&str> {
    let mut ids: Vec<&str> = needs.iter().map(|it| it.requirement.id.as_str()).collect();
    ids.sort_unstable();
    ids.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}

fn ownership(domain: &Domain) -> Need {
    let name = format!("_waxwing.{}", domain.name);
    let help = format!(
        "Proves that the domain is yours. Add a TXT record {} and leave it there: it is checked \
         again from time to time.",
        entered(&name, domain)
    );
    let token = domain.verification_token.clone();
    let value = format!("{}={token}", ownership::TAG);
    Need {
        requirement: txt("ownership", Purpose::Ownership, Weight::Required, name, value, help),
        rule: Rule::Ownership { token },
    }
}

fn dkim(domain: &Domain, key: &DkimKey) -> Need {
    let name = format!("{}._domainkey.{}", key.selector, domain.name);
    let help = format!(
        "Lets receivers check that your mail was not changed and really comes from you. Add a TXT \
         record {} and copy the value as a whole, without quotation marks; it may be long, and some \
         providers split it by themselves.",
        entered(&name, domain)
    );
    let id = format!("dkim:{}", key.selector);
    Need {
        requirement: txt(&id, Purpose::Dkim, Weight::Required, name, dkim::value(key), help),
        rule: Rule::Dkim(key.clone()),
    }
}

/// None where the server has no SPF record of its own to include.
fn spf(settings: &Settings, domain: &Domain, return_path: &ReturnPath) -> Option<Need> {
    let include = bare(&domain.spf_include).to_ascii_lowercase();
    if include.is_empty() {
        return None;
    }
    let name = match return_path {
        ReturnPath::Host(host) => host.clone(),
        ReturnPath::None | ReturnPath::Alias { .. } => domain.name.clone(),
    };
    let mut help = "Says which servers may send mail for your domain.".to_owned();
    if let ReturnPath::Alias { name, .. } = return_path {
        let or = match settings.spf {
            Weight::Advised => "so this record is advised only, for filters that look here too",
            Weight::Required => "so either that record or this one must be in place",
        };
        let through = format!(
            " Your mail leaves with an envelope sender at {name}, and receivers look there, where \
             the return-path record brings SPF along; {or}."
        );
        help.push_str(&through);
    }
    let how = format!(
        " Add a TXT record {}. If there is one that begins with `v=spf1` already, do not add \
         another: put `include:{include}` into it, before its last word.",
        entered(&name, domain)
    );
    help.push_str(&how);
    let value = spf::value(&include);
    Some(Need {
        requirement: txt("spf", Purpose::Spf, settings.spf, name, value, help),
        rule: Rule::Spf { include },
    })
}

fn return_path_need(settings: &Settings, domain: &Domain, path: &ReturnPath) -> Option<Need> {
    let ReturnPath::Alias { name, target } = path else { return None };
    let weight = match settings.return_path {
        ReturnPathWeight::Required => Weight::Required,
        ReturnPathWeight::Advised | ReturnPathWeight::Off => Weight::Advised,
    };
    let help = format!(
        "Brings back the mail that could not be delivered, and carries SPF: it is the envelope \
         sender of your mail. Add a CNAME record {}. If your provider offers to proxy or flatten it, \
         turn that off.",
        entered(name, domain)
    );
    Some(Need {
        requirement: Requirement {
            record_type: RecordType::Cname,
            ..txt("return-path", Purpose::ReturnPath, weight, name.clone(), target.clone(), help)
        },
        rule: Rule::ReturnPath { target: target.clone() },
    })
}

fn dmarc(settings: &Settings, domain: &Domain) -> Need {
    let name = format!("_dmarc.{}", domain.name);
    let help = format!(
        "Tells receivers what to do with mail that only pretends to come from you; large mailbox \
         providers want it. Add a TXT record {}. `p=none` changes nothing for your mail, and you \
         can make it stricter later.",
        entered(&name, domain)
    );
    let above = bare(&domain.organizational_domain).to_ascii_lowercase();
    let inherits = !above.is_empty() && above != domain.name && is_within(&domain.name, &above);
    let value = dmarc::SUGGESTED.to_owned();
    Need {
        requirement: txt("dmarc", Purpose::Dmarc, settings.dmarc, name, value, help),
        rule: Rule::Dmarc { organizational: inherits.then_some(above) },
    }
}

/// How the domain's bounces come back.
enum ReturnPath {
    None,
    /// `name`, inside the domain, is to be a CNAME to the server's `target`.
    Alias {
        name: String,
        target: String,
    },
    /// A host inside the domain that has no target to point to: it carries SPF by itself.
    Host(String),
}

impl ReturnPath {
    /// The host gives its own host, or one inside the domain with `return-path-target` in `extra`.
    fn of(settings: &Settings, domain: &Domain) -> Self {
        let host = bare(&domain.return_path_host).to_ascii_lowercase();
        if host.is_empty() || settings.return_path == ReturnPathWeight::Off {
            return Self::None;
        }
        if !is_within(&host, &domain.name) {
            let name =
                format!("{}.{}", settings.return_path_label.to_ascii_lowercase(), domain.name);
            return Self::Alias { name, target: host };
        }
        let target = extra(domain, "return-path-target")
            .or(settings.return_path_target.as_deref())
            .map(|it| bare(it).to_ascii_lowercase())
            .filter(|it| !it.is_empty());
        match target {
            // A CNAME at the domain's own name would hide all its other records.
            Some(target) if host != domain.name => Self::Alias { name: host, target },
            _ => Self::Host(host),
        }
    }
}

fn txt(
    id: &str,
    purpose: Purpose,
    weight: Weight,
    name: String,
    suggested_value: String,
    help: String,
) -> Requirement {
    let (required, record_type) = (weight == Weight::Required, RecordType::Txt);
    Requirement { id: id.to_owned(), purpose, required, name, record_type, suggested_value, help }
}

/// What to type as the name: most providers append the zone, which is the organizational domain.
fn entered(name: &str, domain: &Domain) -> String {
    let above = bare(&domain.organizational_domain);
    let zone = if is_within(&domain.name, above) { above } else { &domain.name };
    let relative = name.strip_suffix(zone).map_or(name, |it| it.trim_end_matches('.'));
    if relative.is_empty() {
        "at the domain itself (most DNS providers want `@` as its name)".to_owned()
    } else {
        format!("named {name} (most DNS providers want only `{relative}` and append {zone})")
    }
}

fn extra<'a>(domain: &'a Domain, key: &str) -> Option<&'a str> {
    domain.extra.iter().find(|it| it.key == key).map(|it| it.value.as_str())
}

#[cfg(test)]
mod tests;
