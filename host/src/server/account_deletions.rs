//! The deletion of accounts, by one node, with the sandbox inbox of this server.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::tasks::{Tasks, once};
use crate::clock::Clock;
use crate::inbox::store::InboxStore;
use crate::nodes::{Job, Membership};
use crate::store::{SandboxMail, Store};
use crate::upkeep::account_deletion::{self, InboxFailure};

pub fn start(
    (store, clock): (&Store, &Clock),
    inbox: &InboxStore,
    membership: &Arc<Membership>,
    (core, stop): (&Tasks, &CancellationToken),
) {
    let (store, clock, inbox) = (store.clone(), clock.clone(), inbox.clone());
    let delete = move |stop| {
        let inbox = inbox.clone();
        let drop_mail = move |mails| delete_mail(inbox.clone(), mails);
        account_deletion::run(store.clone(), clock.clone(), drop_mail, stop)
    };
    core.start("account deletions", once(membership, Job::AccountDeletions, stop, delete));
}

async fn delete_mail(inbox: InboxStore, mails: Vec<SandboxMail>) -> Result<(), InboxFailure> {
    Ok(inbox.delete_sent(&mails).await?)
}
