//! Replays the stored reply to an idempotency key used within 24 h, as far as the API key that asks may see what the
//! reply is about.

use super::receipt::Reply;
use crate::account::key::ApiKey;
use crate::id::MessageId;
use crate::journey::accept::Accept;
use crate::journey::accept::abort::on_current_facts;
use crate::journey::accept::authenticate::{Caller, recheck_caller};
use crate::journey::accept::refusal::{Refusal, Refused};
use crate::journey::accept::request::Request;
use crate::store::records::Answer;
use crate::store::{Store, StoreError};

/// The kept reply to an equal request; none where there was no such request.
///
/// # Errors
/// `IDEMPOTENCY_CONFLICT` where the request was another one, or the caller may not send any more.
pub async fn kept_reply(
    accept: &Accept,
    store: &Store,
    caller: &Caller,
    request: &Request,
) -> Result<Option<Reply>, Refused> {
    let Some(idempotency) = &request.idempotency else { return Ok(None) };
    let (key, now) = (&caller.key, accept.clock.now());
    let kept = store.kept_answer(key.account_id, key.mode, idempotency, now).await;
    let Some(kept) = kept.map_err(|error| Refusal::store_outage(&error))? else { return Ok(None) };
    // No commit follows that would notice a key which was switched off in the meantime.
    let sender = on_current_facts(&accept.facts, |snapshot| async move {
        recheck_caller(&snapshot, caller, now).await
    })
    .await?;
    let Some(answers) = kept else { return Err(Refusal::IdempotencyConflict.into()) };
    let answers = covered(store, &sender.key, answers).await;
    let answers = answers.map_err(|error| Refusal::store_outage(&error))?;
    Ok(Some(Reply::replayed(answers, request)))
}

/// Answers that another key of the account may have got: a restricted key sees only those about
/// messages that it might have sent itself.
async fn covered(
    store: &Store,
    key: &ApiKey,
    answers: Vec<Answer>,
) -> Result<Vec<Answer>, StoreError> {
    if key.covers_all() {
        return Ok(answers);
    }
    let sent: Vec<MessageId> = answers.iter().filter_map(message).collect();
    let origins = store.origins(&sent).await?;
    let is_covered = |id: &MessageId| {
        let origin = origins.get(id);
        origin.is_some_and(|it| key.covers(&it.domain, it.template.as_deref()))
    };
    let held = |answer: Answer| match message(&answer) {
        Some(id) if !is_covered(&id) => {
            let message = "the key may not send this message, which another key of the account has \
                           sent under this idempotency key";
            let refusal = Refusal::Forbidden { message: message.to_owned(), retry_after_s: None };
            Answer::Refused { refusal: Refused::from(refusal).to_json() }
        }
        Some(_) | None => answer,
    };
    Ok(answers.into_iter().map(held).collect())
}

fn message(answer: &Answer) -> Option<MessageId> {
    match answer {
        Answer::Accepted { message_id, .. } => Some(*message_id),
        Answer::Insufficient { .. } | Answer::Refused { .. } => None,
    }
}
