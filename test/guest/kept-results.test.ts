/** Large results of which a program keeps the last few: neither collections of the whole heap nor memory without bound. */
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { ResultCollector } from '../../src/exec/native/result-collector.js';

const SCRIPT = resolve(import.meta.dirname, '../../dist/test/guest/kept-results.js');

it('150 results of 32 MiB of which three are kept have the whole heap collected a few times at most', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT]);
  const { collections, different, mostResults } = JSON.parse(stdout) as Record<string, number>;
  expect(different).toBe(0);
  expect(collections).toBeLessThan(6);
  expect(mostResults).toBeLessThan(30);
});

it('where each collection finds results for the second time, the next ones come soon', () => {
  const MiB = 2 ** 20;
  const looks: number[] = [];
  let bytes = 0;
  let young = 0;
  // The program's own garbage has made old objects of all results: none is freed.
  const collector = new ResultCollector(() => {
    const aged = young;
    young = bytes;
    looks.push(bytes / MiB);
    bytes = 0;
    return [0, young, aged];
  });
  for (let call = 0; call < 100; call++) {
    collector.count(16 * MiB);
    bytes += 16 * MiB;
  }
  expect(Math.max(...looks)).toBeLessThan(256);
  expect(looks.at(-1)).toBe(16);
});
