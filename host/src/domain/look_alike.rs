//! Names that look like other names (UTS 39): one of them must not be added beside a verified one.

use unicode_security::confusable_detection::skeleton;
use unicode_security::{RestrictionLevel, RestrictionLevelDetection};

use super::name::DomainName;
use super::state::Phase;
use crate::id::AccountId;

/// Whether a name may look like a verified domain of another account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookAlikes {
    /// It must not.
    Refused,
    /// The operator has allowed it.
    Allowed,
}

/// The domains that a new one must not be mistaken for: those that send and are proven by DNS, of other accounts, whose
/// organizational domain looks the same and is another one. Names below one organizational domain do not count:
/// their holder is the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Originals {
    pub skeleton: String,
    pub not_organizational: String,
    pub not_of: AccountId,
    pub phases: Vec<Phase>,
}

impl Originals {
    #[must_use]
    pub fn of(account: AccountId, name: &DomainName) -> Self {
        Self {
            skeleton: skeleton_of(name),
            not_organizational: name.organizational().to_owned(),
            not_of: account,
            phases: Phase::sending(),
        }
    }
}

/// The organizational domain as an eye sees it: two with one skeleton look alike (UTS 39 section 4),
/// and so does every name below them. In lower case, because the skeleton of `0` is a capital `O`.
#[must_use]
pub fn skeleton_of(name: &DomainName) -> String {
    let organizational = idna::domain_to_unicode(name.organizational()).0;
    skeleton(&organizational).flat_map(char::to_lowercase).collect()
}

/// Whether a label mixes scripts in a way that no language does (UTS 39 section 5.2, "highly
/// restrictive"), as `аpple` with a Cyrillic first letter.
#[must_use]
pub fn mixes_scripts(name: &DomainName) -> bool {
    let level = |label: &str| label.detect_restriction_level();
    shown(name).split('.').any(|label| level(label) > RestrictionLevel::HighlyRestrictive)
}

/// The name as its holder writes it: U-labels (RFC 5890).
#[must_use]
pub fn shown(name: &DomainName) -> String {
    idna::domain_to_unicode(name.as_str()).0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> DomainName {
        text.parse().expect("a name")
    }

    fn look_alike(a: &str, b: &str) -> bool {
        skeleton_of(&name(a)) == skeleton_of(&name(b))
    }

    #[test]
    fn a_name_in_another_script_looks_like_the_original() {
        assert!(look_alike("apple.com", "аррӏе.com"));
        assert!(look_alike("microsoft.com", "rnicrosoft.com"));
        assert!(look_alike("paypal.com", "paypa1.com"));
        assert!(look_alike("google.com", "g0ogle.com"));
        assert!(look_alike("paypal.com", "mail.paypa1.com"));
        assert!(!look_alike("example.com", "example.net"));
        assert!(!look_alike("bücher.example", "bucher.example"));
    }

    #[test]
    fn a_label_of_two_scripts_is_noticed() {
        assert!(mixes_scripts(&name("аpple.com")));
        for honest in ["example.com", "bücher.example", "例え.jp", "почта.рф", "東京タワー.jp"]
        {
            assert!(!mixes_scripts(&name(honest)), "{honest}");
        }
    }
}
