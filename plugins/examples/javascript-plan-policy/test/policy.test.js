import assert from "node:assert/strict";
import { test } from "node:test";

import { Policy } from "../src/policy.js";

const FRIDAY_23_00 = Date.UTC(2026, 0, 2, 23);
const SATURDAY_12_00 = Date.UTC(2026, 0, 3, 12);
const use = (change) => ({ templateSlug: "offer", templateTags: [], recipients: 1, ...change });
const check = (settings, nowUnixMs, change = {}, paid = false) =>
  new Policy(settings).check({ nowUnixMs }, { paid }, [use(change)])[0];

test("a weekday costs its price for each recipient", () => {
  const decision = check({ creditsPerRecipient: 2 }, FRIDAY_23_00, { recipients: 3 });
  assert.deepEqual(decision, { tag: "allow", val: { credits: 6, reason: "2 credits a recipient" } });
});

test("a Saturday is refused until Monday begins", () => {
  const { tag, val } = check({}, SATURDAY_12_00);
  assert.equal(tag, "deny");
  assert.equal(val.code, "closed-day");
  assert.equal(val.retryAfterS, 36 * 3600);
});

test("the day is the one of the settings' time", () => {
  assert.equal(check({ utcOffsetMinutes: 60 }, FRIDAY_23_00).tag, "deny");
  assert.equal(check({ utcOffsetMinutes: 60 }, FRIDAY_23_00 - 1).tag, "allow");
});

test("a security template is sent on every day", () => {
  assert.equal(check({}, SATURDAY_12_00, { templateTags: ["security"] }).tag, "allow");
});

test("a restricted template is for accounts that pay, on every day", () => {
  const restricted = { templateTags: ["restricted"] };
  assert.equal(check({}, FRIDAY_23_00, restricted).val.code, "restricted-template");
  assert.equal(check({}, FRIDAY_23_00, restricted, true).tag, "allow");
});

test("the self-test passes under any settings", () => {
  for (const settings of [{}, { days: ["sunday"], utcOffsetMinutes: -840 }, { days: ["monday"] }]) {
    for (const it of new Policy(settings).selfTest({ nowUnixMs: SATURDAY_12_00 })) {
      assert.ok(it.passed, `${it.name}: ${it.detail}`);
    }
  }
});
