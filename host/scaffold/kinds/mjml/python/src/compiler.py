"""The compiler itself. Liquid in the source stays as it is: the server renders it when a message is
sent.

Import modules at the top of a file, never inside a function: what is not imported while the
component is built cannot be imported when it runs.
"""

import re

from componentize_py_types import Err
from wit_world.exports.mjml_compiler import Compiled, Document
from wit_world.exports.plugin import SelfTestResult
from wit_world.imports.types import Diagnostic, Severity

# JSON Schema (2020-12). The server validates the settings with it before `configure`.
SETTINGS_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "language": {
            "type": "string",
            "pattern": "^[A-Za-z-]{2,35}$",
            "default": "en",
            "description": "The language of the document, for screen readers.",
        },
    },
}

KNOWN = "mjml, mj-body, mj-section, mj-column and mj-text, without attributes"
TAG = re.compile(r"</?mj[^>]*>?")


class Compiler:
    def __init__(self, settings: dict) -> None:
        language = settings.get("language", "en")
        self.elements: dict[str, str] = {
            "<mjml>": f'<!doctype html><html lang="{language}">',
            "</mjml>": "</html>",
            "<mj-body>": "<body>",
            "</mj-body>": "</body>",
            "<mj-section>": '<table role="presentation" width="100%"><tr>',
            "</mj-section>": "</tr></table>",
            "<mj-column>": "<td>",
            "</mj-column>": "</td>",
            "<mj-text>": "<p>",
            "</mj-text>": "</p>",
        }

    def compile(self, document: Document) -> Compiled:
        """HTML; raises Err with every fault and its line and column."""
        source = document.source
        tags = TAG.finditer(source)
        faults = [unknown(source, it) for it in tags if it.group() not in self.elements]
        if faults:
            raise Err(faults)
        html = TAG.sub(lambda it: self.elements[it.group()], source)
        return Compiled(html=html, preheader=None, warnings=[])

    def self_test(self) -> list[SelfTestResult]:
        """Checks that run before this version compiles anything; every one must pass."""
        source = "<mjml><mj-body>{{ name }}</mj-body></mjml>"
        html = self.compile(Document(source=source, includes=[])).html
        passed = "<body>{{ name }}</body>" in html
        name = "compiles, and keeps Liquid"
        return [SelfTestResult(name=name, passed=passed, detail="" if passed else html)]


def unknown(source: str, tag: re.Match[str]) -> Diagnostic:
    """Line and column are those of the author's source."""
    before = source[: tag.start()].split("\n")
    return Diagnostic(
        severity=Severity.ERROR,
        code="unknown_element",
        message=f"`{tag.group()}` is not known; known are {KNOWN}",
        line=len(before),
        column=len(before[-1]) + 1,
        snippet=None,
        path=None,
        part="mjml",
    )
