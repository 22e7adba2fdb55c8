"""What the server calls: `Plugin` here, and the class of the interface `renderer` in renderer.py.

A function whose result is `result<T, E>` returns T or raises Err(E).
"""

import json

import language
from logged import logged
from wit_world import exports
from wit_world.exports.plugin import Manifest, SelfTestResult
from wit_world.exports.renderer import Part, Source
from wit_world.imports.types import CallContext


class Plugin(exports.Plugin):
    def describe(self) -> Manifest:
        return Manifest(
            name="__NAME__",
            version="0.1.0",
            summary="Replaces {{ name }} by the data's values, escaped in HTML",
            settings_schema=json.dumps(language.SETTINGS_SCHEMA),
        )

    @logged
    def configure(self, settings: str) -> None:
        language.settings = json.loads(settings)

    @logged
    def self_test(self, ctx: CallContext) -> list[SelfTestResult]:
        """Checks that run before this version renders anything; every one must pass."""
        source = [Source(Part.HTML, "<p>{{ name }}</p>")]
        output = language.Template(source, None, language.settings).render('{ "name": "<Ada>" }')
        texts = [it.text for it in output.bodies]
        passed = texts == ["<p>&lt;Ada&gt;</p>", "<Ada>\n"]
        return [SelfTestResult("renders and escapes", passed, repr(texts))]
