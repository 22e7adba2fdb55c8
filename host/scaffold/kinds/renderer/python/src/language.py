"""The template language: `{{ name }}` and `{{ user.name }}` stand for values of the data, escaped
in HTML.

Import modules at the top of a file, never inside a function: what is not imported while the
component is built cannot be imported when it runs.
"""

import html
import json
import re
from dataclasses import dataclass

from componentize_py_types import Err
from wit_world.exports.renderer import Body, Output, Part, Source, Variable
from wit_world.imports.types import Diagnostic, Failure_InvalidInput, Severity

# JSON Schema (2020-12). The server validates the settings with it before `configure`.
SETTINGS_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "missing": {
            "enum": ["refuse", "empty"],
            "default": "refuse",
            "description": "What a value that is not in the data does: refuse the send, or "
            "print nothing.",
        },
    },
}

# What `configure` was given.
settings: dict = {}

NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)
# Names that a layout is given beside the data.
GIVEN = ("content", "subject", "preheader")


@dataclass
class Piece:
    """Exactly one of: source text, a path into the data, a name that only layouts have."""

    text: str | None = None
    path: str | None = None
    given: str | None = None


@dataclass
class Unit:
    part: Part
    pieces: list[Piece]
    derived: bool = False


class Template:
    """A template that is parsed and checked. Raises Err with every fault."""

    def __init__(self, sources: list[Source], layout: str | None, settings: dict) -> None:
        self.lenient: bool = settings.get("missing") == "empty"
        self.units: list[Unit] = []
        faults: list[Diagnostic] = []
        for it in sources:
            pieces = parse(it.text, it.part.name.lower(), faults)
            if it.part is Part.HTML and layout is not None:
                pieces = wrap(pieces, parse(layout, "layout", faults))
            self.units.append(Unit(it.part, pieces))
        source = next((it.text for it in sources if it.part is Part.HTML), None)
        if source is not None and all(it.part is not Part.TEXT for it in sources):
            # What fails here has failed in the HTML already.
            pieces = parse(without_tags(source), "html", [])
            if layout is not None:
                pieces = wrap(pieces, parse(without_tags(layout), "layout", []))
            self.units.append(Unit(Part.TEXT, pieces, derived=True))
        if faults:
            raise Err(faults)

    def variables(self) -> list[Variable]:
        """The names that the template reads, each once."""
        paths = [it.path for unit in self.units for it in unit.pieces if it.path is not None]
        return [Variable(it, required=not self.lenient) for it in dict.fromkeys(paths)]

    def render(self, data: str) -> Output:
        """Renders every part; `data` is JSON text. Raises Err with every fault."""
        root = json.loads(data)
        values: dict[str, str] = {}
        faults: list[Diagnostic] = []
        missing: list[str] = []
        for path in (it.path for it in self.variables()):
            value = look_up(root, path)
            if value is None:
                missing.append(path)
                if not self.lenient:
                    message = f"`{path}` is not in the data"
                    faults.append(fault("missing_variable", message, path=path))
            elif isinstance(value, (dict, list)):
                message = f"`{path}` is not a text or a number"
                faults.append(fault("wrong_type", message, path=path))
            values[path] = printed(value)
        if faults:
            raise Err(Failure_InvalidInput(faults))
        given = {"subject": "", "preheader": ""}
        bodies = [Body(it.part, "") for it in self.units]
        # The subject and the preheader first: a layout may show them.
        for one_line in (True, False):
            for unit, body in zip(self.units, bodies):
                name = unit.part.name.lower()
                if (name in given) is not one_line:
                    continue
                text = "".join(shown(it, unit.part, values, given) for it in unit.pieces)
                if one_line:
                    given[name] = text = " ".join(text.split())
                body.text = lines(text) if unit.derived else text
        return Output(bodies, missing)

    def weight(self) -> int:
        """Estimated bytes held."""
        pieces = [it for unit in self.units for it in unit.pieces]
        return 1000 + sum(200 + 2 * len(it.text or it.path or "") for it in pieces)


def shown(piece: Piece, part: Part, values: dict[str, str], given: dict[str, str]) -> str:
    if piece.text is not None:
        return piece.text
    value = given.get(piece.given, "") if piece.given else values[piece.path or ""]
    return html.escape(value).replace("&#x27;", "&#39;") if part is Part.HTML else value


def parse(text: str, part: str, faults: list[Diagnostic]) -> list[Piece]:
    """Text and names, in order."""
    pieces = []
    at = 0
    while (opened := text.find("{{", at)) >= 0:
        pieces.append(Piece(text=text[at:opened]))
        before = text[:opened].split("\n")
        where = {"line": len(before), "column": len(before[-1]) + 1, "part": part}
        closed = text.find("}}", opened)
        if closed < 0:
            faults.append(fault("syntax", "`{{` is not closed by `}}`", **where))
            return pieces
        path = text[opened + 2 : closed].strip()
        if not NAME.fullmatch(path):
            message = f"`{path}` is not a name: write {{{{ name }}}} or {{{{ user.name }}}}"
            faults.append(fault("syntax", message, **where))
        elif part == "layout" and path in GIVEN:
            pieces.append(Piece(given=path))
        else:
            pieces.append(Piece(path=path))
        at = closed + 2
    pieces.append(Piece(text=text[at:]))
    return pieces


def wrap(content: list[Piece], layout: list[Piece]) -> list[Piece]:
    """The pieces of a layout with the content in its place."""
    return [it for outer in layout for it in (content if outer.given == "content" else [outer])]


def look_up(root: object, path: str) -> object:
    value = root
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def printed(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def fault(
    code: str,
    message: str,
    line: int = 0,
    column: int = 0,
    path: str | None = None,
    part: str | None = None,
) -> Diagnostic:
    """One fault that a person can fix."""
    return Diagnostic(Severity.ERROR, code, message, line, column, None, path, part)


ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "#39": "'", "nbsp": " "}


def without_tags(source: str) -> str:
    """The text of HTML: blocks become lines, style sheets and scripts go."""
    text = re.sub(r"(?is)<(style|script|title)\b.*?</\1\s*>", "", source)
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r"(?i)<(br|hr|/(p|div|h[1-6]|li|tr|table))\b[^>]*>", "\n", text)
    text = re.sub(r"<[^>]*>", "", text)
    return re.sub(r"&(amp|lt|gt|quot|#39|nbsp);", lambda it: ENTITIES[it[1]], text)


def lines(text: str) -> str:
    """Trimmed lines, none of them empty."""
    kept = [it.strip() for it in text.split("\n")]
    return "\n".join(it for it in kept if it) + "\n"
