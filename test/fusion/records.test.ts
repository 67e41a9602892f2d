/** Fingerprints of records: those of the last graphs are kept, more of them than there are places for. */
import { expect, it } from 'vitest';
import { Records } from '../../src/fusion/passes/records.js';

function fingerprintOf(words: readonly number[]): string {
  const records = new Records();
  records.open();
  records.putAll(words);
  records.keep();
  return records.fingerprint();
}

it('gives equal fingerprints for equal words alone, however many others were asked for between', () => {
  const lists = Array.from({ length: 2000 }, (_, k) => (k % 2 === 0 ? [k, 1] : [k - 1, 1, 0]));
  const first = lists.map(fingerprintOf);
  expect(new Set(first).size).toBe(lists.length);
  expect(lists.map(fingerprintOf)).toEqual(first);
});

it('tells long records apart', () => {
  const long = (last: number): number[] => [...new Array<number>(3000).fill(7), last];
  expect(fingerprintOf(long(1))).toBe(fingerprintOf(long(1)));
  expect(fingerprintOf(long(1))).not.toBe(fingerprintOf(long(2)));
});
