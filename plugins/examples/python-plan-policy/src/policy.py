"""The rule itself.

Import modules at the top of a file, never inside a function: what is not imported while the
component is built cannot be imported when it runs.
"""

from dataclasses import dataclass

from wit_world.exports.plan_policy import (
    Account,
    Channel,
    Charge,
    Decision,
    Decision_Allow,
    Decision_Deny,
    Denial,
    UseRequest,
)
from wit_world.exports.plugin import SelfTestResult

# JSON Schema (2020-12). The server validates the settings with it before `configure`.
SETTINGS_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "firstDay": {
            "type": "integer",
            "minimum": 1,
            "maximum": 1_000_000,
            "default": 50,
            "description": "To how many recipients an account may send on its first day.",
        },
        "days": {
            "type": "integer",
            "minimum": 1,
            "maximum": 30,
            "default": 14,
            "description": "For how many days there is a limit; each day's is twice the last.",
        },
        "creditsPerRecipient": {
            "type": "integer",
            "minimum": 1,
            "maximum": 1000,
            "default": 1,
            "description": "What one recipient costs.",
        },
    },
}

DAY_MS = 86_400_000
# What a price is at most: credits are unsigned numbers of 32 bits.
MOST = 0xFFFF_FFFF


@dataclass
class Limit:
    """What an account may send on one day of its life."""

    day: int
    recipients: int
    ends_in_s: int


class Policy:
    def __init__(self, settings: dict) -> None:
        self.first_day: int = settings.get("firstDay", 50)
        self.days: int = settings.get("days", 14)
        self.price: int = settings.get("creditsPerRecipient", 1)

    def check(self, now_ms: int, who: Account, uses: list[UseRequest]) -> list[Decision]:
        """One decision for each use, in order; what is allowed counts for those that follow."""
        limit = self.limit(now_ms - who.created_unix_ms)
        sent = who.sent_last_day
        decisions: list[Decision] = []
        for use in uses:
            decision = self.decide(limit, sent, who.paid, use)
            if isinstance(decision, Decision_Allow):
                sent += use.recipients
            decisions.append(decision)
        return decisions

    def limit(self, age_ms: int) -> Limit | None:
        """The limit of an account of that age; None for an old one."""
        day, into_day = divmod(max(age_ms, 0), DAY_MS)
        if day >= self.days:
            return None
        return Limit(day + 1, self.first_day * 2**day, -(-(DAY_MS - into_day) // 1000))

    def decide(self, limit: Limit | None, sent: int, paid: bool, use: UseRequest) -> Decision:
        if "restricted" in use.template_tags and not paid:
            what = f"template `{use.template_slug}`" if use.template_slug else "this message"
            return deny("restricted-template", f"{what} is for accounts that pay", plan="paid")
        if limit is not None and sent + use.recipients > limit.recipients:
            message = (
                f"on day {limit.day} an account sends to at most {limit.recipients} recipients: "
                f"{sent} are used and this message has {use.recipients}"
            )
            return deny("warm-up", message, retry_after_s=limit.ends_in_s)
        noun = "credit" if self.price == 1 else "credits"
        reason = f"{self.price} {noun} a recipient"
        if limit is not None:
            reason += f", day {limit.day} of {self.days}"
        credits = min(use.recipients * self.price, MOST)
        return Decision_Allow(Charge(credits=credits, reason=reason))

    def self_test(self) -> list[SelfTestResult]:
        """Checks that run before this version decides anything; every one must pass."""
        results = []
        for day in range(self.days):
            limit = self.limit(day * DAY_MS)
            allowed = limit.recipients if limit else 0
            last = self.decide(limit, allowed - 1, True, one_recipient())
            over = self.decide(limit, allowed, True, one_recipient())
            passed = isinstance(last, Decision_Allow) and isinstance(over, Decision_Deny)
            detail = "" if passed else f"{last!r} {over!r}"
            name = f"day {day + 1}: the last recipient is allowed and the next refused"
            results.append(SelfTestResult(name, passed, detail))
        old = self.decide(self.limit(self.days * DAY_MS), 10**9, True, one_recipient())
        name = "an old account has no limit"
        results.append(SelfTestResult(name, isinstance(old, Decision_Allow), repr(old)))
        return results


def one_recipient() -> UseRequest:
    return UseRequest(Channel.API, "self-test", None, [], "example.com", 1, 1024)


def deny(
    code: str, message: str, plan: str | None = None, retry_after_s: int | None = None
) -> Decision:
    return Decision_Deny(Denial(code, message, plan, retry_after_s))
