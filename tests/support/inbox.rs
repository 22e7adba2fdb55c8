//! What arrived in the sandbox inbox, through its JSON.

use std::time::Duration;

use serde_json::Value;

use crate::server::Server;
use crate::wait::until_async;

const ARRIVAL: Duration = Duration::from_secs(30);

/// A message in the inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    /// `in_…`
    pub id: String,
    /// The envelope's recipient.
    pub to: String,
    /// The address in From.
    pub from: String,
    /// The subject, decoded.
    pub subject: String,
    /// When it was complete, RFC 3339.
    pub received_at: String,
}

impl Server {
    /// All that is in the inbox, oldest first.
    ///
    /// # Panics
    /// The inbox does not answer.
    pub async fn inbox(&self) -> Vec<Mail> {
        let mut mails = Vec::new();
        let mut after = String::new();
        loop {
            let url = format!("{}?limit=200{after}", self.dev_output("inbox"));
            let page: Value = self.inbox_get(&url).await.json().await.expect("JSON");
            let rows = page["data"].as_array().expect("the inbox lists data");
            mails.extend(rows.iter().map(Mail::of));
            if page["hasMore"] != Value::Bool(true) {
                mails.reverse();
                return mails;
            }
            after = format!("&after={}", mails.last().expect("a page has rows").id);
        }
    }

    /// Waits until at least `count` messages are in the inbox.
    pub async fn wait_for_mails(&self, count: usize) -> Vec<Mail> {
        self.wait_for(&format!("{count} mails"), |mails| mails.len() >= count).await
    }

    /// Waits for the mail to an address.
    ///
    /// # Panics
    /// It does not arrive.
    pub async fn wait_for_mail_to(&self, to: &str) -> Mail {
        let arrived = |mails: &[Mail]| mails.iter().any(|mail| mail.to == to);
        let mails = self.wait_for(&format!("mail to {to}"), arrived).await;
        mails.into_iter().find(|mail| mail.to == to).expect("it has arrived")
    }

    /// Waits until the inbox is as wanted.
    pub async fn wait_for(&self, what: &str, wanted: impl Fn(&[Mail]) -> bool) -> Vec<Mail> {
        let wanted = &wanted;
        let ask = || async move { Some(self.inbox().await).filter(|mails| wanted(mails)) };
        until_async(what, ARRIVAL, ask).await
    }

    /// A message as it was received.
    ///
    /// # Panics
    /// The inbox does not have it.
    pub async fn raw_mail(&self, mail: &Mail) -> Vec<u8> {
        let url = format!("{}/{}/raw", self.dev_output("inbox"), mail.id);
        self.inbox_get(&url).await.bytes().await.expect("the message comes").to_vec()
    }

    async fn inbox_get(&self, url: &str) -> reqwest::Response {
        // Through the address that it listens on now: a restart takes another port.
        let path = url.split_once("/inbox").map_or("", |(_, path)| path);
        let url = format!("{}/inbox{path}", self.url());
        let request = self.http.get(url).header("accept", "application/json");
        let answer = request.send().await.expect("the inbox answers");
        assert_eq!(answer.status(), 200, "the inbox answers 200");
        answer
    }
}

impl Mail {
    fn of(row: &Value) -> Self {
        let text = |name: &str| row[name].as_str().expect("a row has texts").to_owned();
        Self {
            id: text("id"),
            to: text("to"),
            from: text("from"),
            subject: text("subject"),
            received_at: text("receivedAt"),
        }
    }
}
