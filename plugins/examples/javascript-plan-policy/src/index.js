// What the server calls. The exports are the interfaces of the world in wit/v0, in camel case.
// A function whose result is `result<T, E>` returns T or throws E; variants are { tag, val }.

import { logged } from "./logged.js";
import { Policy, settingsSchema } from "./policy.js";

let policy;

export const plugin = {
  describe() {
    return {
      name: "weekdays",
      version: "0.1.0",
      summary: "Mail on weekdays, at a price by recipients",
      settingsSchema: JSON.stringify(settingsSchema),
    };
  },
  configure(settings) {
    logged(() => (policy = new Policy(JSON.parse(settings))));
  },
  selfTest(ctx) {
    return logged(() => policy.selfTest(ctx));
  },
};

export const planPolicy = {
  check(ctx, who, uses) {
    return logged(() => policy.check(ctx, who, uses));
  },
};
