import context  # noqa: F401  (finds src and the generated types)
import unittest

from policy import Policy
from wit_world.exports.domain_policy import Answer, Domain, Observation, Outcome_Answers, Status

NAME = "example.com"
DOMAIN = Domain(NAME, NAME, "tok3n", [], "spf.mail.example", "", "free", [])


def saw(lookup_id: str, *texts: str) -> Observation:
    answers = Outcome_Answers([Answer(it, 300) for it in texts])
    return Observation(lookup_id, "192.0.2.53", answers, [], False, 0)


def statuses(seen: list[Observation]) -> dict[str, Status]:
    return {it.requirement_id: it.status for it in Policy({}).judge(DOMAIN, seen).findings}


class PolicyTest(unittest.TestCase):
    def test_what_is_suggested_is_right(self) -> None:
        seen = [saw(it.id, it.suggested_value) for it in Policy({}).require(DOMAIN)]
        self.assertEqual(set(statuses(seen).values()), {Status.SATISFIED})
        self.assertEqual(list(statuses(seen)), ["ownership", "spf", "dmarc"])

    def test_a_record_in_quotes_counts_and_another_token_does_not(self) -> None:
        spf = saw("spf", '"v=spf1 include:spf." "mail.example ~all"')
        found = statuses([saw("ownership", "waxwing-verification=0ther"), spf])
        self.assertEqual(found["ownership"], Status.WRONG)
        self.assertEqual(found["spf"], Status.SATISFIED)
        self.assertEqual(found["dmarc"], Status.UNKNOWN)

    def test_resolvers_that_disagree_mean_that_the_record_is_propagating(self) -> None:
        seen = [saw("ownership", "waxwing-verification=tok3n"), saw("ownership")]
        self.assertEqual(statuses(seen)["ownership"], Status.PROPAGATING)

    def test_the_self_test_passes(self) -> None:
        for result in Policy({}).self_test():
            self.assertTrue(result.passed, result.name)


if __name__ == "__main__":
    unittest.main()
