/**
 * Writes what the fixture script needs to know about the tables (ops, reductions, dtypes, promotion) to
 * `test/fixtures/table.json`, from the compiled sources: `npx tsc && node scripts/dump-ops.mjs`. A test
 * compares that file with the live tables, so a row without fixtures fails.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const dist = resolve(process.argv[2] ?? 'dist');
const load = (path) => import(pathToFileURL(resolve(dist, path)).href);
const { describeTables } = await load('test/support/table.js');
const target = new URL('../test/fixtures/table.json', import.meta.url);
// One line for each row, so that a difference shows the rows that changed.
const lines = (entries) =>
  `{\n${entries.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(',\n')}\n}`;
const { dtypes, promotion, ops, reductions } = describeTables();
const text = `{"dtypes":${JSON.stringify(dtypes)},
"promotion":${JSON.stringify(promotion)},
"ops":${lines(Object.entries(ops))},
"reductions":${lines(Object.entries(reductions))}}
`;
let before = '';
try {
  before = readFileSync(target, 'utf8');
} catch (error) {
  if (error.code !== 'ENOENT') throw error;
}
if (before !== text) writeFileSync(target, text);
console.log(
  before === text ? 'table.json is up to date' : 'table.json written; now run scripts/make-fixtures.py',
);
