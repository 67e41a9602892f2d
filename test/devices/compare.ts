/**
 * Compares two records of devices (`record.ts`) and prints what was equal to the bit and what was not:
 * `node dist/test/devices/compare.js h200.json sim.json`. Exits with 1 if something is wrong.
 */
import { readFileSync } from 'node:fs';
import { compareRecords, describeComparison } from './summary.js';

const files = process.argv.slice(2);
if (files.length !== 2) throw new Error('expected two records');
const [a, b] = files.map((file) => JSON.parse(readFileSync(file, 'utf8')));
const summary = compareRecords(a, b);
console.log(describeComparison(summary).join('\n'));
process.exitCode = summary.wrong.length === 0 ? 0 : 1;
