// Writes src/api/functions.ts and src/api/methods.ts: a named export for each free function of the tables and
// a member for each method, with the documentation of its row, so that every editor and the type declarations
// show it (documentation does not pass through mapped types everywhere). Reads the source text. `npm run
// build:ts` runs it; the two files are not in git.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const source = (name) => readFileSync(new URL(`../src/graph/${name}.ts`, import.meta.url), 'utf8');

/** The modules whose every export is a method and a function: those that fluent.ts imports as a whole. */
export function modules() {
  const fluent = readFileSync(new URL('../src/api/fluent.ts', import.meta.url), 'utf8');
  return [...fluent.matchAll(/^import \* as \w+ from '\.\.\/graph\/([\w-]+)\.js';$/gm)].map(
    ([, name]) => name,
  );
}
const COMMENT = String.raw`\/\*\*(?:(?!\*\/)[\s\S])*\*\/`;

/** Documentation and names, aliases included, of the rows of a table that are not internal. */
export function rows(text, table) {
  const start = text.indexOf(`export const ${table} = {`);
  const body = text.slice(start, text.indexOf('\n} as const', start));
  return body.split(/\n(?= {2}\/\*\*)/).flatMap((row) => {
    const match = new RegExp(`^ {2}(${COMMENT})\\n {2}(\\w+): `).exec(row);
    if (match === null || /\bisInternal: true\b/.test(row)) return [];
    const doc = match[1].replace(/^ {2}/gm, '');
    const aliases = /\baliases: \[([^\]]*)\]/.exec(row)?.[1] ?? '';
    const names = [match[2], ...[...aliases.matchAll(/'(\w+)'/g)].map(([, alias]) => alias)];
    return names.map((name) => ({ name, doc, row: match[2] }));
  });
}

/** Documentation and names of the functions that a module exports. */
export function functions(text) {
  const found = text.matchAll(new RegExp(`^(${COMMENT})\\nexport function (\\w+)\\(`, 'gm'));
  return [...found].map(([, doc, name]) => ({ name, doc }));
}

const documented = () =>
  [
    ...rows(source('ops'), 'OPS'),
    ...rows(source('reductions'), 'REDUCTIONS'),
    ...modules().flatMap((name) => functions(source(name))),
  ].sort((a, b) => (a.name < b.name ? -1 : 1));

/** The text of src/api/functions.ts. */
export function renderFunctions() {
  const lines = documented().map(({ name, doc }) => `${doc}\nexport const ${name} = free.${name};`);
  return `/**
 * The free functions of the tables, one export each. Written by scripts/make-functions.mjs when TypeScript is
 * built: do not edit.
 *
 * \`exp(x)\` is \`lazy(x).exp()\`: the first argument is a Lazy or anything \`lazy()\` takes; scalars are weak.
 */
import { free } from './lazy.js';

${lines.join('\n')}
export { variance as var };
`;
}

/** The text of src/api/methods.ts. */
export function renderMethods() {
  const lines = documented().flatMap(({ name, doc }) => {
    const indented = doc.replace(/^/gm, '  ').replace(/ +$/gm, '');
    return (name === 'variance' ? ['variance', 'var'] : [name]).map(
      (each) => `${indented}\n  readonly ${each}: Fluent<D>['${each}'];`,
    );
  });
  return `/**
 * The methods of Lazy that come from the tables, with their documentation. Written by scripts/make-functions.mjs
 * when TypeScript is built: do not edit. \`fluent.ts\` makes them; \`lazy.ts\` takes this interface.
 */

import type { DType } from '../graph/dtype.js';
import type { Fluent } from './fluent-types.js';

export interface Methods<D extends DType> {
${lines.join('\n')}
}
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [path, text] of [
    ['../src/api/functions.ts', renderFunctions()],
    ['../src/api/methods.ts', renderMethods()],
  ])
    writeFileSync(new URL(path, import.meta.url), text);
}
