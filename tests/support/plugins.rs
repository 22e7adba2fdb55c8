//! The plugins of a server under test: the operator's directory, and the API that steers them.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::Value;

use crate::answer::Answer;
use crate::server::Server;
use crate::wait::POLL;

/// Longer than anything takes on a machine that does other things too.
const PATIENCE: Duration = Duration::from_mins(4);

impl Server {
    /// The operator's directory, as `dev` tells it.
    ///
    /// # Panics
    /// The system has no current directory.
    #[must_use]
    pub fn plugins_dir(&self) -> PathBuf {
        std::path::absolute(self.dev_output("pluginsDir")).expect("a path")
    }

    /// Renames a file into its place among the plugins, as `plan-policy.wasm`.
    ///
    /// # Panics
    /// It cannot be written.
    pub fn place(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let partial = self.scratch(&format!("{name}.new"));
        fs::write(&partial, bytes).expect("a file is written");
        fs::rename(&partial, self.plugins_dir().join(name)).expect("a file is renamed");
    }

    /// Removes a file from among the plugins.
    ///
    /// # Panics
    /// It is not there.
    pub fn displace(&self, name: &str) {
        fs::remove_file(self.plugins_dir().join(name)).expect("a file is removed");
    }

    /// A request with the key that `dev` has made.
    pub async fn operate(&self, method: Method, path: &str, body: Vec<u8>) -> Answer {
        let request = self.request(method, path).header("x-api-key", self.key());
        let request = request.header("content-type", "application/wasm").body(body);
        self.answer(request).await
    }

    /// Gets a path with the same key.
    ///
    /// # Panics
    /// It is refused.
    pub async fn look(&self, path: &str) -> Value {
        let answer = self.operate(Method::GET, path, Vec::new()).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.body
    }

    /// Puts a component into a slot; the query is as in `?impact=ask`.
    pub async fn install(&self, slot: &str, query: &str, component: &[u8]) -> Answer {
        let path = format!("/v1/plugins/{slot}/component{query}");
        self.operate(Method::PUT, &path, component.to_vec()).await
    }

    /// Gives an order, as `activate`.
    pub async fn order(&self, slot: &str, order: &str) -> Answer {
        self.operate(Method::POST, &format!("/v1/plugins/{slot}/{order}"), Vec::new()).await
    }

    /// One slot, as the API shows it; null where there is none.
    ///
    /// # Panics
    /// The API refuses to.
    pub async fn slot(&self, slot: &str) -> Value {
        let answer = self.operate(Method::GET, &format!("/v1/plugins/{slot}"), Vec::new()).await;
        assert!([200, 404].contains(&answer.status), "{}", answer.body);
        if answer.status == 404 { Value::Null } else { answer.body }
    }

    /// Looks at a slot until it is as wanted.
    ///
    /// # Panics
    /// It does not come to be.
    pub async fn until_slot<T>(
        &self,
        slot: &str,
        what: &str,
        wanted: impl Fn(&Value) -> Option<T>,
    ) -> T {
        let start = Instant::now();
        loop {
            let view = self.slot(slot).await;
            if let Some(answer) = wanted(&view) {
                return answer;
            }
            assert!(start.elapsed() < PATIENCE, "waited in vain: {what}; {slot} is {view:#}");
            tokio::time::sleep(POLL).await;
        }
    }

    /// Waits until the component of that digest is live in a slot, and nothing is on its way there.
    pub async fn live(&self, slot: &str, digest: &str) -> Value {
        let live = |view: &Value| {
            let settled = view["candidate"].is_null() && view["active"]["builtin"] == false;
            (settled && view["active"]["digest"] == digest).then(|| view.clone())
        };
        self.until_slot(slot, &format!("{digest} is live"), live).await
    }

    /// Puts a component into a slot by a rename, and waits until it is live. The operator lets one that
    /// waits go live: the guests know no filters, so they render no starter template as the live one.
    ///
    /// # Panics
    /// It does not come to be.
    pub async fn swap(&self, slot: &str, component: &[u8], digest: &str) {
        self.place(&format!("{slot}.wasm"), component);
        self.goes_live(slot, digest).await;
    }

    /// Waits until the component of that digest is live in a slot; one that waits for the operator is let go.
    ///
    /// # Panics
    /// It does not come to be.
    pub async fn goes_live(&self, slot: &str, digest: &str) {
        let rests = |view: &Value| {
            let candidate = &view["candidate"];
            let waits = candidate["digest"] == digest && candidate["stage"] == "waiting";
            let is_live = candidate.is_null() && view["active"]["digest"] == digest;
            (waits || is_live).then_some(waits)
        };
        if self.until_slot(slot, &format!("{digest} is live or waits"), rests).await {
            let activated = self.order(slot, "activate").await;
            assert_eq!(activated.status, 200, "{}", activated.body);
        }
        self.live(slot, digest).await;
    }

    /// Waits until the built-in plugin of a slot answers.
    pub async fn built_in(&self, slot: &str) {
        let built_in = |view: &Value| (view["active"]["builtin"] == true).then_some(());
        self.until_slot(slot, "the built-in plugin answers", built_in).await;
    }

    /// Waits until a slot's candidate is refused with these words; answers the whole reason.
    pub async fn rejected(&self, slot: &str, words: &str) -> String {
        let reason = |view: &Value| {
            let reason = view["candidate"]["rejected"].as_str()?;
            reason.contains(words).then(|| reason.to_owned())
        };
        self.until_slot(slot, &format!("refused with `{words}`"), reason).await
    }

    /// Waits until a slot's candidate is at a stage.
    pub async fn at_stage(&self, slot: &str, stage: &str) -> Value {
        let there = |view: &Value| {
            let candidate = &view["candidate"];
            (candidate["stage"] == stage && candidate["rejected"].is_null()).then(|| view.clone())
        };
        self.until_slot(slot, &format!("the stage {stage}"), there).await
    }
}
