"""The resource of the interface `renderer`: it has to be in a module of the interface's name."""

from typing import Self

import language
from logged import logged
from wit_world.exports import renderer
from wit_world.exports.renderer import Output, Variable
from wit_world.imports.types import CallContext


class Compiled(renderer.Compiled):
    def __init__(self, template: language.Template) -> None:
        self.template = template

    @classmethod
    @logged
    def compile(cls, t: renderer.Template) -> Self:
        return cls(language.Template(t.sources, t.layout, language.settings))

    @logged
    def variables(self) -> list[Variable]:
        return self.template.variables()

    @logged
    def render(self, ctx: CallContext, data: str) -> Output:
        return self.template.render(data)

    def weight(self) -> int:
        return self.template.weight()
