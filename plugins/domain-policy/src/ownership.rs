//! The proof that the account controls the domain's DNS: a TXT record with its token.

use waxwing_plugin::dns::Reading;
use waxwing_plugin::domain_policy::Requirement;

/// The tag before the token.
pub const TAG: &str = "waxwing-verification";

/// Judges the TXT records at `_waxwing.<domain>`; one that is right is enough. The token itself is
/// compared exactly.
pub fn judge(requirement: &Requirement, token: &str, records: &[String]) -> Reading {
    let right = |record: &&String| {
        record.split_once('=').is_some_and(|(tag, value)| {
            tag.trim().eq_ignore_ascii_case(TAG) && value.trim() == token
        })
    };
    if records.iter().any(|it| right(&it)) {
        return Reading::satisfied(records, "The record has this domain's token.");
    }
    let Requirement { name, suggested_value, .. } = requirement;
    Reading::wrong(
        records,
        format!(
            "The TXT record at {name} is another one: the token belongs to another domain or \
             account, or was changed in copying. Set it to `{suggested_value}`."
        ),
    )
}

#[cfg(test)]
mod tests {
    use waxwing_plugin::domain_policy::Status::{self, Satisfied, Wrong};
    use waxwing_plugin::testing::domain;

    use crate::requirements::needs;
    use crate::settings::Settings;

    fn status(records: &[&str]) -> Status {
        let needs = needs(&Settings::default(), &domain("example.com")).expect("needs");
        let records: Vec<String> = records.iter().map(|it| (*it).to_owned()).collect();
        super::judge(&needs[0].requirement, "tok3n", &records).status
    }

    #[test]
    fn the_token_is_accepted_among_other_records_and_with_white_space() {
        assert_eq!(status(&["waxwing-verification=tok3n"]), Satisfied);
        assert_eq!(status(&["other", " Waxwing-Verification = tok3n "]), Satisfied);
    }

    #[test]
    fn another_token_or_another_case_of_it_is_wrong() {
        for record in ["waxwing-verification=TOK3N", "waxwing-verification=", "tok3n"] {
            assert_eq!(status(&[record]), Wrong, "{record}");
        }
    }
}
