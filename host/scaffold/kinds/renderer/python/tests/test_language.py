import context  # noqa: F401  (finds src and the generated types)
import unittest

from componentize_py_types import Err
from language import Template
from wit_world.exports.renderer import Body, Part, Source


def template(parts: dict[Part, str], settings: dict | None = None) -> Template:
    return Template([Source(*it) for it in parts.items()], None, settings or {})


class LanguageTest(unittest.TestCase):
    def test_values_are_escaped_in_html_only_and_a_text_is_derived(self) -> None:
        parts = {Part.SUBJECT: "Hi {{ a }}", Part.HTML: "<p>{{ a }}</p><p>{{a}}</p>"}
        texts = [it.text for it in template(parts).render('{ "a": "<b>" }').bodies]
        expected = ["Hi <b>", "<p>&lt;b&gt;</p><p>&lt;b&gt;</p>", "<b>\n<b>\n"]
        self.assertEqual(texts, expected)

    def test_every_missing_name_is_reported_each_once(self) -> None:
        with self.assertRaises(Err) as raised:
            template({Part.TEXT: "{{ a }} {{ b.c }} {{ a }}"}).render("{}")
        paths = [it.path for it in raised.exception.value.value]
        self.assertEqual(paths, ["a", "b.c"])

    def test_a_missing_name_prints_nothing_where_the_settings_say_so(self) -> None:
        output = template({Part.TEXT: "[{{ a }}]"}, {"missing": "empty"}).render("{}")
        self.assertEqual(output.bodies, [Body(Part.TEXT, "[]")])
        self.assertEqual(output.missing, ["a"])

    def test_faults_of_a_template_have_a_position(self) -> None:
        with self.assertRaises(Err) as raised:
            template({Part.HTML: "<p>\n é {{ 1st }}</p>"})
        fault = raised.exception.value[0]
        self.assertEqual((fault.part, fault.line, fault.column), ("html", 2, 4))


if __name__ == "__main__":
    unittest.main()
