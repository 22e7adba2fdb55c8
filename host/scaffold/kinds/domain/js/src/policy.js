// The rule itself. It imports nothing from the server, so `npm test` runs it in Node.

/** JSON Schema (2020-12). The server validates the settings with it before `configure`. */
export const settingsSchema = {
  type: "object",
  additionalProperties: false,
  properties: {
    requireDmarc: {
      type: "boolean",
      default: false,
      description: "Whether a domain needs a DMARC record before it may send.",
    },
  },
};

const RECHECK_OPEN_S = 900;
const RECHECK_DONE_S = 86_400;

export class Policy {
  constructor({ requireDmarc = false }) {
    this.requireDmarc = requireDmarc;
  }

  /** The records that a domain must or should publish. */
  require(ctx, domain) {
    return this.records(domain).map(({ right, ...requirement }) => requirement);
  }

  /** A finding for each record; `seen` is what the server's resolvers answered. */
  judge(ctx, domain, seen) {
    const records = this.records(domain);
    const findings = records.map((record) => finding(record, seen));
    const open = records.some((it, i) => it.required && findings[i].status !== "satisfied");
    return {
      tag: "decided",
      val: { findings, recheckAfterS: open ? RECHECK_OPEN_S : RECHECK_DONE_S },
    };
  }

  /** Checks that run before this version decides anything; every one must pass. */
  selfTest() {
    const domain = {
      name: "example.com",
      verificationToken: "tok3n",
      dkim: [{ selector: "wx1", publicKeyBase64: "MIIB", algorithm: "rsa-sha256" }],
      spfInclude: "spf.example.net",
      extra: [],
    };
    const wrong = this.records(domain).filter((it) => !it.right(it.suggestedValue));
    return [
      {
        name: "every suggested value satisfies its own rule",
        passed: wrong.length === 0,
        detail: wrong.map((it) => it.id).join(", "),
      },
    ];
  }

  /** Each requirement with its rule: `right` says whether one TXT record satisfies it. */
  records(domain) {
    // The server's own sandbox domain needs no DNS.
    if (domain.extra.some((it) => it.key === "sandbox" && it.value === "true")) return [];
    const { name, verificationToken: token, spfInclude: include } = domain;
    const ownership = `waxwing-verification=${token}`;
    const records = [
      txt("ownership", "ownership", true, `_waxwing.${name}`, ownership, {
        help: "Proves that the domain is yours.",
        right: (text) => text.trim() === ownership,
      }),
      ...domain.dkim.map((key) => dkim(name, key)),
    ];
    if (include !== "") {
      records.push(
        txt("spf", "spf", true, name, `v=spf1 include:${include} ~all`, {
          help: `Lets this server send. If there is an SPF record, add include:${include} to it.`,
          right: (text) => /^v=spf1( |$)/i.test(text) && text.split(/\s+/).includes(`include:${include}`),
        }),
      );
    }
    records.push(
      txt("dmarc", "dmarc", this.requireDmarc, `_dmarc.${name}`, "v=DMARC1; p=none", {
        help: "Says what receivers do with mail that only pretends to come from you.",
        right: (text) => /^v=DMARC1 *;/i.test(text),
      }),
    );
    return records;
  }
}

function dkim(name, { selector, publicKeyBase64: key, algorithm }) {
  const value = `v=DKIM1; k=${algorithm.split("-")[0]}; p=${key}`;
  return txt(`dkim:${selector}`, "dkim", true, `${selector}._domainkey.${name}`, value, {
    help: "Lets receivers check that your mail comes from you and was not changed.",
    right: (text) => text.replaceAll(" ", "").split(";").includes(`p=${key}`),
  });
}

function txt(id, purpose, required, name, suggestedValue, { help, right }) {
  return { id, purpose, required, name, recordType: "txt", suggestedValue, help, right };
}

function finding({ id, name, suggestedValue, right }, seen) {
  const outcomes = seen.filter((it) => it.lookupId === id).map((it) => it.outcome);
  const answered = outcomes.filter((it) => ["answers", "no-data", "nx-domain"].includes(it.tag));
  const texts = answered.map((it) => (it.tag === "answers" ? it.val.map((a) => plain(a.data)) : []));
  const found = [...new Set(texts.flat())];
  const agreeing = texts.filter((it) => it.some(right)).length;
  const add = `Add a TXT record ${name} with the value ${suggestedValue}.`;
  let [status, hint] = ["missing", add];
  if (texts.length === 0) {
    [status, hint] = ["unknown", "No name server gave an answer. It is asked again."];
  } else if (agreeing === texts.length) {
    [status, hint] = ["satisfied", "The record is right."];
  } else if (agreeing > 0) {
    [status, hint] = ["propagating", "Some name servers still give the old answer."];
  } else if (found.length > 0) {
    [status, hint] = ["wrong", `There are other records. ${add}`];
  }
  return { requirementId: id, status, found, hint };
}

/** TXT data without quotes; the strings of one record are joined without a space. */
function plain(data) {
  const quoted = /^\s*"(.*)"\s*$/s.exec(data);
  return quoted ? quoted[1].replace(/"\s+"/g, "") : data;
}
