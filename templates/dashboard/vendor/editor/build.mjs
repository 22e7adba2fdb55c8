// node build.mjs [FILE]: bundles the editor into FILE, editor.min.js by default. The same sources give the same bytes.
import { readFileSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';

const { dependencies } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8'));
const versions = Object.entries(dependencies).filter(([name]) => name !== 'esbuild').map(([name, version]) => `${name} ${version}`);
const { outputFiles } = await build({
  entryPoints: [new URL('editor.mjs', import.meta.url).pathname],
  absWorkingDir: new URL('.', import.meta.url).pathname,
  bundle: true, minify: true, format: 'esm', target: 'es2022', legalComments: 'none', write: false,
  banner: { js: `/* Waxwing's editor. Of CodeMirror (MIT, see LICENSES): ${versions.join(', ')} */` },
});
writeFileSync(process.argv[2] ?? new URL('editor.min.js', import.meta.url), outputFiles[0].contents);
