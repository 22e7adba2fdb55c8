"""What the server calls: one class for each interface that the world in wit/v0 exports.

A function whose result is `result<T, E>` returns T or raises Err(E).
"""

import json

from logged import logged
from policy import SETTINGS_SCHEMA, Policy
from wit_world import exports
from wit_world.exports.domain_policy import (
    Domain,
    Observation,
    Requirement,
    Verdict,
    Verdict_Decided,
)
from wit_world.exports.plugin import Manifest, SelfTestResult
from wit_world.imports.types import CallContext

_policy = Policy({})


class Plugin(exports.Plugin):
    def describe(self) -> Manifest:
        return Manifest(
            name="__NAME__",
            version="0.1.0",
            summary="Ownership, DKIM and SPF are required, DMARC is advised",
            settings_schema=json.dumps(SETTINGS_SCHEMA),
        )

    @logged
    def configure(self, settings: str) -> None:
        global _policy
        _policy = Policy(json.loads(settings))

    @logged
    def self_test(self, ctx: CallContext) -> list[SelfTestResult]:
        return _policy.self_test()


class DomainPolicy(exports.DomainPolicy):
    @logged
    def require(self, ctx: CallContext, d: Domain) -> list[Requirement]:
        return _policy.require(d)

    @logged
    def judge(self, ctx: CallContext, d: Domain, seen: list[Observation]) -> Verdict:
        return Verdict_Decided(_policy.judge(d, seen))
