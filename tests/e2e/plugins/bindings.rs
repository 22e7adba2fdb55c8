//! Slots whose plugins answer some calls only: the narrowest binding wins.

use serde_json::{Value, json};
use waxwing_tests::{Account, Server, only_on_a_file};

use super::{
    Component, FILES_OF_ONE_SERVER, PLAN, RENDERER, decision, note, of_kind, publish_note, server,
};

/// Who decides what an account sends now.
async fn slots(server: &Server, account: &Account) -> (Value, Value) {
    let id = server.send(&account.key, &note(1)).await.message_id();
    let decision = decision(server, &id).await;
    let slot = |kind| of_kind(&decision, kind)["slot"].clone();
    (slot("plan"), slot("renderer"))
}

#[tokio::test]
async fn the_narrowest_binding_wins_and_what_is_removed_gives_its_calls_back() {
    if only_on_a_file(FILES_OF_ONE_SERVER) {
        return;
    }
    let mut server = server();
    let (pro, other) = (server.open_account("pro", 100), server.open_account("pro", 100));
    let free = server.open_account("free", 100);
    for account in [&pro, &other, &free] {
        publish_note(&server, &account.id, "note");
    }
    let built_in = (json!(PLAN), json!(RENDERER));
    assert_eq!(slots(&server, &pro).await, built_in);

    let (one, two) = (Component::guest("price-one"), Component::guest("price-two"));
    let (setting, a) = (Component::guest("price-setting"), Component::guest("visible-a"));
    // The settings come first: a component that finds none would be refused for a moment.
    server.place("pro-prices.toml", "[binding]\nplan = \"pro\"\n");
    server.swap("pro-prices", &two.bytes, &two.digest).await;
    server.swap(PLAN, &one.bytes, &one.digest).await;
    let mine = format!("[binding]\naccount = \"{}\"\n", pro.id);
    server.place("acme-prices.toml", format!("{mine}[settings]\nprice = 9\n"));
    server.swap("acme-prices", &setting.bytes, &setting.digest).await;
    server.place("acme-mail.toml", &mine);
    server.swap("acme-mail", &a.bytes, &a.digest).await;

    for (slot, binding) in [
        (PLAN, "server".to_owned()),
        ("pro-prices", "plan pro".to_owned()),
        ("acme-prices", format!("account {}", pro.id)),
        ("acme-mail", format!("account {}", pro.id)),
    ] {
        assert_eq!(server.slot(slot).await["binding"], binding, "{slot}");
    }
    let listed = server.look("/v1/plugins").await;
    assert_eq!(listed["data"].as_array().map(Vec::len), Some(7), "{listed:#}");

    let table = [
        (&pro, ("acme-prices", "acme-mail")),
        (&other, ("pro-prices", RENDERER)),
        (&free, (PLAN, RENDERER)),
    ];
    for _ in 0..2 {
        for (account, (policy, renderer)) in table {
            assert_eq!(slots(&server, account).await, (json!(policy), json!(renderer)));
        }
        // And so it is after a restart.
        server.restart();
    }
    let rows = server.messages(&pro.id);
    assert_eq!(rows[0]["credits"], 9, "{}", rows[0]);
    assert!(rows[0]["subject"].as_str().is_some_and(|it| it.starts_with("[A] ")), "{}", rows[0]);

    // Narrowest first, each gives its calls to the next broader one.
    for (gone, policy) in [("acme-prices", "pro-prices"), ("pro-prices", PLAN), (PLAN, PLAN)] {
        server.displace(&format!("{gone}.wasm"));
        if gone != PLAN {
            server.displace(&format!("{gone}.toml"));
            let away = |view: &Value| view.is_null().then_some(());
            server.until_slot(gone, "the slot is gone", away).await;
        }
        if gone == PLAN {
            server.built_in(PLAN).await;
        }
        assert_eq!(slots(&server, &pro).await, (json!(policy), json!("acme-mail")), "{gone}");
    }
    server.displace("acme-mail.wasm");
    server.displace("acme-mail.toml");
    let away = |view: &Value| view.is_null().then_some(());
    server.until_slot("acme-mail", "the slot is gone", away).await;
    assert_eq!(slots(&server, &pro).await, built_in);
}

#[tokio::test]
async fn two_slots_for_the_same_calls_and_one_for_no_calls_are_refused() {
    if only_on_a_file(FILES_OF_ONE_SERVER) {
        return;
    }
    let server = server();
    let one = Component::guest("price-one");
    server.place("pro-prices.toml", "[binding]\nplan = \"pro\"\n");
    server.swap("pro-prices", &one.bytes, &one.digest).await;
    server.place("more-prices.toml", "[binding]\nplan = \"pro\"\n");
    server.place("more-prices.wasm", &one.bytes);
    let words = server.rejected("more-prices", "plan pro").await;
    assert!(words.contains("the slot pro-prices answers the calls of plan pro"), "{words}");
    // Without a binding it would be a second one for the whole server.
    server.place("any-prices.wasm", &one.bytes);
    let words = server.rejected("any-prices", "plan-policy").await;
    assert!(words.contains("give this one a narrower [binding]"), "{words}");
    server.place("more-prices.toml", "[binding]\nplan = \"pro\"\naccount = \"acc_x\"\n");
    server.rejected("more-prices", "one of plan, account and domain").await;
    assert_eq!(server.slot("more-prices").await["state"], "empty");
    // The other is removed, and this one may have its place.
    server.displace("pro-prices.wasm");
    server.displace("pro-prices.toml");
    server.place("more-prices.toml", "[binding]\nplan = \"pro\"\n");
    server.live("more-prices", &one.digest).await;
}

#[tokio::test]
async fn a_plugin_of_another_kind_than_its_slot_is_refused() {
    let server = server();
    let a = Component::guest("visible-a");
    server.place("plan-policy.wasm", &a.bytes);
    server.rejected(PLAN, "this slot takes a").await;
    server.place("no-kind.toml", "[settings]\nprice = 1\n");
    server.rejected("no-kind", "names no kind").await;
}
