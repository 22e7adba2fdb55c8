import assert from "node:assert/strict";
import { test } from "node:test";

import { Policy } from "../src/policy.js";

const domain = {
  name: "example.com",
  verificationToken: "tok3n",
  dkim: [],
  spfInclude: "spf.mail.example",
  extra: [],
};
const saw = (lookupId, ...texts) => ({
  lookupId,
  outcome: { tag: "answers", val: texts.map((data) => ({ data, ttl: 300 })) },
});
const statuses = (seen) =>
  Object.fromEntries(
    new Policy({})
      .judge({}, domain, seen)
      .val.findings.map((it) => [it.requirementId, it.status]),
  );

test("what is suggested is right", () => {
  const seen = new Policy({}).require({}, domain).map((it) => saw(it.id, it.suggestedValue));
  assert.deepEqual(statuses(seen), { ownership: "satisfied", spf: "satisfied", dmarc: "satisfied" });
});

test("a record in quotes counts, another token does not", () => {
  const seen = [
    saw("ownership", "waxwing-verification=0ther"),
    saw("spf", '"v=spf1 include:spf." "mail.example ~all"'),
  ];
  assert.deepEqual(statuses(seen), { ownership: "wrong", spf: "satisfied", dmarc: "unknown" });
});

test("resolvers that disagree mean that the record is propagating", () => {
  const seen = [saw("ownership", "waxwing-verification=tok3n"), saw("ownership")];
  assert.equal(statuses(seen).ownership, "propagating");
});

test("the self-test passes", () => {
  for (const result of new Policy({}).selfTest()) assert.ok(result.passed, result.name);
});
