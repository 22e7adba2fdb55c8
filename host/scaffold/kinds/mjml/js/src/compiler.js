// The compiler itself. It imports nothing from the server, so `npm test` runs it in Node.
// Liquid in the source stays as it is: the server renders it when a message is sent.

/** JSON Schema (2020-12). The server validates the settings with it before `configure`. */
export const settingsSchema = {
  type: "object",
  additionalProperties: false,
  properties: {
    language: {
      type: "string",
      pattern: "^[A-Za-z-]{2,35}$",
      default: "en",
      description: "The language of the document, for screen readers.",
    },
  },
};

const KNOWN = "mjml, mj-body, mj-section, mj-column and mj-text, without attributes";

export class Compiler {
  constructor({ language = "en" }) {
    this.elements = {
      "<mjml>": `<!doctype html><html lang="${language}">`,
      "</mjml>": "</html>",
      "<mj-body>": "<body>",
      "</mj-body>": "</body>",
      "<mj-section>": '<table role="presentation" width="100%"><tr>',
      "</mj-section>": "</tr></table>",
      "<mj-column>": "<td>",
      "</mj-column>": "</td>",
      "<mj-text>": "<p>",
      "</mj-text>": "</p>",
    };
  }

  /** HTML; throws every fault with its line and column. */
  compile({ source }) {
    const faults = [];
    const html = source.replace(/<\/?mj[^>]*>?/g, (tag, at) => {
      if (!Object.hasOwn(this.elements, tag)) faults.push(unknown(source, at, tag));
      return this.elements[tag];
    });
    if (faults.length > 0) throw faults;
    return { html, preheader: null, warnings: [] };
  }

  /** Checks that run before this version compiles anything; every one must pass. */
  selfTest() {
    const { html } = this.compile({ source: "<mjml><mj-body>{{ name }}</mj-body></mjml>" });
    const passed = html.includes("<body>{{ name }}</body>");
    return [{ name: "compiles, and keeps Liquid", passed, detail: passed ? "" : html }];
  }
}

/** Line and column are those of the author's source. */
function unknown(source, at, tag) {
  const before = source.slice(0, at).split("\n");
  return {
    severity: "error",
    code: "unknown_element",
    message: `\`${tag}\` is not known; known are ${KNOWN}`,
    line: before.length,
    column: [...before.at(-1)].length + 1,
    snippet: null,
    path: null,
    part: "mjml",
  };
}
