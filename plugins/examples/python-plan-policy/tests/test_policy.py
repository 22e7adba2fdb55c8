import context  # noqa: F401  (finds src and the generated types)
import unittest

from policy import DAY_MS, Policy
from wit_world.exports.plan_policy import (
    Account,
    Channel,
    Charge,
    Decision_Allow,
    Decision_Deny,
    UseRequest,
)


NOW_MS = 1_767_225_600_000


def account(age_days: float, sent_last_day: int = 0, paid: bool = True) -> Account:
    created = NOW_MS - int(age_days * DAY_MS)
    return Account("acc_test", "free", paid, 100, created, sent_last_day, sent_last_day, [])


def use(recipients: int = 1, tags: tuple[str, ...] = ()) -> UseRequest:
    return UseRequest(Channel.API, "offer", None, list(tags), "example.com", recipients, 1024)


class PolicyTest(unittest.TestCase):
    def test_the_limit_doubles_each_day(self) -> None:
        for age, limit in [(0, 50), (0.9, 50), (1, 100), (3, 400)]:
            allowed, refused = Policy({}).check(NOW_MS, account(age), [use(limit), use()])
            self.assertIsInstance(allowed, Decision_Allow, age)
            self.assertIsInstance(refused, Decision_Deny, age)

    def test_what_is_refused_can_be_sent_when_the_next_day_begins(self) -> None:
        who = account(0.75, sent_last_day=50)
        (refused,) = Policy({}).check(NOW_MS, who, [use()])
        self.assertEqual(refused.value.code, "warm-up")
        self.assertEqual(refused.value.retry_after_s, 6 * 3600)

    def test_an_old_account_has_no_limit_and_pays_for_each_recipient(self) -> None:
        who = account(14, sent_last_day=10**6)
        decisions = Policy({"creditsPerRecipient": 2}).check(NOW_MS, who, [use(3)])
        self.assertEqual(decisions, [Decision_Allow(Charge(6, "2 credits a recipient"))])

    def test_a_restricted_template_is_for_accounts_that_pay(self) -> None:
        uses = [use(tags=("restricted",))]
        (refused,) = Policy({}).check(NOW_MS, account(20, paid=False), uses)
        self.assertEqual(refused.value.code, "restricted-template")
        self.assertIsInstance(Policy({}).check(NOW_MS, account(20), uses)[0], Decision_Allow)

    def test_the_self_test_passes(self) -> None:
        for result in Policy({"firstDay": 1, "days": 30}).self_test():
            self.assertTrue(result.passed, result.name)


if __name__ == "__main__":
    unittest.main()
