// What the server calls. The exports are the interfaces of the world in wit/v0, in camel case.
// A function whose result is `result<T, E>` returns T or throws E; variants are { tag, val }.

import { logged } from "./logged.js";
import { Template, settingsSchema } from "./language.js";

let settings;

export const plugin = {
  describe() {
    return {
      name: "__NAME__",
      version: "0.1.0",
      summary: "Replaces {{ name }} by the data's values, escaped in HTML",
      settingsSchema: JSON.stringify(settingsSchema),
    };
  },
  configure(text) {
    settings = JSON.parse(text);
  },
  /** Checks that run before this version renders anything; every one must pass. */
  selfTest() {
    const source = { sources: [{ part: "html", text: "<p>{{ name }}</p>" }], layout: null };
    const { bodies } = new Template(source, settings).render('{ "name": "<Ada>" }');
    const passed = bodies[0].text === "<p>&lt;Ada&gt;</p>" && bodies[1].text === "<Ada>\n";
    return [{ name: "renders and escapes", passed, detail: JSON.stringify(bodies) }];
  },
};

class Compiled {
  static compile(template) {
    const compiled = new Compiled();
    compiled.template = logged(() => new Template(template, settings));
    return compiled;
  }
  variables() {
    return logged(() => this.template.variables());
  }
  render(ctx, data) {
    return logged(() => this.template.render(data));
  }
  weight() {
    return this.template.weight();
  }
}

export const renderer = { Compiled };
