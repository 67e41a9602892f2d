// Writes src/shared/layout.ts, the TypeScript side of native/shared/layout.h, from the `constants()` of the
// addon that is built: `node scripts/make-layout.mjs`. test/shared-layout.test.ts fails while it is behind.
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const COLUMNS = 110;

const text = (value) =>
  typeof value === 'string' ? `'${value}'` : Array.isArray(value) ? `[${value.join(', ')}]` : String(value);

/** A constant as the formatter writes it: on one line where it fits. */
function declaration({ name, about, value }) {
  const doc = `/** ${about} */\n`;
  if (typeof value === 'number') return `${doc}export const ${name} = ${value};`;
  const isList = Array.isArray(value);
  const items = isList ? value.map(text) : Object.entries(value).map(([key, of]) => `${key}: ${text(of)}`);
  const [open, close] = isList ? ['[', ']'] : ['{ ', ' }'];
  const short = `export const ${name} = ${open}${items.join(', ')}${close} as const;`;
  if (short.length <= COLUMNS) return doc + short;
  const lines = items.map((item) => `  ${item},\n`).join('');
  return `${doc}export const ${name} = ${open.trim()}\n${lines}${close.trim()} as const;`;
}

/** The text of src/shared/layout.ts for the constants of an addon. */
export function renderLayout(constants) {
  return `/**
 * Names, codes, field orders and limits that C++ and TypeScript both know: those of \`native/shared/layout.h\`.
 * Written by scripts/make-layout.mjs from the addon: do not edit. Positions are codes.
 */

${constants.map(declaration).join('\n')}
`;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const addon = createRequire(import.meta.url)('../build/Release/weft.node');
  writeFileSync(new URL('../src/shared/layout.ts', import.meta.url), renderLayout(addon.constants()));
}
