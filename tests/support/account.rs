//! Accounts that tests make for themselves, with the command line.

use serde_json::Value;

use crate::server::Server;

/// An account with a key.
#[derive(Debug, Clone)]
pub struct Account {
    /// `acc_…`
    pub id: String,
    /// `key_…`
    pub key_id: String,
    pub key: String,
}

impl Server {
    /// The account that `dev` has made: plan `pro`, a million credits, all starter templates.
    #[must_use]
    pub fn dev_account(&self) -> Account {
        let id = self.dev_output("accountId").to_owned();
        Account { id, key_id: String::new(), key: self.key().to_owned() }
    }

    /// Opens an account on a plan with credits, a product name, the sandbox domain `sandbox.test`, the
    /// template `verification-code` and a key.
    #[must_use]
    pub fn open_account(&self, plan: &str, credits: u32) -> Account {
        let sender = "hello@sandbox.test";
        let made = self.cli(&[
            "account",
            "create",
            "--name",
            "Test",
            "--plan",
            plan,
            "--sender",
            sender,
            "--product-name",
            "Test & Co",
        ]);
        let id = text(&made["id"]);
        if credits > 0 {
            self.grant(&id, credits);
        }
        drop(self.cli(&["domain", "add", "--account", &id, "sandbox.test", "--sandbox"]));
        let slug = "verification-code";
        drop(self.cli(&["template", "create", "--account", &id, "--slug", slug, "--starter"]));
        let (key_id, key) = self.make_key(&id, &[]);
        Account { id, key_id, key }
    }

    /// Makes a key with further arguments, as in `["--test"]`; answers its id and itself.
    #[must_use]
    pub fn make_key(&self, account: &str, arguments: &[&str]) -> (String, String) {
        let mut all = vec!["key", "create", "--account", account];
        all.extend(arguments);
        let made = self.cli(&all);
        (text(&made["id"]), text(&made["key"]))
    }

    pub fn grant(&self, account: &str, credits: u32) {
        drop(self.cli(&["credits", "grant", "--account", account, &credits.to_string()]));
    }

    /// The balance, as the command line says it.
    ///
    /// # Panics
    /// It says none.
    #[must_use]
    pub fn balance(&self, account: &str) -> i64 {
        let shown = self.cli(&["credits", "show", "--account", account]);
        shown["balance"].as_i64().expect("a balance is a number")
    }

    /// The newest messages of an account, as the command line lists them.
    ///
    /// # Panics
    /// It does not list them.
    #[must_use]
    pub fn messages(&self, account: &str) -> Vec<Value> {
        let list = self.cli(&["message", "list", "--account", account, "--limit", "2000"]);
        list.as_array().expect("a list").clone()
    }

    /// One message with its events and decisions.
    #[must_use]
    pub fn message(&self, id: &str) -> Value {
        self.cli(&["message", "show", id])
    }
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}
