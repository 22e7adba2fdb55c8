//! Keys: what each may do, and that a change of a key or its account holds for the next request.

mod current;
mod operations;
mod parameters;
mod proxies;
mod test_keys;

use serde_json::Value;
use waxwing_tests::{Account, Server};

/// Opens an account with a key of every scope.
fn with_every_scope(server: &Server) -> Account {
    let account = server.open_account("pro", 1_000);
    let scopes = ["--scope", "send", "--scope", "admin", "--scope", "operator"];
    let (key_id, key) = server.make_key(&account.id, &scopes);
    Account { key_id, key, ..account }
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}
