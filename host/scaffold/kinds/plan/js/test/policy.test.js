import assert from "node:assert/strict";
import { test } from "node:test";

import { Policy } from "../src/policy.js";

const use = (change) => ({ templateSlug: "offer", templateTags: [], recipients: 1, ...change });
const check = (settings, who, ...uses) => new Policy(settings).check({}, who, uses);

test("the price is for each recipient", () => {
  const [decision] = check({ creditsPerRecipient: 2 }, { paid: false }, use({ recipients: 3 }));
  assert.deepEqual(decision, {
    tag: "allow",
    val: { credits: 6, reason: "2 credits a recipient" },
  });
});

test("the largest send has a price", () => {
  // As QuickJS is handed 4,294,967,295 recipients.
  const [decision] = check({ creditsPerRecipient: 2 }, { paid: false }, use({ recipients: -1 }));
  assert.equal(decision.val.credits, 2_147_483_647);
});

test("a restricted template is refused to an account that does not pay", () => {
  const restricted = use({ templateTags: ["restricted"] });
  const [refused, other] = check({}, { paid: false }, restricted, use({}));
  assert.equal(refused.val.code, "restricted-template");
  assert.equal(other.tag, "allow");
  const [allowed] = check({}, { paid: true }, restricted);
  assert.equal(allowed.tag, "allow");
});

test("the self-test passes", () => {
  for (const result of new Policy({}).selfTest()) assert.ok(result.passed, result.name);
});
