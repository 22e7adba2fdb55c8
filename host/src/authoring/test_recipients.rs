//! Addresses that tests really go to. Each is asked by a mail first, so that nobody gets tests by somebody's typing error.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Map;

use super::Authoring;
use super::error::AuthoringError;
use crate::account::Account;
use crate::account::secret::Secret;
use crate::clock::Timestamp;
use crate::id::{AccountId, RequestId};
use crate::journey::accept::authenticate::Caller;
use crate::journey::accept::refusal::Refusal;
use crate::journey::accept::submission::{Content, Raw, Submission};
use crate::journey::{Journey, Receipt, Request};
use crate::mail::mime::{self, Outgoing};
use crate::mail::raw::RawMessage;
use crate::message::address::EmailAddress;
use crate::message::channel::Channel;
use crate::store::records::Acceptance;
use crate::store::{
    ActorId, AskingFacts, AuditRow, ConfirmationMail, RecentMails, StoreError, TestRecipientRow,
};
use crate::trace::Arrival;

/// How long the link of a mail works, and the mail counts against the rates.
pub const CONFIRMATION_LIFE: Duration = Duration::from_hours(24);
/// Addresses of an account's list, confirmed or not.
pub const MAX_TEST_ADDRESSES: u32 = 20;
/// Mails that ask for an account within a day.
const MAX_MAILS_OF_ACCOUNT: u32 = 20;
/// Mails that ask one address within a day, whichever account they are for.
const MAX_MAILS_TO_ADDRESS: u32 = 3;

/// An address of the list, and the mail that has just asked its holder; none where the holder has agreed before.
#[derive(Debug)]
pub struct AskedRecipient {
    pub row: TestRecipientRow,
    pub mail: Option<Receipt>,
}

/// What the holder of an address is asked.
#[derive(Debug)]
pub struct Question {
    pub account_name: String,
    pub address: String,
}

/// Why an address is not asked.
enum NotAsked {
    IsConfirmed(TestRecipientRow),
    Refused(Refusal),
}

impl Authoring {
    pub async fn test_recipients(
        &self,
        account: AccountId,
    ) -> Result<Vec<TestRecipientRow>, AuthoringError> {
        Ok(self.store.test_recipients(account).await?)
    }

    /// Puts an address on the list, and sends it a mail with a link below `server` that confirms it: a send of the
    /// account like any other.
    ///
    /// # Errors
    /// The list is full, too many were asked, or the journey refuses the mail. The list is as it was then.
    pub async fn ask_test_recipient(
        &self,
        journey: &Journey,
        (caller, id): (&Caller, RequestId),
        to: EmailAddress,
        server: &str,
    ) -> Result<AskedRecipient, AuthoringError> {
        let (now, secret) = (self.clock.now(), Secret::random());
        let account = self.store.account(caller.key.account_id, now).await?.account;
        if self.store.suppression(account.id, &to.folded(), now).await?.is_some() {
            return Err(AuthoringError::Suppressed { address: to.folded() });
        }
        let link = format!("{server}/test-recipients/{}", secret.reveal());
        let submission = question(&account, to.clone(), &link, now)?;
        let mail = ConfirmationMail {
            hash: secret.hash(),
            account: account.id,
            address: to.folded(),
            at: now,
        };
        let since = now.before(CONFIRMATION_LIFE);
        match self.store.ask_test_recipient(&mail, since, |facts| decide(facts, now)).await? {
            Ok(()) => {}
            Err(NotAsked::IsConfirmed(row)) => return Ok(AskedRecipient { row, mail: None }),
            Err(NotAsked::Refused(refusal)) => {
                return Err(AuthoringError::Refused(refusal.into()));
            }
        }
        let request = Request {
            id,
            idempotency: None,
            acceptance: Acceptance::Together,
            arrival: Arrival::default(),
            items: vec![Ok(submission)],
        };
        let sent = match journey.submit(caller, &request).await {
            Ok(reply) => reply.items.into_iter().next(),
            Err(refused) => Some(Err(refused)),
        };
        match sent {
            Some(Ok(receipt)) => {
                let row = self.store.test_recipients(account.id).await?;
                let row = row.into_iter().find(|it| it.address == mail.address);
                let row =
                    row.ok_or_else(|| AuthoringError::NoRecipient { address: mail.address })?;
                Ok(AskedRecipient { row, mail: Some(receipt) })
            }
            Some(Err(refused)) => {
                self.store.unask_test_recipient(&mail).await?;
                Err(AuthoringError::Refused(refused))
            }
            None => {
                self.store.unask_test_recipient(&mail).await?;
                let message = "the confirmation mail has no answer".to_owned();
                Err(AuthoringError::Refused(Refusal::Internal { message }.into()))
            }
        }
    }

    /// Takes an address off the list. Its links end with it.
    pub async fn remove_test_recipient(
        &self,
        account: AccountId,
        address: &str,
    ) -> Result<(), AuthoringError> {
        if self.store.remove_test_recipient(account, address).await? {
            return Ok(());
        }
        Err(AuthoringError::NoRecipient { address: address.to_owned() })
    }

    /// What the link with that secret asks; none where it does not work.
    pub async fn question(&self, secret: &str) -> Result<Option<Question>, StoreError> {
        let Ok(secret) = secret.parse::<Secret>() else { return Ok(None) };
        let now = self.clock.now();
        let found = self.store.confirmation(&secret.hash(), now.before(CONFIRMATION_LIFE)).await?;
        let Some(found) = found else { return Ok(None) };
        let account = self.store.account(found.account, now).await?.account;
        Ok(Some(Question { account_name: account.name, address: found.address }))
    }

    /// Confirms the address of the link with that secret; none where it does not work.
    pub async fn confirm_test_recipient(
        &self,
        secret: &str,
        ip: IpAddr,
    ) -> Result<Option<Question>, StoreError> {
        let Ok(secret) = secret.parse::<Secret>() else { return Ok(None) };
        let (now, hash) = (self.clock.now(), secret.hash());
        let since = now.before(CONFIRMATION_LIFE);
        let Some(found) = self.store.confirm_test_recipient(&hash, since, now).await? else {
            return Ok(None);
        };
        let row = AuditRow {
            at: now,
            account: Some(found.account),
            actor: ActorId::Server,
            actor_name: None,
            action: "confirm_test_recipient".to_owned(),
            subject: Some(found.address.clone()),
            ip: Some(ip.to_canonical().to_string()),
            acting: false,
        };
        self.store.record_made_change(&row).await;
        let account = self.store.account(found.account, now).await?.account;
        Ok(Some(Question { account_name: account.name, address: found.address }))
    }
}

fn decide(facts: AskingFacts, now: Timestamp) -> Result<(), NotAsked> {
    let AskingFacts { row, listed, of_account, to_address } = facts;
    let is_new = row.is_none();
    if let Some(row) = row.filter(|it| it.confirmed_at.is_some()) {
        return Err(NotAsked::IsConfirmed(row));
    }
    if is_new && listed >= MAX_TEST_ADDRESSES {
        let message = format!(
            "the account has {MAX_TEST_ADDRESSES} test recipients, which is as many as it may have; remove one first"
        );
        return Err(NotAsked::Refused(Refusal::Forbidden { message, retry_after_s: None }));
    }
    let waits = [(of_account, MAX_MAILS_OF_ACCOUNT), (to_address, MAX_MAILS_TO_ADDRESS)];
    match waits.into_iter().filter_map(|(recent, most)| wait(recent, most, now)).max() {
        Some(retry_after) => Err(NotAsked::Refused(Refusal::RateLimited { retry_after })),
        None => Ok(()),
    }
}

/// How long until one more mail is allowed; none where it is now.
fn wait(recent: RecentMails, most: u32, now: Timestamp) -> Option<Duration> {
    let oldest = recent.oldest.filter(|_| recent.count >= most)?;
    Some(now.until(oldest.after(CONFIRMATION_LIFE)))
}

/// The mail that asks.
fn question(
    account: &Account,
    to: EmailAddress,
    link: &str,
    now: Timestamp,
) -> Result<Submission, Refusal> {
    let Some(from) = &account.sender else {
        let message = "the account has no sender of its own, which the mail to the address would come from; set it \
                       on the page Domains or with PATCH /v1/account";
        return Err(Refusal::fault("address", "missing_sender", message));
    };
    let (name, hours) = (&account.name, CONFIRMATION_LIFE.as_secs() / 3_600);
    let text = format!(
        "{name} wants to send tests of its e-mail templates to {to}.\n\n\
         If you expect this, open the link and press the button:\n\n\
         {link}\n\n\
         The link works once, within {hours} hours. If you do not expect this, do nothing: no test is sent to you.\n"
    );
    let composed = mime::compose(&Outgoing {
        // Both are given anew by the journey.
        message_id: "confirmation",
        date: now,
        from_name: None,
        from,
        to: &to,
        reply_to: None,
        subject: &format!("May {name} send you tests of its e-mails?"),
        text: Some(&text),
        html: None,
        attachments: &[],
        headers: &[("Auto-Submitted".to_owned(), "auto-generated".to_owned())],
    });
    let message = RawMessage::renewed(&composed).map_err(|unfit| {
        let first = unfit.first().map(ToString::to_string).unwrap_or_default();
        Refusal::Internal { message: format!("the confirmation mail cannot be written: {first}") }
    })?;
    let raw = Raw { return_path: Some(from.clone()), message };
    Ok(Submission {
        channel: Channel::Server,
        to,
        content: Content::Raw(Arc::new(raw)),
        tags: vec!["test-recipient".to_owned()],
        metadata: Map::new(),
        send_at: None,
        warnings: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
    const NONE: RecentMails = RecentMails { count: 0, oldest: None };

    fn facts() -> AskingFacts {
        AskingFacts { row: None, listed: 0, of_account: NONE, to_address: NONE }
    }

    fn refusal(facts: AskingFacts) -> Refusal {
        match decide(facts, NOW) {
            Err(NotAsked::Refused(refusal)) => refusal,
            Err(NotAsked::IsConfirmed(_)) | Ok(()) => panic!("it is refused"),
        }
    }

    #[test]
    fn a_full_list_takes_no_new_address_and_asks_a_listed_one_again() {
        let row = TestRecipientRow {
            address: "ada@example.com".to_owned(),
            created_at: NOW,
            confirmed_at: None,
        };
        let full = AskingFacts { listed: MAX_TEST_ADDRESSES, ..facts() };
        assert!(matches!(refusal(full.clone()), Refusal::Forbidden { .. }));
        assert!(decide(AskingFacts { row: Some(row), ..full }, NOW).is_ok());
    }

    #[test]
    fn the_next_mail_may_go_when_the_oldest_of_a_day_is_past() {
        let oldest = Some(NOW.before(Duration::from_hours(1)));
        let recent = |count| RecentMails { count, oldest };
        let left = Refusal::RateLimited { retry_after: Duration::from_hours(23) };
        let to_address = recent(MAX_MAILS_TO_ADDRESS);
        assert_eq!(refusal(AskingFacts { to_address, ..facts() }), left);
        let of_account = recent(MAX_MAILS_OF_ACCOUNT);
        assert_eq!(refusal(AskingFacts { of_account, ..facts() }), left);
        let to_address = recent(MAX_MAILS_TO_ADDRESS - 1);
        assert!(decide(AskingFacts { to_address, ..facts() }, NOW).is_ok());
    }
}
