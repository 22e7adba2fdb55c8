import assert from "node:assert/strict";
import { test } from "node:test";

import { Template } from "../src/language.js";

const template = (parts, settings = {}, layout = null) =>
  new Template(
    { sources: Object.entries(parts).map(([part, text]) => ({ part, text })), layout },
    settings,
  );
const thrown = (run) => {
  try {
    run();
  } catch (thrown) {
    return thrown;
  }
  assert.fail("nothing was thrown");
};

test("values are escaped in HTML only, and a text is derived", () => {
  const { bodies } = template({ subject: "Hi {{ a }}", html: "<p>{{ a }}</p><p>{{a}}</p>" }).render(
    '{ "a": "<b>" }',
  );
  assert.deepEqual(
    bodies.map((it) => it.text),
    ["Hi <b>", "<p>&lt;b&gt;</p><p>&lt;b&gt;</p>", "<b>\n<b>\n"],
  );
});

test("every missing name is reported, each once", () => {
  const failure = thrown(() => template({ text: "{{ a }} {{ b.c }} {{ a }}" }).render("{}"));
  assert.equal(failure.tag, "invalid-input");
  assert.deepEqual(
    failure.val.map((it) => it.path),
    ["a", "b.c"],
  );
});

test("a missing name prints nothing where the settings say so", () => {
  const output = template({ text: "[{{ a }}]" }, { missing: "empty" }).render("{}");
  assert.deepEqual(output, { bodies: [{ part: "text", text: "[]" }], missing: ["a"] });
});

test("faults of a template have a position", () => {
  const [fault] = thrown(() => template({ html: "<p>\n é {{ 1st }}</p>" }));
  assert.deepEqual([fault.part, fault.line, fault.column], ["html", 2, 4]);
});

test("names that JavaScript objects inherit are not data", () => {
  const failure = thrown(() => template({ text: "{{ constructor.name }}" }).render("{}"));
  assert.equal(failure.val[0].code, "missing_variable");
});
