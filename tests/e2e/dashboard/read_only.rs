//! Read-only mode as people see it.

use waxwing_tests::Server;

use super::{Browser, dev_person};

const BANNER: &str =
    "The server is in read-only mode: it takes no messages and no changes for now. A new disk.";

#[tokio::test]
async fn every_page_says_that_the_server_is_read_only_and_forms_are_refused() {
    let server = Server::dev();
    let mut browser = Browser::of_dev(&server).await;
    let before = browser.get("/app").await;
    assert!(!before.html.contains(BANNER), "{}", before.html);
    drop(server.cli(&["maintenance", "on", "--reason", "A new disk."]));
    // Who logs in now changes nothing that counts.
    let (email, password) = dev_person(&server);
    let mut browser = Browser::new(&server);
    assert_eq!(browser.log_in(&email, &password).await.status, 303);
    for page in ["/app", "/app/keys", "/ops"] {
        let shown = browser.get(page).await;
        assert!(shown.status == 200 && shown.html.contains(BANNER), "{page}: {}", shown.html);
    }
    let key = [("name", "Shop"), ("mode", "live"), ("scope", "send")];
    let refused = browser.submit("/app/keys", &key).await;
    assert_eq!(refused.status, 503, "{}", refused.html);
    assert!(refused.html.contains("no changes for now: A new disk."), "{}", refused.html);
    let checked = browser.submit("/ops/check", &[]).await;
    assert_eq!(checked.status, 303, "health checks change nothing: {}", checked.html);
    let keys = server.get_as(server.key(), "/v1/keys").await.body.to_string();
    assert!(!keys.contains("Shop"), "{keys}");
    drop(server.cli(&["maintenance", "off"]));
    let after = browser.get("/app").await;
    assert!(!after.html.contains(BANNER), "{}", after.html);
}
