/** Large results of which a program keeps the last few: neither collections of the whole heap nor memory without bound. */
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const SCRIPT = resolve(import.meta.dirname, '../../dist/test/guest/kept-results.js');

it('150 results of 32 MiB of which three are kept have the whole heap collected a few times at most', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [SCRIPT]);
  const { collections, different, mostResults } = JSON.parse(stdout) as Record<string, number>;
  expect(different).toBe(0);
  expect(collections).toBeLessThan(6);
  expect(mostResults).toBeLessThan(30);
});
