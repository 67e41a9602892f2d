// Writes src/functions.ts: one named export for each free function of the tables, with the documentation of its row, so
// that editors and the type declarations show it. Reads the source text: `node scripts/make-functions.mjs`.
// test/functions.test.ts fails while the file is behind the tables.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const MODULES = ['composites', 'masks', 'products', 'slicing', 'statistics', 'views'];
const source = (name) => readFileSync(new URL(`../src/graph/${name}.ts`, import.meta.url), 'utf8');
const COMMENT = String.raw`\/\*\*(?:(?!\*\/)[\s\S])*\*\/`;

/** Documentation and names, aliases included, of the rows of a table. */
function rows(text, table) {
  const start = text.indexOf(`export const ${table} = {`);
  const body = text.slice(start, text.indexOf('\n} as const', start));
  return body.split(/\n(?= {2}\/\*\*)/).flatMap((row) => {
    const match = new RegExp(`^ {2}(${COMMENT})\\n {2}(\\w+): `).exec(row);
    if (match === null) return [];
    const doc = match[1].replace(/^ {2}/gm, '');
    const aliases = /\baliases: \[([^\]]*)\]/.exec(row)?.[1] ?? '';
    const names = [match[2], ...[...aliases.matchAll(/'(\w+)'/g)].map(([, alias]) => alias)];
    return names.map((name) => ({ name, doc }));
  });
}

/** Documentation and names of the functions that a module exports. */
function functions(text) {
  const found = text.matchAll(new RegExp(`^(${COMMENT})\\nexport function (\\w+)\\(`, 'gm'));
  return [...found].map(([, doc, name]) => ({ name, doc }));
}

export function render() {
  const found = [
    ...rows(source('ops'), 'OPS'),
    ...rows(source('reductions'), 'REDUCTIONS'),
    ...MODULES.flatMap((name) => functions(source(name))),
  ].sort((a, b) => (a.name < b.name ? -1 : 1));
  const lines = found.map(({ name, doc }) => `${doc}\nexport const ${name} = free.${name};`);
  return `/**
 * The free functions of the tables, one export each. Written by scripts/make-functions.mjs: do not edit.
 *
 * \`exp(x)\` is \`lazy(x).exp()\`: the first argument is a Lazy or anything \`lazy()\` takes; scalars are weak.
 */
import { free } from './lazy.js';

${lines.join('\n')}
export { variance as var };
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(new URL('../src/functions.ts', import.meta.url), render());
}
