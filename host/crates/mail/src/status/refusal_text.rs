//! Bounce classification by text: whether a 5xx reply says that the address is dead (`user unknown`) or gives another
//! reason. Used where the codes are missing, general or known to be misused; in doubt the address is not dead.

/// Word beginnings that show a reason other than a dead address: sender reputation, policy, content, a temporary
/// failure, a full mailbox.
const NOT_A_DEAD_ADDRESS: [&str; 47] = [
    "access",
    "allow",
    "authentic",
    "authoris",
    "authoriz",
    "banned",
    "black list",
    "blacklist",
    "block",
    "client host",
    "content",
    "denied",
    "deny",
    "dkim",
    "dmarc",
    "dnsbl",
    "full",
    "greylist",
    "helo",
    "later",
    "limit",
    "listed",
    "permi",
    "polic",
    "prohibit",
    "ptr",
    "quota",
    "rate",
    "rbl",
    "rcpthosts",
    "rdns",
    "relay",
    "reputation",
    "reverse",
    "security",
    "sender",
    "sorbs",
    "spam",
    "spf",
    "suspicious",
    "temporar",
    "too many",
    "trust",
    "unauth",
    "unsolicited",
    "verification",
    "virus",
];

/// Texts that servers are known to send for an address that takes no mail: an unknown or disabled mailbox, an
/// unknown domain.
const DEAD_ADDRESS: [&str; 39] = [
    "account has been disabled",
    "account is disabled",
    "account that you tried to reach does not exist",
    "address does not exist",
    "address unknown",
    "dd is no longer valid",
    "does not have an account",
    "doesn't have a ",
    "domain does not exist",
    "host unknown",
    "invalid mailbox",
    "invalid recipient",
    "invalid user",
    "mailbox disabled",
    "mailbox is disabled",
    "mailbox not found",
    "mailbox unknown",
    "no mailbox here by that name",
    "no such account",
    "no such address",
    "no such domain",
    "no such mailbox",
    "no such person",
    "no such recipient",
    "no such user",
    "not a valid recipient",
    "not our customer",
    "recipient does not exist",
    "recipient not found",
    "recipient unknown",
    "requested action not taken: mailbox unavailable",
    "unknown host",
    "unknown recipient",
    "unknown user",
    "unrouteable address",
    "user doesn't exist",
    "user is terminated",
    "user not exist",
    "user unknown",
];

/// Whether the text gives a reason other than a dead address.
pub(super) fn has_other_reason(text: &str) -> bool {
    let text = normalized(text);
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let spaced = words.fold(String::from(" "), |text, word| text + word + " ");
    NOT_A_DEAD_ADDRESS.iter().any(|begin| spaced.contains(&format!(" {begin}")))
}

/// Whether the text says that the address takes no mail, and gives no other reason.
pub(super) fn names_dead_address(text: &str) -> bool {
    if has_other_reason(text) {
        return false;
    }
    let text = normalized(text);
    DEAD_ADDRESS.iter().any(|words| text.contains(words))
        || ["user", "mailbox", "account", "recipient"].iter().any(|noun| {
            text.split_once(noun).is_some_and(|(_, rest)| {
                let near: String = rest.chars().take(40).collect();
                near.contains("does not exist") || near.contains("not found")
            })
        })
}

/// Whether the refusal of an address cites the sender's reputation or a blocklist.
pub(super) fn cites_reputation(text: &str) -> bool {
    let lower = text.to_lowercase();
    let words = lower.split_whitespace().filter(|word| !word.contains('@'));
    let text = words.collect::<Vec<_>>().join(" ");
    ["black list", "blacklist", "block list", "blocklist", "dnsbl", "reputation", "spam"]
        .iter()
        .any(|it| text.contains(it))
}

/// Whether the text blames a malformed DNS answer.
pub(super) fn cites_dns_failure(text: &str) -> bool {
    normalized(text).contains("malformed")
}

/// Whether Exchange Online's directory-based edge blocking refused the address.
pub(super) fn not_in_directory(text: &str) -> bool {
    normalized(text).contains("recipient address rejected: access denied")
}

/// Lower case, one space between words, without addresses, URLs and host names, whose letters would match by
/// accident.
fn normalized(text: &str) -> String {
    let named = |word: &str| {
        let inside = word.trim_matches(|c: char| !c.is_alphanumeric());
        word.contains('@') || word.contains("://") || inside.contains('.')
    };
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split_whitespace().filter(|word| !named(word)).collect();
    words.join(" ")
}
