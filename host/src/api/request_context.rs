//! What is known of a request while its answer is made: its identifier, its client's address, its key, who was let in.

use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::OnceLock;

use http::Extensions;

use super::client_address::ClientAddress;
use crate::account::key::ApiKey;
use crate::clock::Clock;
use crate::id::{AccountId, KeyId, RequestId};
use crate::journey::accept::authenticate::Caller;
use crate::management::acts::Act;

/// What is known of a request while its answer is made.
#[derive(Debug)]
struct Current {
    id: RequestId,
    key: OnceLock<(KeyId, AccountId)>,
    caller: OnceLock<Caller>,
    change: OnceLock<NotedChange>,
}

/// What the audit log says of a request, where the path and the answer do not say it.
#[derive(Debug, Clone)]
pub struct NotedChange {
    /// None where that is the name of the operation.
    pub action: Option<&'static str>,
    /// None where that is the account which the request is about.
    pub account: Option<AccountId>,
    pub subject: String,
}

/// The code of the refusal that an answer is, for the log.
#[derive(Debug, Clone, Copy)]
pub struct RefusalCode(pub &'static str);

/// In the answer of an operation that could have changed something and did not: a check, or what was refused as a whole.
#[derive(Debug, Clone, Copy)]
pub struct ChangedNothing;

/// Why a connection is refused; the listener notes it with the request that came over it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionRefused {
    /// All connections are taken.
    ServerIsFull,
    /// The client's address has its share of them.
    AddressIsFull,
}

tokio::task_local! {
    static CURRENT: Current;
}

/// The identifier of the request that this task answers.
#[must_use]
pub fn current() -> RequestId {
    CURRENT.try_with(|it| it.id).unwrap_or_else(|_| RequestId::new(Clock::system().now()))
}

/// Notes whose request it is, for its line in the log.
pub fn note_key(key: &ApiKey) {
    // Outside a request there is no line.
    let _noted = CURRENT.try_with(|it| it.key.set((key.id, key.account_id)));
}

/// Notes who was let in with a key, to be checked once more when the body has arrived.
pub fn note_caller(caller: &Caller) {
    let _noted = CURRENT.try_with(|it| it.caller.set(caller.clone()));
}

/// Who was let in with a key; nobody for the control token, and on the pages.
#[must_use]
pub fn caller() -> Option<Caller> {
    CURRENT.try_with(|it| it.caller.get().cloned()).ok().flatten()
}

/// Notes what a request has done, for the audit log.
pub fn note_act(act: Act) {
    let Act { action, account, subject } = act;
    note_change(NotedChange { action: Some(action), account, subject });
}

/// Notes for the audit log what the operation of a request has changed; the action is the name of the operation.
pub fn note_subject(subject: impl Display) {
    note_change(NotedChange { action: None, account: None, subject: subject.to_string() });
}

fn note_change(change: NotedChange) {
    // Outside a request nothing is written down.
    let _noted = CURRENT.try_with(|it| it.change.set(change));
}

/// What was noted for the audit log of the request that this task answers.
#[must_use]
pub fn noted_change() -> Option<NotedChange> {
    CURRENT.try_with(|it| it.change.get().cloned()).ok().flatten()
}

/// Whose request this task answers; none before its key is known, and for the control token.
#[must_use]
pub fn key() -> Option<(KeyId, AccountId)> {
    CURRENT.try_with(|it| it.key.get().copied()).ok().flatten()
}

/// The address that a request came from, behind the proxies that are trusted.
#[must_use]
pub fn ip(extensions: &Extensions) -> IpAddr {
    let client = extensions.get::<ClientAddress>();
    client.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |client| client.0)
}

/// Makes an answer as the request `id`; with it comes whose request it was.
pub async fn within<R>(
    id: RequestId,
    answer: impl Future<Output = R>,
) -> (R, Option<(KeyId, AccountId)>) {
    let current =
        Current { id, key: OnceLock::new(), caller: OnceLock::new(), change: OnceLock::new() };
    let answer = async { (answer.await, CURRENT.with(|it| it.key.get().copied())) };
    CURRENT.scope(current, answer).await
}
