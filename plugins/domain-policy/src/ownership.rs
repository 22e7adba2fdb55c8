//! The proof that the account controls the domain's DNS: a TXT record with its token.

use waxwing_plugin::dns::{Reading, quoted, slip};
use waxwing_plugin::domain_policy::Requirement;

/// The tag before the token.
pub const TAG: &str = "waxwing-verification";

/// Judges the TXT records at `_waxwing.<domain>`; one that is right is enough. The token itself is
/// compared exactly.
pub fn judge(requirement: &Requirement, token: &str, records: &[String]) -> Reading {
    if records.iter().any(|it| value(it) == Some(token)) {
        let others = records.iter().filter(|it| value(it).is_some_and(|it| it != token)).count();
        return Reading::satisfied(records, satisfied(others));
    }
    let Requirement { name, suggested_value, .. } = requirement;
    let why = fault(token, records);
    Reading::wrong(
        records,
        format!("The TXT record at {name} {why}. Set it to `{suggested_value}`."),
    )
}

/// Only here can the owner notice that somebody before them is still let in.
fn satisfied(others: usize) -> String {
    let right = "The record has this domain's token.";
    match others {
        0 => right.to_owned(),
        1 => format!(
            "{right} Another token stands beside it: whoever it was made for may send in this \
             domain's name too. Remove it if you do not know whose it is."
        ),
        _ => format!(
            "{right} {others} other tokens stand beside it: whoever they were made for may send in \
             this domain's name too. Remove those that you do not know."
        ),
    }
}

/// What stands behind the tag.
fn value(record: &str) -> Option<&str> {
    let (tag, value) = record.split_once('=')?;
    tag.trim().eq_ignore_ascii_case(TAG).then(|| value.trim())
}

/// What is wrong with the records, as the end of "The record …".
fn fault(token: &str, records: &[String]) -> String {
    let nearly = |it: &String| slip(it, |mended| value(mended) == Some(token));
    if let Some(slip) = records.iter().find_map(nearly) {
        return slip.sentence().to_owned();
    }
    let found = quoted(records);
    if records.iter().filter_map(|it| value(it)).any(|it| it.eq_ignore_ascii_case(token)) {
        format!("is {found}: the token's upper and lower case letters were changed")
    } else if records.iter().any(|it| it.trim() == token) {
        format!("is {found}, the token alone: `{TAG}=` is missing before it")
    } else if records.iter().any(|it| value(it).is_some()) {
        format!(
            "is {found}: its token belongs to another domain or account, or was changed in copying"
        )
    } else {
        format!(
            "is {found}, which is no proof; if you did not publish it there, a wildcard record `*` \
             answers, and a record of its own takes its place"
        )
    }
}

#[cfg(test)]
mod tests {
    use waxwing_plugin::domain_policy::Status::{self, Satisfied, Wrong};
    use waxwing_plugin::testing::domain;

    use crate::requirements::needs;
    use crate::settings::Settings;

    fn status(records: &[&str]) -> Status {
        read(records).status
    }

    fn read(records: &[&str]) -> super::Reading {
        let needs = needs(&Settings::default(), &domain("example.com")).expect("needs");
        let records: Vec<String> = records.iter().map(|it| (*it).to_owned()).collect();
        super::judge(&needs[0].requirement, "tok3n", &records)
    }

    #[test]
    fn the_token_is_accepted_among_other_records_and_with_white_space() {
        assert_eq!(status(&["waxwing-verification=tok3n"]), Satisfied);
        assert_eq!(status(&["other", " Waxwing-Verification = tok3n "]), Satisfied);
    }

    #[test]
    fn a_token_of_somebody_else_beside_the_right_one_is_pointed_out() {
        let both = read(&["waxwing-verification=tok3n", "waxwing-verification=other", "v=spf1"]);
        assert_eq!(both.status, Satisfied);
        assert!(both.hint.contains("Another token stands beside it"), "{}", both.hint);
    }

    #[test]
    fn another_token_or_another_case_of_it_is_wrong() {
        for record in ["waxwing-verification=TOK3N", "waxwing-verification=", "tok3n"] {
            assert_eq!(status(&[record]), Wrong, "{record}");
        }
    }

    #[test]
    fn each_mistake_has_its_hint_with_what_was_found_and_what_is_expected() {
        for (record, because) in [
            ("\"waxwing-verification=tok3n\"", "quotation marks"),
            ("waxwing-verification=TOK3N", "upper and lower case"),
            ("tok3n", "the token alone"),
            ("waxwing-verification=other", "`waxwing-verification=other`: its token belongs"),
            ("v=spf1 -all", "`v=spf1 -all`, which is no proof"),
        ] {
            let reading = read(&[record]);
            assert_eq!((reading.status, &reading.found[..]), (Wrong, &[record.to_owned()][..]));
            assert!(reading.hint.contains(because), "{record}: {}", reading.hint);
            assert!(reading.hint.ends_with("Set it to `waxwing-verification=tok3n`."));
        }
    }
}
