"""The rule itself.

Import modules at the top of a file, never inside a function: what is not imported while the
component is built cannot be imported when it runs.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from wit_world.exports.domain_policy import (
    DkimKey,
    Domain,
    Finding,
    Judgement,
    Observation,
    Outcome_Answers,
    Outcome_NoData,
    Outcome_NxDomain,
    Purpose,
    RecordType,
    Requirement,
    Status,
)
from wit_world.exports.plugin import SelfTestResult

# JSON Schema (2020-12). The server validates the settings with it before `configure`.
SETTINGS_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "requireDmarc": {
            "type": "boolean",
            "default": False,
            "description": "Whether a domain needs a DMARC record before it may send.",
        },
    },
}

RECHECK_OPEN_S = 900
RECHECK_DONE_S = 86_400


@dataclass
class Record:
    """A requirement with its rule: `right` says whether one TXT record satisfies it."""

    requirement: Requirement
    right: Callable[[str], bool]


class Policy:
    def __init__(self, settings: dict) -> None:
        self.require_dmarc: bool = settings.get("requireDmarc", False)

    def require(self, domain: Domain) -> list[Requirement]:
        """The records that a domain must or should publish."""
        return [it.requirement for it in self.records(domain)]

    def judge(self, domain: Domain, seen: list[Observation]) -> Judgement:
        """A finding for each record; `seen` is what the server's resolvers answered."""
        records = self.records(domain)
        findings = [finding(it, seen) for it in records]
        still_open = any(
            record.requirement.required and it.status is not Status.SATISFIED
            for record, it in zip(records, findings)
        )
        return Judgement(findings, RECHECK_OPEN_S if still_open else RECHECK_DONE_S)

    def self_test(self) -> list[SelfTestResult]:
        """Checks that run before this version decides anything; every one must pass."""
        key = DkimKey("wx1", "MIIB", "rsa-sha256")
        name = "example.com"
        domain = Domain(name, name, "tok3n", [key], "spf.example.net", "", "free", [])
        records = self.records(domain)
        wrong = [it.requirement.id for it in records if not it.right(it.requirement.suggested_value)]
        return [
            SelfTestResult(
                name="every suggested value satisfies its own rule",
                passed=not wrong,
                detail=", ".join(wrong),
            )
        ]

    def records(self, domain: Domain) -> list[Record]:
        # The server's own sandbox domain needs no DNS.
        if any(it.key == "sandbox" and it.value == "true" for it in domain.extra):
            return []
        name = domain.name
        ownership = f"waxwing-verification={domain.verification_token}"
        records = [
            txt(
                "ownership",
                Purpose.OWNERSHIP,
                True,
                f"_waxwing.{name}",
                ownership,
                "Proves that the domain is yours.",
                lambda text: text.strip() == ownership,
            )
        ]
        records += [dkim(name, it) for it in domain.dkim]
        if domain.spf_include:
            include = f"include:{domain.spf_include}"
            records.append(
                txt(
                    "spf",
                    Purpose.SPF,
                    True,
                    name,
                    f"v=spf1 {include} ~all",
                    f"Lets this server send. If there is an SPF record, add {include} to it.",
                    lambda text: text.lower().split()[:1] == ["v=spf1"] and include in text.split(),
                )
            )
        records.append(
            txt(
                "dmarc",
                Purpose.DMARC,
                self.require_dmarc,
                f"_dmarc.{name}",
                "v=DMARC1; p=none",
                "Says what receivers do with mail that only pretends to come from you.",
                lambda text: re.match(r"v=DMARC1 *;", text, re.IGNORECASE) is not None,
            )
        )
        return records


def dkim(name: str, key: DkimKey) -> Record:
    value = f"v=DKIM1; k={key.algorithm.split('-')[0]}; p={key.public_key_base64}"
    return txt(
        f"dkim:{key.selector}",
        Purpose.DKIM,
        True,
        f"{key.selector}._domainkey.{name}",
        value,
        "Lets receivers check that your mail comes from you and was not changed.",
        lambda text: f"p={key.public_key_base64}" in text.replace(" ", "").split(";"),
    )


def txt(
    id: str,
    purpose: Purpose,
    required: bool,
    name: str,
    suggested_value: str,
    help: str,
    right: Callable[[str], bool],
) -> Record:
    record_type = RecordType.TXT
    requirement = Requirement(id, purpose, required, name, record_type, suggested_value, help)
    return Record(requirement, right)


def finding(record: Record, seen: list[Observation]) -> Finding:
    id, name = record.requirement.id, record.requirement.name
    answers = []
    for it in seen:
        if it.lookup_id == id and isinstance(it.outcome, Outcome_Answers):
            answers.append([plain(answer.data) for answer in it.outcome.value])
        elif it.lookup_id == id and isinstance(it.outcome, (Outcome_NoData, Outcome_NxDomain)):
            answers.append([])
    found = list(dict.fromkeys(text for texts in answers for text in texts))
    agreeing = sum(any(record.right(text) for text in texts) for texts in answers)
    add = f"Add a TXT record {name} with the value {record.requirement.suggested_value}."
    if not answers:
        status, hint = Status.UNKNOWN, "No name server gave an answer. It is asked again."
    elif agreeing == len(answers):
        status, hint = Status.SATISFIED, "The record is right."
    elif agreeing > 0:
        status, hint = Status.PROPAGATING, "Some name servers still give the old answer."
    elif found:
        status, hint = Status.WRONG, f"There are other records. {add}"
    else:
        status, hint = Status.MISSING, add
    return Finding(id, status, found, hint)


def plain(data: str) -> str:
    """TXT data without quotes; the strings of one record are joined without a space."""
    text = data.strip()
    if len(text) < 2 or text[0] != '"' or text[-1] != '"':
        return data
    return re.sub(r'"\s+"', "", text[1:-1])
