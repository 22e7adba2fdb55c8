//! The health of endpoints (a circuit breaker): their speed, their `Retry-After`, and which of them fail. Kept in
//! memory, and learned again after a start.
//!
//! A webhook with another URL is another endpoint.

use std::collections::HashMap;
use std::time::Duration;

use super::slots::EndpointHealth;
use crate::clock::Timestamp;
use crate::id::WebhookId;
use crate::store::Waiting;
use crate::webhooks::schedule::{Schedule, honoured};

/// Failures in a row after which an endpoint is only probed: one attempt at a time, with pauses.
const FAILURES_BEFORE_PROBING: u32 = 5;
/// An endpoint that fails for this long although it is probed all the time fails lastingly.
const LASTING_AFTER: Duration = Duration::from_hours(1);
/// Endpoints that are remembered; more only while they are paused by `Retry-After`.
const MAX_REMEMBERED: usize = 10_000;

#[derive(Debug)]
pub struct EndpointTracker {
    known: HashMap<WebhookId, Known>,
    /// The number above which healthy endpoints are forgotten.
    most: usize,
}

/// How an attempt ended.
#[derive(Debug, Clone)]
pub struct EndpointReply {
    pub url: String,
    pub ending: Ending,
    pub pace: EndpointHealth,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Accepted,
    /// Not accepted, with the `Retry-After` that was sent.
    Rejected(Option<Duration>),
}

#[derive(Debug)]
struct Known {
    url: String,
    pace: EndpointHealth,
    /// Failures since the last success, and the time of the first.
    failures: u32,
    since: Timestamp,
    /// Nothing is posted before these moments: by `Retry-After`, and by the back-off after
    /// failures.
    asked: Option<Timestamp>,
    probed: Option<Timestamp>,
}

impl Default for EndpointTracker {
    fn default() -> Self {
        Self { known: HashMap::new(), most: MAX_REMEMBERED }
    }
}

impl EndpointTracker {
    /// How the endpoint answers; none without a record.
    pub fn pace(&self, waiting: &Waiting) -> Option<EndpointHealth> {
        match self.of(waiting) {
            Some(known) if known.fails() => Some(EndpointHealth::Failing),
            Some(_) | None if waiting.fails => Some(EndpointHealth::Slow),
            Some(known) => Some(known.pace),
            None => None,
        }
    }

    /// Until when nothing is posted to the endpoint; none where it may be now.
    pub fn paused_until(&self, waiting: &Waiting, now: Timestamp) -> Option<Timestamp> {
        let known = self.of(waiting)?;
        // A clock that was set back must not make it longer than any pause is.
        let is_ahead =
            |until: &Timestamp| *until > now && *until <= now.after(honoured(Duration::MAX));
        known.asked.max(known.probed).filter(is_ahead)
    }

    /// Whether the endpoint has failed for long, although it was probed all the time.
    pub fn fails_lastingly(&self, waiting: &Waiting, now: Timestamp) -> bool {
        self.of(waiting).is_some_and(|it| it.fails() && it.since <= now.before(LASTING_AFTER))
    }

    /// Records the outcome of an attempt.
    pub fn record(
        &mut self,
        webhook: WebhookId,
        answer: &EndpointReply,
        schedule: &Schedule,
        now: Timestamp,
    ) {
        if self.known.len() >= self.most && !self.known.contains_key(&webhook) {
            self.forget_some(now);
        }
        let EndpointReply { url, ending, pace } = answer;
        let known = self.known.entry(webhook).or_insert_with(|| Known::new(url, *pace));
        if known.url != *url {
            *known = Known::new(url, *pace);
        }
        known.pace = *pace;
        match ending {
            Ending::Accepted => {
                if known.fails() {
                    tracing::info!(%webhook, failures = known.failures, "webhook endpoint recovered; resuming delivery");
                }
                // Its `Retry-After` still holds: this attempt began before it.
                (known.failures, known.probed) = (0, None);
            }
            Ending::Rejected(asked) => {
                if known.failures == 0 {
                    known.since = now;
                }
                known.failures = known.failures.saturating_add(1);
                let asked = asked.map(|it| now.after(honoured(it))).filter(|it| *it > now);
                known.asked = known.asked.max(asked);
                if known.fails() {
                    known.probed = Some(now.after(schedule.probe(known.since.until(now))));
                }
                if known.failures == FAILURES_BEFORE_PROBING {
                    tracing::warn!(%webhook, "webhook endpoint keeps failing; backing off to single probes");
                }
            }
        }
    }

    /// Forgets every endpoint, because the clock was set back.
    pub fn forget(&mut self) {
        self.known.clear();
    }

    fn of(&self, waiting: &Waiting) -> Option<&Known> {
        self.known.get(&waiting.webhook).filter(|it| it.url == waiting.url)
    }

    fn forget_some(&mut self, now: Timestamp) {
        let is_asked = |it: &Known| it.asked.is_some_and(|until| until > now);
        self.known.retain(|_, it| it.fails() || is_asked(it));
        if self.known.len() > MAX_REMEMBERED / 2 {
            self.known.retain(|_, it| is_asked(it));
        }
        // Raises the bound, so that this does not run at every attempt.
        self.most = MAX_REMEMBERED.max(self.known.len() * 2);
    }
}

impl Known {
    fn new(url: &str, pace: EndpointHealth) -> Self {
        let since = Timestamp::from_millis(0);
        Self { url: url.to_owned(), pace, failures: 0, since, asked: None, probed: None }
    }

    fn fails(&self) -> bool {
        self.failures >= FAILURES_BEFORE_PROBING
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{WebhookOwner, WebhookState};

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
    const URL: &str = "https://example.com/";

    fn waiting(webhook: WebhookId, url: &str) -> Waiting {
        Waiting {
            webhook,
            url: url.to_owned(),
            owner: WebhookOwner::Server,
            state: WebhookState::Active,
            fails: false,
            due: NOW,
        }
    }

    fn answer(ending: Ending) -> EndpointReply {
        EndpointReply { url: URL.to_owned(), ending, pace: EndpointHealth::Fast }
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn an_endpoint_is_left_alone_for_as_long_as_it_asks_and_not_for_ever() {
        let (mut all, schedule, id) =
            (EndpointTracker::default(), Schedule::default(), WebhookId::new(NOW));
        let it = waiting(id, URL);
        assert_eq!((all.pace(&it), all.paused_until(&it, NOW)), (None, None));
        all.record(id, &answer(Ending::Rejected(Some(seconds(6)))), &schedule, NOW);
        all.record(id, &answer(Ending::Rejected(Some(seconds(2)))), &schedule, NOW);
        all.record(id, &answer(Ending::Rejected(None)), &schedule, NOW);
        all.record(id, &answer(Ending::Accepted), &schedule, NOW);
        let until = NOW.after(seconds(6));
        assert_eq!(all.paused_until(&it, NOW), Some(until), "the longest, whatever was under way");
        assert_eq!(all.paused_until(&it, until), None);
        assert_eq!(
            all.paused_until(&waiting(id, "https://example.com/2"), NOW),
            None,
            "another one"
        );
        assert_eq!(all.paused_until(&waiting(WebhookId::new(NOW), URL), NOW), None);
        all.record(id, &answer(Ending::Rejected(Some(Duration::MAX))), &schedule, NOW);
        assert_eq!(all.paused_until(&it, NOW), Some(NOW.after(Duration::from_hours(24))));
        all.forget();
        assert_eq!((all.pace(&it), all.paused_until(&it, NOW)), (None, None));
    }

    #[test]
    fn an_endpoint_that_keeps_failing_is_probed_with_pauses_that_grow() {
        let (mut all, schedule, id) =
            (EndpointTracker::default(), Schedule::default(), WebhookId::new(NOW));
        let it = waiting(id, URL);
        for _ in 0..2 {
            for _ in 1..FAILURES_BEFORE_PROBING {
                all.record(id, &answer(Ending::Rejected(None)), &schedule, NOW);
                assert_eq!(
                    (all.pace(&it), all.paused_until(&it, NOW)),
                    (Some(EndpointHealth::Fast), None)
                );
            }
            let failing = Waiting { fails: true, ..it.clone() };
            assert_eq!(all.pace(&failing), Some(EndpointHealth::Slow), "as the database has it");
            for (after, pause) in
                [(0, 100), (1, 500), (20, 10_000), (3_599, 60_000), (3_600, 60_000)]
            {
                let now = NOW.after(seconds(after));
                all.record(id, &answer(Ending::Rejected(None)), &schedule, now);
                assert_eq!(all.pace(&failing), Some(EndpointHealth::Failing));
                assert_eq!(
                    all.paused_until(&it, now),
                    Some(now.after(Duration::from_millis(pause))),
                    "{after}"
                );
                assert_eq!(all.fails_lastingly(&it, now), after == 3_600);
            }
            all.record(id, &answer(Ending::Accepted), &schedule, NOW);
        }
        assert_eq!((all.pace(&it), all.paused_until(&it, NOW)), (Some(EndpointHealth::Fast), None));
    }

    #[test]
    fn what_is_remembered_is_bounded_and_a_wish_is_not_forgotten() {
        let (mut all, schedule) = (EndpointTracker::default(), Schedule::default());
        let asked = WebhookId::new(NOW);
        all.record(asked, &answer(Ending::Rejected(Some(seconds(60)))), &schedule, NOW);
        for _ in 0..3 * MAX_REMEMBERED {
            let id = WebhookId::new(NOW);
            for _ in 0..FAILURES_BEFORE_PROBING {
                all.record(id, &answer(Ending::Rejected(None)), &schedule, NOW);
            }
        }
        assert!(all.known.len() <= MAX_REMEMBERED, "{}", all.known.len());
        assert!(all.paused_until(&waiting(asked, URL), NOW).is_some());
    }
}
