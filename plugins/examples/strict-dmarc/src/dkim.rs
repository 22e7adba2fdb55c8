//! Whether the key that is published is the one that signs (RFC 6376 section 3.6.1).

use waxwing_plugin::dns::{Reading, Tags, slip};
use waxwing_plugin::domain_policy::Requirement;

/// Reads the TXT records of a selector: other tags than the key and its kind do not matter.
pub fn read(requirement: &Requirement, records: &[String]) -> Reading {
    let Requirement { name, suggested_value, .. } = requirement;
    let right = |record: &str| key(record).is_some() && key(record) == key(suggested_value);
    match records {
        [record] if right(record) => Reading::satisfied(records, "The record has the right key."),
        _ => {
            let slip = records.iter().find_map(|it| slip(it, right));
            let why = slip.map_or("has not this key", |it| it.sentence());
            let hint = format!("The TXT record at {name} {why}. Set it to `{suggested_value}`.");
            Reading::wrong(records, hint)
        }
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
        let quoted = format!("\"{}\"", requirement.suggested_value);
        let reading = super::read(&requirement, &[quoted]);
        assert!(reading.hint.contains("quotation marks"), "{}", reading.hint);
        for wrong in ["v=DKIM1; p=", "v=DKIM1; k=ed25519; p=MIIBIjANBgkqhkiG9w0BAQEFAAOC", "x"] {
            assert_eq!(status(wrong), Status::Wrong, "{wrong}");
        }
    }
}
