import assert from "node:assert/strict";
import { test } from "node:test";

import { Compiler } from "../src/compiler.js";

test("Liquid stays, and the language is that of the settings", () => {
  const source = "<mjml><mj-body><mj-text>{{ a }}</mj-text></mj-body></mjml>";
  const { html } = new Compiler({ language: "de" }).compile({ source });
  assert.equal(html, '<!doctype html><html lang="de"><body><p>{{ a }}</p></body></html>');
});

test("every unknown element is named with its place", () => {
  try {
    new Compiler({}).compile({ source: "<mjml>\n é<mj-txt>x</mj-txt></mjml>" });
    assert.fail("nothing was thrown");
  } catch (faults) {
    assert.deepEqual(
      faults.map((it) => [it.line, it.column]),
      [
        [2, 3],
        [2, 12],
      ],
    );
  }
});

test("the self-test passes", () => {
  for (const result of new Compiler({}).selfTest()) assert.ok(result.passed, result.name);
});
