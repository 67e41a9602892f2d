// Writes docs/api.md: a line for each export of src/index.ts, the first sentence of its documentation. Reads the
// source text: `node scripts/make-api.mjs`. test/api.test.ts fails while an export has no line, or no documentation.
// The site's reference (scripts/reference) says the rest: signatures, dtypes, errors, examples.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ROOT } from './reference/declarations.mjs';
import { entries, sentenceOf } from './reference/entries.mjs';

const byName = (a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1);
const lines = (all) =>
  all
    .flatMap((entry) =>
      [entry.name, ...(entry.aliases ?? [])].map((name) => ({ name, text: sentenceOf(entry) })),
    )
    .sort(byName)
    .map(({ name, text }) => `- \`${name}\`: ${text}`)
    .join('\n');

/** The text of docs/api.md. */
export function renderApi() {
  const all = entries();
  const classes = new Set(all.filter(({ kind }) => kind === 'class').map(({ name }) => name));
  const isOther = ({ kind, owner }) => !['method', 'type'].includes(kind) && !classes.has(owner);
  return `# Everything that Weft exports

A line each; editors show the rest. Written by \`scripts/make-api.mjs\`: do not edit.

## Functions of arrays

Each is a method as well: \`exp(x)\` is \`x.exp()\`.

${lines(all.filter(({ kind }) => kind === 'method'))}

## Making, computing, reading, writing, inspecting, errors

${lines(all.filter(isOther))}

## Types

${lines(all.filter(({ kind }) => kind === 'type'))}
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  writeFileSync(join(ROOT, 'docs', 'api.md'), renderApi());
