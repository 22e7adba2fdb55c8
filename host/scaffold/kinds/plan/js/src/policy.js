// The rule itself. It imports nothing from the server, so `npm test` runs it in Node.

/** JSON Schema (2020-12). The server validates the settings with it before `configure`. */
export const settingsSchema = {
  type: "object",
  additionalProperties: false,
  properties: {
    creditsPerRecipient: {
      type: "integer",
      minimum: 1,
      maximum: 1000,
      default: 1,
      description: "What one recipient costs.",
    },
  },
};

/** What a price is at most: QuickJS is handed larger numbers as negative ones, and hands out none. */
const MOST = 0x7fff_ffff;

export class Policy {
  constructor({ creditsPerRecipient = 1 }) {
    this.price = creditsPerRecipient;
  }

  /** One decision for each use, in order. */
  check(ctx, who, uses) {
    return uses.map((use) => this.decide(who, use));
  }

  /** Checks that run before this version decides anything; every one must pass. */
  selfTest() {
    const use = { templateTags: ["restricted"], recipients: 2 };
    const paid = this.decide({ paid: true }, use);
    const free = this.decide({ paid: false }, use);
    return [
      result("the price is for each recipient", paid.val.credits === 2 * this.price, paid),
      result("restricted templates need a paid plan", free.tag === "deny", free),
    ];
  }

  decide(who, use) {
    if (use.templateTags.includes("restricted") && !who.paid) {
      const what = use.templateSlug ? `template \`${use.templateSlug}\`` : "this message";
      return {
        tag: "deny",
        val: {
          code: "restricted-template",
          message: `${what} is for accounts that pay`,
          requiredPlan: "paid",
          retryAfterS: null,
        },
      };
    }
    const noun = this.price === 1 ? "credit" : "credits";
    const credits = Math.min((use.recipients >>> 0) * this.price, MOST);
    return { tag: "allow", val: { credits, reason: `${this.price} ${noun} a recipient` } };
  }
}

function result(name, passed, got) {
  return { name, passed, detail: passed ? "" : JSON.stringify(got) };
}
