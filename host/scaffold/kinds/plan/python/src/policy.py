"""The rule itself.

Import modules at the top of a file, never inside a function: what is not imported while the
component is built cannot be imported when it runs.
"""

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
        "creditsPerRecipient": {
            "type": "integer",
            "minimum": 1,
            "maximum": 1000,
            "default": 1,
            "description": "What one recipient costs.",
        },
    },
}

# What a price is at most: credits are unsigned numbers of 32 bits.
MOST = 0xFFFF_FFFF


class Policy:
    def __init__(self, settings: dict) -> None:
        self.price: int = settings.get("creditsPerRecipient", 1)

    def check(self, who: Account, uses: list[UseRequest]) -> list[Decision]:
        """One decision for each use, in order."""
        return [self.decide(who.paid, it) for it in uses]

    def decide(self, paid: bool, use: UseRequest) -> Decision:
        if "restricted" in use.template_tags and not paid:
            what = f"template `{use.template_slug}`" if use.template_slug else "this message"
            return Decision_Deny(
                Denial(
                    code="restricted-template",
                    message=f"{what} is for accounts that pay",
                    required_plan="paid",
                    retry_after_s=None,
                )
            )
        noun = "credit" if self.price == 1 else "credits"
        reason = f"{self.price} {noun} a recipient"
        credits = min(use.recipients * self.price, MOST)
        return Decision_Allow(Charge(credits=credits, reason=reason))

    def self_test(self) -> list[SelfTestResult]:
        """Checks that run before this version decides anything; every one must pass."""
        use = UseRequest(Channel.API, None, None, ["restricted"], "example.com", 2, 1024)
        paid = self.decide(True, use)
        free = self.decide(False, use)
        price = isinstance(paid, Decision_Allow) and paid.value.credits == 2 * self.price
        return [
            result("the price is for each recipient", price, paid),
            result("restricted templates need a paid plan", isinstance(free, Decision_Deny), free),
        ]


def result(name: str, passed: bool, got: Decision) -> SelfTestResult:
    return SelfTestResult(name=name, passed=passed, detail="" if passed else repr(got))
