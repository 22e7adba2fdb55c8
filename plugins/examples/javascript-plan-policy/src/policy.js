// The rule itself. It imports nothing from the server, so `npm test` runs it in Node.

const DAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const DAY_MS = 86_400_000;

/** JSON Schema (2020-12). The server validates the settings with it before `configure`. */
export const settingsSchema = {
  type: "object",
  additionalProperties: false,
  properties: {
    days: {
      type: "array",
      items: { enum: DAYS },
      minItems: 1,
      uniqueItems: true,
      default: DAYS.slice(1, 6),
      description: "The days on which mail is sent.",
    },
    utcOffsetMinutes: {
      type: "integer",
      minimum: -840,
      maximum: 840,
      default: 0,
      description: "The offset from UTC of the time in which days begin and end.",
    },
    creditsPerRecipient: {
      type: "integer",
      minimum: 1,
      maximum: 1000,
      default: 1,
      description: "What one recipient costs.",
    },
    anyDayTags: {
      type: "array",
      items: { type: "string" },
      default: ["security"],
      description: "Templates with one of these tags are sent on every day.",
    },
  },
};

/** What a price is at most: QuickJS is handed larger numbers as negative ones, and hands out none. */
const MOST = 0x7fff_ffff;

export class Policy {
  constructor({
    days = DAYS.slice(1, 6),
    utcOffsetMinutes = 0,
    creditsPerRecipient = 1,
    anyDayTags = ["security"],
  }) {
    this.open = new Set(days.map((it) => DAYS.indexOf(it)));
    this.offset = utcOffsetMinutes * 60_000;
    this.price = creditsPerRecipient;
    this.anyDayTags = anyDayTags;
  }

  /** One decision for each use, in order. */
  check(ctx, who, uses) {
    const wait = this.waitMs(ctx.nowUnixMs);
    return uses.map((use) => this.decide(who, use, ctx.nowUnixMs, wait));
  }

  /** Checks that run before this version decides anything; every one must pass. */
  selfTest(ctx) {
    const use = { templateTags: [], recipients: 2 };
    const results = [];
    for (let day = 0; day < 7; day += 1) {
      const now = ctx.nowUnixMs + day * DAY_MS;
      const wait = this.waitMs(now);
      const got = this.decide({ paid: true }, use, now, wait);
      const again = this.decide({ paid: true }, use, now + wait, this.waitMs(now + wait));
      const right =
        again.tag === "allow" &&
        again.val.credits === 2 * this.price &&
        (got.tag === "deny") === wait > 0;
      const name = `${this.dayName(now)}: sent at its price, or when it says that it will be`;
      results.push({ name, passed: right, detail: right ? "" : JSON.stringify([got, again]) });
    }
    return results;
  }

  decide(who, use, now, wait) {
    const has = (tags) => use.templateTags.some((it) => tags.includes(it));
    const what = use.templateSlug ? `template \`${use.templateSlug}\`` : "this message";
    if (has(["restricted"]) && !who.paid) {
      return deny("restricted-template", `${what} is for accounts that pay`, {
        requiredPlan: "paid",
      });
    }
    if (wait > 0 && !has(this.anyDayTags)) {
      const [today, next] = [this.dayName(now), this.dayName(now + wait)];
      return deny("closed-day", `${what} is not sent on a ${today}; the next day is ${next}`, {
        retryAfterS: Math.ceil(wait / 1000),
      });
    }
    const noun = this.price === 1 ? "credit" : "credits";
    const reason = `${this.price} ${noun} a recipient`;
    const credits = Math.min((use.recipients >>> 0) * this.price, MOST);
    return { tag: "allow", val: { credits, reason } };
  }

  /** Until the next day on which mail is sent; 0 on such a day. */
  waitMs(now) {
    if (this.open.has(this.day(now))) return 0;
    const untilMidnight = DAY_MS - mod(now + this.offset, DAY_MS);
    for (let ahead = 0; ; ahead += 1) {
      const at = now + untilMidnight + ahead * DAY_MS;
      if (this.open.has(this.day(at))) return at - now;
    }
  }

  /** 0 is Sunday; 1970-01-01 was a Thursday. There is no clock here but the call's. */
  day(now) {
    return mod(Math.floor((now + this.offset) / DAY_MS) + 4, 7);
  }

  dayName(now) {
    return DAYS[this.day(now)];
  }
}

/** Not negative, as `%` can be. */
function mod(value, by) {
  return ((value % by) + by) % by;
}

function deny(code, message, more) {
  return { tag: "deny", val: { code, message, requiredPlan: null, retryAfterS: null, ...more } };
}
