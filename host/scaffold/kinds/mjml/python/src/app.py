"""What the server calls: one class for each interface that the world in wit/v0 exports.

A function whose result is `result<T, E>` returns T or raises Err(E).
"""

import json

from compiler import SETTINGS_SCHEMA, Compiler
from logged import logged
from wit_world import exports
from wit_world.exports.mjml_compiler import Compiled, Document
from wit_world.exports.plugin import Manifest, SelfTestResult
from wit_world.imports.types import CallContext

_compiler = Compiler({})


class Plugin(exports.Plugin):
    def describe(self) -> Manifest:
        return Manifest(
            name="__NAME__",
            version="0.1.0",
            summary="A small dialect of MJML: sections, columns and texts",
            settings_schema=json.dumps(SETTINGS_SCHEMA),
        )

    @logged
    def configure(self, settings: str) -> None:
        global _compiler
        _compiler = Compiler(json.loads(settings))

    @logged
    def self_test(self, ctx: CallContext) -> list[SelfTestResult]:
        return _compiler.self_test()


class MjmlCompiler(exports.MjmlCompiler):
    @logged
    def compile(self, ctx: CallContext, doc: Document) -> Compiled:
        return _compiler.compile(doc)
