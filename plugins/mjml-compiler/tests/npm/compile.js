// Prints what npm's mjml makes of each e-mail of a folder, as one JSON object of HTML by name.
const { readdirSync, readFileSync } = require('fs');
const { join } = require('path');
const mjml = require('mjml');

async function main(folder) {
  const compile = mjml.default || mjml;
  const all = {};
  for (const file of readdirSync(folder).sort()) {
    const source = readFileSync(join(folder, file), 'utf8');
    const { html, errors } = await compile(source, { validationLevel: 'soft', minify: false });
    if (errors.length > 0) throw new Error(`${file}: ${JSON.stringify(errors)}`);
    all[file] = html;
  }
  process.stdout.write(JSON.stringify(all));
}

main(process.argv[2]).catch((error) => {
  console.error(error);
  process.exit(1);
});
