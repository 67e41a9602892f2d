/**
 * Prints a Markdown table of benchmark lines: `node dist/bench/compare.js weft.jsonl peers.jsonl …`, files of
 * JSON lines as `run.ts` and the peers' benchmarks print them.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { comparisonTable, type Line } from './table.js';

const { positionals } = parseArgs({ allowPositionals: true });
if (positionals.length === 0) throw new RangeError('expected files of JSON lines');

const lines = positionals.flatMap((path) =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter((text) => text.startsWith('{'))
    .map((text) => JSON.parse(text) as Line),
);
console.log(comparisonTable(lines));
