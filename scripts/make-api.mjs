// Writes docs/api.md: a line for each export of src/index.ts, the first sentence of its documentation. Reads
// the source text: `node scripts/make-api.mjs`. test/api.test.ts fails while an export has no line, or no
// documentation.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const read = (path) => readFileSync(join(ROOT, path), 'utf8');
const COMMENT = String.raw`\/\*\*(?:(?!\*\/)[\s\S])*\*\/`;

/** The names that the index exports, with the files they come from. */
function exported() {
  const lists = [...read('src/index.ts').matchAll(/^export (type )?\{([^}]*)\} from '\.\/([^']+)\.js';/gm)];
  const named = lists.flatMap(([, allTypes, names, path]) =>
    names
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '')
      .map((name) => ({
        name: name.replace('type ', ''),
        isType: Boolean(allTypes) || name.startsWith('type '),
        path,
      })),
  );
  const functions = [...read('src/api/functions.ts').matchAll(/^export const (\w+)/gm)];
  return [
    ...named,
    ...named.flatMap(membersOf),
    ...functions.map(([, name]) => ({ name, isType: false, path: 'api/functions' })),
    { name: 'var', declared: 'variance', isType: false, path: 'api/functions' },
  ];
}

/** The functions that an exported object holds by name: `random.uniform`. */
function membersOf({ name, path }) {
  const body = new RegExp(`^export const ${name} = \\{\\n([\\s\\S]*?)\\n\\} as const;`, 'm').exec(
    read(`src/${path}.ts`),
  )?.[1];
  const members = [...(body?.matchAll(/(\w+)(?:: (\w+))?,/g) ?? [])];
  return members.map(([, member, declared = member]) => ({
    name: `${name}.${member}`,
    declared,
    isType: false,
    path,
  }));
}

/** The first sentence of the longest documentation that a declaration has: overloads refer to each other. */
function sentenceOf({ name, declared = name, path }) {
  const declaration = `(?:export )?(?:declare |abstract |async )*(?:function|class|const|interface|type) ${declared}\\b`;
  const docs = [
    ...read(`src/${path}.ts`).matchAll(new RegExp(`^(${COMMENT})\\n(?://.*\\n)*${declaration}`, 'gm')),
  ];
  const own = docs.map(([, doc]) => doc).filter((doc) => !/^\/\*\* The same /.test(doc));
  const [longest] = own.sort((a, b) => b.length - a.length);
  if (longest === undefined) throw new Error(`${name} of src/${path}.ts has no documentation`);
  const text = longest
    .slice(3, -2)
    .replace(/^\s*\*\s?/gm, '')
    .trim()
    .split(/\n\s*\n/)[0]
    .replace(/\s+/g, ' ');
  return /^.*?\.(?= |$)/.exec(text)?.[0] ?? text.replace(/:?$/, '.');
}

const byName = (a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1);
const lines = (entries) =>
  entries
    .sort(byName)
    .map((entry) => `- \`${entry.name}\`: ${sentenceOf(entry)}`)
    .join('\n');

/** The text of docs/api.md. */
export function renderApi() {
  const all = exported();
  const isMethod = ({ path }) => path === 'api/functions';
  return `# Everything that Weft exports

A line each; editors show the rest. Written by \`scripts/make-api.mjs\`: do not edit.

## Functions of arrays

Each is a method as well: \`exp(x)\` is \`x.exp()\`.

${lines(all.filter(isMethod))}

## Making, computing, reading, writing, inspecting, errors

${lines(all.filter((entry) => !isMethod(entry) && !entry.isType))}

## Types

${lines(all.filter(({ isType }) => isType))}
`;
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  writeFileSync(join(ROOT, 'docs', 'api.md'), renderApi());
