"""What the server calls: one class for each interface that the world in wit/v0 exports.

A function whose result is `result<T, E>` returns T or raises Err(E).
"""

import json

from logged import logged
from policy import SETTINGS_SCHEMA, Policy
from wit_world import exports
from wit_world.exports.plan_policy import Account, Decision, UseRequest
from wit_world.exports.plugin import Manifest, SelfTestResult
from wit_world.imports.types import CallContext

_policy = Policy({})


class Plugin(exports.Plugin):
    def describe(self) -> Manifest:
        return Manifest(
            name="warm-up",
            version="0.1.0",
            summary="A limit that doubles each day of a new account, and a price by recipients",
            settings_schema=json.dumps(SETTINGS_SCHEMA),
        )

    @logged
    def configure(self, settings: str) -> None:
        global _policy
        _policy = Policy(json.loads(settings))

    @logged
    def self_test(self, ctx: CallContext) -> list[SelfTestResult]:
        return _policy.self_test()


class PlanPolicy(exports.PlanPolicy):
    @logged
    def check(self, ctx: CallContext, who: Account, uses: list[UseRequest]) -> list[Decision]:
        return _policy.check(ctx.now_unix_ms, who, uses)
