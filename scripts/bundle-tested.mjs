/**
 * Bundles the modules of `dist/src` for tests, which import any of them: `dist/tested` has a file for each, which exports
 * its names from one file of all. A test's process reads that and a few others instead of 845, in a third of the
 * processor time (0.28 s instead of 0.8 on a busy machine). Part of `npm test`; `test/support/built-modules.ts` points
 * tests at it.
 *
 * Modules that Weft's index does not import, programs and threads of their own, are copied as they were compiled. Programs of
 * `dist/test` that tests start are copied to `dist/tested-programs`, where they import the same, and the examples to
 * `dist/tested-examples`: `test/support/tested-program.ts`.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, isAbsolute, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const root = fileURLToPath(new URL('..', import.meta.url));
const compiled = join(root, 'dist/src');
const tested = join(root, 'dist/tested');
const ALL = 'all.js';

const IMPORTS = /(?:\bfrom |\bimport |\bimport\()\s*'(\.[^']+)'/g;

/** The modules that a module imports, at once or later, with those that they import. */
function importedBy(first) {
  const found = new Set([first]);
  for (const module of found)
    for (const [, path] of readFileSync(join(compiled, module), 'utf8').matchAll(IMPORTS))
      found.add(join(dirname(module), path));
  return [...found];
}

const modules = importedBy('index.js');
const exported = await Promise.all(
  modules.map(async (module) => Object.keys(await import(join(compiled, module)))),
);
/** Names of all modules in one file: those of a module after its number. */
const named = (k) => exported[k].map((name) => [name, `m${k}_${name}`]);

const entry = modules.map((module, k) => {
  const names = named(k).map(([name, unique]) => `${name} as ${unique}`);
  return `export { ${names.join(', ')} } from './${module}';`;
});
const ofAll = join(compiled, ALL);
const bundle = await rolldown({
  input: { all: ofAll },
  platform: 'node',
  plugins: [
    {
      name: 'all-modules',
      resolveId: (id) => (id === ofAll ? id : undefined),
      load: (id) => (id === ofAll ? entry.join('\n') : undefined),
    },
  ],
  external: (id) => !id.startsWith('.') && !isAbsolute(id),
  // A module that others import later is read with them.
  checks: { ineffectiveDynamicImport: false },
});
rmSync(tested, { recursive: true, force: true });
await bundle.write({ dir: tested, format: 'esm', entryFileNames: ALL });
await bundle.close();

for (const module of readdirSync(compiled, { recursive: true, encoding: 'utf8' })) {
  if (!module.endsWith('.js')) continue;
  const target = join(tested, module);
  mkdirSync(dirname(target), { recursive: true });
  const k = modules.indexOf(module);
  const all = join(relative(dirname(target), tested), ALL);
  const names = k < 0 ? [] : named(k).map(([name, unique]) => `${unique} as ${name}`);
  if (k < 0) cpSync(join(compiled, module), target);
  else writeFileSync(target, `export { ${names.join(', ')} } from './${all}';\n`);
}
// Files that the one file names by their place beside it: the decoders' thread, and the dashboard's page.
mkdirSync(join(tested, 'decoding'));
writeFileSync(join(tested, 'decoding/worker.js'), "import '../../src/io/decoding/worker.js';\n");
cpSync(join(compiled, 'inspect/dashboard/page'), join(tested, 'page'), { recursive: true });

for (const [from, to] of [
  ['dist/test', 'dist/tested-programs'],
  ['dist/examples', 'dist/tested-examples'],
]) {
  rmSync(join(root, to), { recursive: true, force: true });
  for (const program of readdirSync(join(root, from), { recursive: true, encoding: 'utf8' })) {
    if (!program.endsWith('.js') || program.endsWith('.test.js')) continue;
    const target = join(root, to, program);
    mkdirSync(dirname(target), { recursive: true });
    const compiledText = readFileSync(join(root, from, program), 'utf8');
    writeFileSync(target, compiledText.replaceAll(/'((?:\.\.\/)+)src\//g, "'$1tested/"));
  }
}
