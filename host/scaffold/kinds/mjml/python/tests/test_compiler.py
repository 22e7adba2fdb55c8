import context  # noqa: F401  (finds src and the generated types)
import unittest

from compiler import Compiler
from componentize_py_types import Err
from wit_world.exports.mjml_compiler import Document


def document(source: str) -> Document:
    return Document(source=source, includes=[])


class CompilerTest(unittest.TestCase):
    def test_liquid_stays_and_the_language_is_that_of_the_settings(self) -> None:
        source = "<mjml><mj-body><mj-text>{{ a }}</mj-text></mj-body></mjml>"
        html = Compiler({"language": "de"}).compile(document(source)).html
        wanted = '<!doctype html><html lang="de"><body><p>{{ a }}</p></body></html>'
        self.assertEqual(html, wanted)

    def test_every_unknown_element_is_named_with_its_place(self) -> None:
        with self.assertRaises(Err) as raised:
            Compiler({}).compile(document("<mjml>\n é<mj-txt>x</mj-txt></mjml>"))
        places = [(it.line, it.column) for it in raised.exception.value]
        self.assertEqual(places, [(2, 3), (2, 12)])

    def test_the_self_test_passes(self) -> None:
        for result in Compiler({}).self_test():
            self.assertTrue(result.passed, result.name)


if __name__ == "__main__":
    unittest.main()
