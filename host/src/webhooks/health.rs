//! When a webhook is disabled for what its endpoint does.

use crate::clock::Timestamp;
use crate::store::EndpointHistory;

/// Why a webhook is disabled, if it is: its endpoint says that it is gone, or it has taken nothing since
/// `failing_before` although a delivery has used up its attempts or its time.
#[must_use]
pub fn reason_to_disable(health: EndpointHistory, failing_before: Timestamp) -> Option<String> {
    if health.is_gone {
        return Some("the endpoint answered 410: it is gone".to_owned());
    }
    let since = health.failing_since.filter(|since| *since <= failing_before)?;
    health.has_given_up.then(|| format!("it has taken nothing since {}", since.rfc3339()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    #[test]
    fn a_webhook_is_disabled_after_a_long_failure_or_at_once_when_gone() {
        let long_ago = Some(NOW.before(Duration::from_hours(24)));
        let health = |is_gone, has_given_up, failing_since| {
            let health = EndpointHistory { is_gone, has_given_up, failing_since };
            reason_to_disable(health, NOW.before(Duration::from_hours(1)))
        };
        assert!(health(true, false, None).is_some_and(|it| it.contains("410")));
        assert!(health(false, true, long_ago).is_some_and(|it| it.contains("2027-01-14")));
        assert_eq!(health(false, false, long_ago), None, "attempts are left");
        assert_eq!(health(false, true, Some(NOW)), None, "it has failed for a moment");
        assert_eq!(health(false, true, None), None);
    }
}
