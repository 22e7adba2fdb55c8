//! Which names can be anybody's sender domain, and names that are made to be taken for others.

use waxwing_tests::{Answer, Server};

use super::{assert_not_verified, holder, lab};

#[track_caller]
fn assert_refused(answer: &Answer, words: &str) {
    answer.assert_faults(&["name"]);
    let message = answer.body["errors"][0]["message"].as_str().expect("a message");
    assert!(message.contains(words), "`{words}` in: {message}");
}

fn count(server: &Server, account: &str) -> usize {
    let list = server.cli(&["domain", "list", "--account", account]);
    list.as_array().expect("a list").len()
}

#[tokio::test]
async fn a_public_suffix_is_nobodys() {
    let (_dns, server) = lab().await;
    let account = server.dev_output("accountId");
    for name in ["co.uk", "github.io", "CO.UK", "xn--55qx5d.cn", "公司.cn"] {
        let answer = server.try_add_domain(server.key(), name).await;
        assert_refused(&answer, "public suffix");
        let add = ["domain", "add", "--account", account, name, "--allow-look-alike"];
        assert!(server.cli_fails(&add).contains("public suffix"), "{name}");
    }
    assert_eq!(count(&server, account), 1, "only the one of the sandbox");
    // One label more is somebody's.
    drop(server.add_domain(server.key(), "waxwing.co.uk").await);
}

#[tokio::test]
async fn a_word_of_two_scripts_is_refused_unless_the_operator_has_looked() {
    let (_dns, server) = lab().await;
    let account = server.dev_output("accountId");
    // The first letter is Cyrillic.
    let name = "\u{430}pple.example";
    assert_refused(&server.try_add_domain(server.key(), name).await, "mixes scripts");
    let encoded = "xn--pple-43d.example";
    assert_refused(&server.try_add_domain(server.key(), encoded).await, "mixes scripts");
    let add = ["domain", "add", "--account", account, name];
    assert!(server.cli_fails(&add).contains("mixes scripts"));
    let added = server.cli(&[&add[..], &["--allow-look-alike"]].concat());
    assert_eq!(added["name"], encoded);
    for honest in ["例え.example", "почта.example", "東京タワー.example", "bücher.example"]
    {
        drop(server.add_domain(server.key(), honest).await);
    }
}

#[tokio::test]
async fn a_name_that_looks_like_anothers_verified_domain_is_refused() {
    let (dns, server) = lab().await;
    let (ann, bob) = (holder(&server), holder(&server));
    for (original, look_alike) in [
        ("microsoft.example", "rnicrosoft.example"),
        // All of these letters are Cyrillic.
        ("apple.example", "\u{430}\u{440}\u{440}\u{4cf}\u{435}.example"),
        ("paypal.example", "paypa1.example"),
    ] {
        drop(server.add_domain(&ann.key, original).await);
        // Nobody has proven the original yet: the name is free.
        drop(server.add_domain(&bob.key, look_alike).await);
        server.delete_domain(&bob.key, look_alike).await;
        server.domain(&ann.key, original).await.publish(&dns);
        assert_eq!(server.check_domain(&ann.key, original).await.state(), "verified");

        let refused = server.try_add_domain(&bob.key, look_alike).await;
        assert_refused(&refused, "looks like a domain that another account");
        assert!(!refused.body.to_string().contains(original), "whose it is stays unsaid");
        let add = ["domain", "add", "--account", &bob.id, look_alike];
        assert!(server.cli_fails(&add).contains("looks like"));
        // Its own holder may have it, and so may whom the operator allows it.
        drop(server.verified_domain(&dns, &ann.key, look_alike).await);
        server.delete_domain(&ann.key, look_alike).await;
        drop(server.cli(&[&add[..], &["--allow-look-alike"]].concat()));
        server.domain(&bob.key, look_alike).await.publish(&dns);
        assert_eq!(server.check_domain(&bob.key, look_alike).await.state(), "verified");
        assert_eq!(server.check_domain(&ann.key, original).await.state(), "verified");
    }
}

#[tokio::test]
async fn a_look_alike_that_was_added_first_is_not_verified_beside_the_original() {
    let (dns, server) = lab().await;
    let (ann, bob) = (holder(&server), holder(&server));
    let early = server.add_domain(&bob.key, "arnazon.example").await;
    early.publish(&dns);
    let original = server.verified_domain(&dns, &ann.key, "amazon.example").await;
    let checked = server.check_domain(&bob.key, "arnazon.example").await;
    assert_eq!((checked.state(), checked.progress()), ("pending", 99));
    assert!(checked.missing()[0].contains("looks like a domain"), "{:?}", checked.missing());
    assert!(checked.required().iter().all(|it| it.status() == "satisfied"));
    assert_not_verified(&server, &bob.key, &checked).await;
    // It is no longer anybody's.
    server.delete_domain(&ann.key, original.text("name")).await;
    assert_eq!(server.check_domain(&bob.key, "arnazon.example").await.state(), "verified");
    // And now it is the other way round.
    let refused = server.try_add_domain(&ann.key, "amazon.example").await;
    assert_refused(&refused, "looks like a domain that another account");
}
