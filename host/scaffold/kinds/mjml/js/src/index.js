// What the server calls. The exports are the interfaces of the world in wit/v0, in camel case.
// A function whose result is `result<T, E>` returns T or throws E; variants are { tag, val }.

import { logged } from "./logged.js";
import { Compiler, settingsSchema } from "./compiler.js";

let compiler;

export const plugin = {
  describe() {
    return {
      name: "__NAME__",
      version: "0.1.0",
      summary: "A small dialect of MJML: sections, columns and texts",
      settingsSchema: JSON.stringify(settingsSchema),
    };
  },
  configure(settings) {
    logged(() => (compiler = new Compiler(JSON.parse(settings))));
  },
  selfTest() {
    return logged(() => compiler.selfTest());
  },
};

export const mjmlCompiler = {
  compile(ctx, document) {
    return logged(() => compiler.compile(document));
  },
};
