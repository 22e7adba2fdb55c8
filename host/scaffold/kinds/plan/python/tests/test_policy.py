import context  # noqa: F401  (finds src and the generated types)
import unittest

from policy import Policy
from wit_world.exports.plan_policy import (
    Account,
    Channel,
    Charge,
    Decision_Allow,
    Decision_Deny,
    UseRequest,
)


def account(paid: bool) -> Account:
    return Account("acc_test", "free", paid, 100, 0, 0, 0, [])


def use(recipients: int = 1, tags: tuple[str, ...] = ()) -> UseRequest:
    return UseRequest(Channel.API, "offer", None, list(tags), "example.com", recipients, 1024)


class PolicyTest(unittest.TestCase):
    def test_the_price_is_for_each_recipient(self) -> None:
        decisions = Policy({"creditsPerRecipient": 2}).check(account(False), [use(recipients=3)])
        self.assertEqual(decisions, [Decision_Allow(Charge(6, "2 credits a recipient"))])

    def test_the_largest_send_has_a_price(self) -> None:
        largest = 0xFFFF_FFFF
        [decision] = Policy({"creditsPerRecipient": 2}).check(account(False), [use(largest)])
        self.assertEqual(decision, Decision_Allow(Charge(largest, "2 credits a recipient")))

    def test_a_restricted_template_is_refused_to_an_account_that_does_not_pay(self) -> None:
        uses = [use(tags=("restricted",)), use()]
        refused, other = Policy({}).check(account(False), uses)
        self.assertIsInstance(refused, Decision_Deny)
        self.assertEqual(refused.value.code, "restricted-template")
        self.assertIsInstance(other, Decision_Allow)
        self.assertIsInstance(Policy({}).check(account(True), uses)[0], Decision_Allow)

    def test_the_self_test_passes(self) -> None:
        for result in Policy({}).self_test():
            self.assertTrue(result.passed, result.name)


if __name__ == "__main__":
    unittest.main()
