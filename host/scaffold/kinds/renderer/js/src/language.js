// The template language: `{{ name }}` and `{{ user.name }}` stand for values of the data, escaped
// in HTML. It imports nothing from the server, so `npm test` runs it in Node.

/** JSON Schema (2020-12). The server validates the settings with it before `configure`. */
export const settingsSchema = {
  type: "object",
  additionalProperties: false,
  properties: {
    missing: {
      enum: ["refuse", "empty"],
      default: "refuse",
      description: "What a value that is not in the data does: refuse the send, or print nothing.",
    },
  },
};

const NAME = /^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/;
/** Names that a layout is given beside the data. */
const GIVEN = ["content", "subject", "preheader"];

/** A template that is parsed and checked, ready to render many times. Throws a list of faults. */
export class Template {
  constructor({ sources, layout }, { missing = "refuse" }) {
    this.lenient = missing === "empty";
    this.parts = [];
    const faults = [];
    const read = (text, part) => parse(text, part, faults);
    for (const { part, text } of sources) {
      const pieces = read(text, part);
      const wrapped = part === "html" && layout ? wrap(pieces, read(layout, "layout")) : pieces;
      this.parts.push({ part, pieces: wrapped });
    }
    const html = sources.find((it) => it.part === "html");
    if (html && !sources.some((it) => it.part === "text")) {
      // What fails here has failed in the HTML already.
      const quiet = (text, part) => parse(withoutTags(text), part, []);
      const content = quiet(html.text, "html");
      const pieces = layout ? wrap(content, quiet(layout, "layout")) : content;
      this.parts.push({ part: "text", pieces, derived: true });
    }
    if (faults.length > 0) throw faults;
  }

  /** The names that the template reads, each once. */
  variables() {
    const paths = this.parts.flatMap((it) => it.pieces).map((it) => it.path);
    return [...new Set(paths.filter((it) => it !== undefined))].map((path) => ({
      path,
      required: !this.lenient,
    }));
  }

  /** Renders every part; `data` is JSON text. Throws a failure that names every fault. */
  render(data) {
    const values = new Map();
    const faults = [];
    const missing = [];
    const parsed = JSON.parse(data);
    for (const { path } of this.variables()) {
      const value = path.split(".").reduce((it, key) => own(it, key), parsed) ?? null;
      if (value === null) {
        missing.push(path);
        if (!this.lenient) faults.push(fault("missing_variable", `\`${path}\` is not in the data`, { path }));
      } else if (typeof value === "object") {
        faults.push(fault("wrong_type", `\`${path}\` is not a text or a number`, { path }));
      }
      values.set(path, value === null ? "" : String(value));
    }
    if (faults.length > 0) throw { tag: "invalid-input", val: faults };
    const given = { subject: "", preheader: "" };
    const bodies = this.parts.map(({ part }) => ({ part, text: "" }));
    // The subject and the preheader first: a layout may show them.
    for (const oneLine of [true, false]) {
      this.parts.forEach(({ part, pieces, derived }, i) => {
        if ((part in given) !== oneLine) return;
        const escape = part === "html" ? escapeHtml : (it) => it;
        let text = pieces
          .map((it) => it.text ?? escape(it.given ? given[it.given] : values.get(it.path)))
          .join("");
        if (oneLine) given[part] = text = text.trim().split(/\s+/).join(" ");
        bodies[i].text = derived ? lines(text) : text;
      });
    }
    return { bodies, missing };
  }

  /** Estimated bytes held. */
  weight() {
    const pieces = this.parts.flatMap((it) => it.pieces);
    return pieces.reduce((sum, it) => sum + 100 + 2 * (it.text ?? it.path ?? "").length, 500);
  }
}

/** Text and names, in order. */
function parse(text, part, faults) {
  const pieces = [];
  let at = 0;
  for (;;) {
    const open = text.indexOf("{{", at);
    if (open < 0) break;
    pieces.push({ text: text.slice(at, open) });
    const close = text.indexOf("}}", open);
    if (close < 0) {
      faults.push(fault("syntax", "`{{` is not closed by `}}`", position(text, open, part)));
      return pieces;
    }
    const path = text.slice(open + 2, close).trim();
    if (!NAME.test(path)) {
      const message = `\`${path}\` is not a name: write {{ name }} or {{ user.name }}`;
      faults.push(fault("syntax", message, position(text, open, part)));
    } else if (part === "layout" && GIVEN.includes(path)) {
      pieces.push({ given: path });
    } else {
      pieces.push({ path });
    }
    at = close + 2;
  }
  pieces.push({ text: text.slice(at) });
  return pieces;
}

/** The pieces of a layout with the content in its place. */
function wrap(content, layout) {
  return layout.flatMap((it) => (it.given === "content" ? content : [it]));
}

function position(text, at, part) {
  const before = text.slice(0, at).split("\n");
  return { line: before.length, column: [...before.at(-1)].length + 1, part };
}

/** One fault that a person can fix. */
function fault(code, message, where) {
  const nowhere = { line: 0, column: 0, snippet: null, path: null, part: null };
  return { severity: "error", code, message, ...nowhere, ...where };
}

function own(value, key) {
  return value !== null && typeof value === "object" && Object.hasOwn(value, key) ? value[key] : null;
}

function escapeHtml(text) {
  const names = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  return text.replace(/[&<>"']/g, (it) => names[it]);
}

/** The text of HTML: blocks become lines, style sheets and scripts go. */
function withoutTags(html) {
  const entities = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", nbsp: " " };
  return html
    .replace(/<(style|script|title)\b[^]*?<\/\1\s*>/gi, "")
    .replace(/\s+/g, " ")
    .replace(/<(br|hr|\/(p|div|h[1-6]|li|tr|table))\b[^>]*>/gi, "\n")
    .replace(/<[^>]*>/g, "")
    .replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (_, name) => entities[name]);
}

/** Trimmed lines, none of them empty. */
function lines(text) {
  const kept = text.split("\n").map((it) => it.trim());
  return kept.filter((it) => it !== "").join("\n") + "\n";
}
