//! The words of a refusal that has no code to go by. In doubt they say nothing.

/// How words begin that are about the sender, the message or the hour, not about the address.
const ABOUT_US: [&str; 49] = [
    "access",
    "allow",
    "authentic",
    "authoriz",
    "authoris",
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
    "over quota",
    "permi",
    "policy",
    "policies",
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

/// What is said of a mailbox that does not exist, in the words that servers are known for.
const NO_MAILBOX: [&str; 39] = [
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

/// Whether the words speak of us or of this message.
pub(super) fn about_us(text: &str) -> bool {
    let text = plain(text);
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let spaced = words.fold(String::from(" "), |text, word| text + word + " ");
    ABOUT_US.iter().any(|begin| spaced.contains(&format!(" {begin}")))
}

/// Whether the words say that there is no such mailbox, and nothing about us.
pub(super) fn no_mailbox(text: &str) -> bool {
    if about_us(text) {
        return false;
    }
    let text = plain(text);
    NO_MAILBOX.iter().any(|words| text.contains(words))
        || ["user", "mailbox", "account", "recipient"].iter().any(|noun| {
            text.split_once(noun).is_some_and(|(_, rest)| {
                let near: String = rest.chars().take(40).collect();
                near.contains("does not exist") || near.contains("not found")
            })
        })
}

/// Whether the words of a refusal of an address are in truth about the sender's reputation.
pub(super) fn blocks_us(text: &str) -> bool {
    let lower = text.to_lowercase();
    let words = lower.split_whitespace().filter(|word| !word.contains('@'));
    let text = words.collect::<Vec<_>>().join(" ");
    ["black list", "blacklist", "block list", "blocklist", "dnsbl", "reputation", "spam"]
        .iter()
        .any(|it| text.contains(it))
}

/// Whether a name server has answered what nobody understands.
pub(super) fn about_name_servers(text: &str) -> bool {
    plain(text).contains("malformed")
}

/// The words of directory-based edge blocking in Exchange Online.
pub(super) fn not_in_directory(text: &str) -> bool {
    plain(text).contains("recipient address rejected: access denied")
}

/// Lower case, one space between words, without addresses, links and hosts: these are not the server's
/// words.
fn plain(text: &str) -> String {
    let named = |word: &str| {
        let inside = word.trim_matches(|c: char| !c.is_alphanumeric());
        word.contains('@') || word.contains("://") || inside.contains('.')
    };
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split_whitespace().filter(|word| !named(word)).collect();
    words.join(" ")
}
