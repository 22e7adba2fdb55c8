//! Whether the key that is published is the one that signs (RFC 6376 section 3.6.1).

use waxwing_plugin::dns::{Reading, Tags};
use waxwing_plugin::domain_policy::Requirement;

/// Reads the TXT records of a selector: other tags than the key and its kind do not matter.
pub fn read(requirement: &Requirement, records: &[String]) -> Reading {
    let Requirement { name, suggested_value, .. } = requirement;
    match records {
        [record] if key(record).is_some() && key(record) == key(suggested_value) => {
            Reading::satisfied(records, "The record has the right key.")
        }
        _ => Reading::wrong(
            records,
            format!("The TXT record at {name} has not this key. Set it to `{suggested_value}`."),
        ),
    }
}

/// The kind and the key of a record.
fn key(record: &str) -> Option<(String, String)> {
    let tags = Tags::parse(record).ok()?;
    let kind = tags.value("k").unwrap_or("rsa").to_owned();
    let key: String = tags.value("p")?.split_whitespace().collect();
    (!key.is_empty()).then_some((kind, key))
}

#[cfg(test)]
mod tests {
    use waxwing_plugin::domain_policy::{Status, records};
    use waxwing_plugin::testing::domain;

    #[test]
    fn the_key_counts_and_its_white_space_and_other_tags_do_not() {
        let domain = domain("example.com");
        let requirement = records::dkim(&domain, &domain.dkim[0]);
        let status = |it: &str| super::read(&requirement, &[it.to_owned()]).status;
        let right = "v=DKIM1; t=s; p=MIIBIjANBgkqhki G9w0BAQEFAAOC";
        assert_eq!(status(&right.replace("hki G9", "hkiG9")), Status::Satisfied);
        assert_eq!(status("p=MIIBIjANBgkqhki\tG9w0BAQEFAAOC"), Status::Satisfied);
        for wrong in ["v=DKIM1; p=", "v=DKIM1; k=ed25519; p=MIIBIjANBgkqhkiG9w0BAQEFAAOC", "x"] {
            assert_eq!(status(wrong), Status::Wrong, "{wrong}");
        }
    }
}
